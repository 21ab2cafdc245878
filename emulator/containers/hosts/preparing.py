"""What must hold before anything is started on several hosts: they fit, clusters have a place, images are there."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.containers.addresses import HIGHEST_SECOND_OCTET, LOWEST_SECOND_OCTET, AddressPlan
from emulator.containers.hosts.connecting import central_of
from emulator.containers.hosts.engines import Client, HostEngines
from emulator.containers.hosts.facts_reader import EngineFactsReader, read_facts
from emulator.containers.hosts.image_transfer import send_images
from emulator.containers.images import current_references, ensure_images
from emulator.containers.obstacles import refuse_obstacles
from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.rendering import ImageReferences
from emulator.containers.state import HostRecord, HostsRecord
from emulator.hosts.checks import HostFinding, judge, require_fit, used_subnets
from emulator.hosts.facts import HostFacts, Known
from emulator.hosts.inventory import HostInventory
from emulator.hosts.layout import HostCapacity, Layout, demands_of, lay_out
from emulator.hosts.subnets import UNUSED, UsedSubnets
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology

POSSIBLE_SUBNETS = tuple(AddressPlan(octet).whole for octet in range(LOWEST_SECOND_OCTET, HIGHEST_SECOND_OCTET + 1))


@dataclass(frozen=True, slots=True)
class Prepared:
    """Images that are where they are needed; over several hosts, which carry what, and the subnets that they use."""

    client: Client
    images: ImageReferences
    hosts: HostsRecord | None = None
    used: UsedSubnets = UNUSED


def prepare(client: Client, topology: Topology, observe: Observer) -> Prepared:
    """Make the images; over several hosts check these, lay the clusters out, and send what each host lacks.

    Raises:
        EngineUnavailable: if an image cannot be made or sent, a host cannot carry a testbed, or an obstacle is here.
        InvalidInput: if a cluster fits on no host.
    """
    if not isinstance(client, HostEngines):
        return Prepared(client, ensure_images(client, observe))
    observe(ProgressStep("hosts", f"checking {', '.join(client.engines)}"))
    inventory = HostInventory(hosts=tuple(each.host for each in client.engines.values()))
    _, known, found = examine_hosts(client, inventory)
    require_fit(found)
    central = central_of(inventory, known)
    client = client.placed({}, central)
    refuse_obstacles(client.central_client, client.engines[central].url)
    layout = layout_of(inventory, known, topology, central)
    images = ensure_images(client, observe)
    send_images(client, sorted(set(layout.clusters.values())), [images.node], observe)
    # With the image there, a host's network can be looked at, too.
    client, known, found = examine_hosts(client, inventory)
    require_fit(found)
    for host in inventory.names:
        observe(ProgressStep("hosts", f"{host}: {described(layout, host)}"))
    return Prepared(client, images, _record(inventory, known, layout), used_subnets(inventory, known))


def examine_hosts(
    engines: HostEngines, inventory: HostInventory
) -> tuple[HostEngines, dict[str, Known], tuple[HostFinding, ...]]:
    """Return the engines with their central one, what is known of every host, and a finding for each check."""
    known = read_facts(EngineFactsReader(engines, _node_image(engines)), inventory)
    placed = engines.placed({}, central_of(inventory, known))
    return placed, known, judge(inventory, known, POSSIBLE_SUBNETS)


def layout_of(inventory: HostInventory, known: dict[str, Known], topology: Topology, central: str) -> Layout:
    """Return which host carries which cluster of a topology.

    Raises:
        InvalidInput: if a cluster fits on no host, or all clusters are real.
        UnknownName: if a cluster states a host that does not exist.
    """
    demands = demands_of(topology)
    if not demands:
        raise InvalidInput(
            f"All clusters of {topology.name!r} are real, so nothing spreads over hosts (leave --hosts out)."
        )
    return lay_out(demands, capacities_of(inventory, known), central)


def capacities_of(inventory: HostInventory, known: dict[str, Known]) -> list[HostCapacity]:
    """Return what the hosts that answer offer to a testbed."""
    return [
        HostCapacity(host.name, host.share * facts.cores, int(host.share * facts.memory_bytes))
        for host in inventory.hosts
        if isinstance(facts := known[host.name], HostFacts)
    ]


def described(layout: Layout, host: str) -> str:
    """Return what a host carries, in words."""
    parts = [*layout.on(host), *(("router", "broker") if host == layout.central else ())]
    return ", ".join(parts) or "nothing"


def _node_image(engines: HostEngines) -> str:
    """Return the reference that the node image has now; empty if no engine can say for which processors."""
    for engine in engines.engines.values():
        return current_references(engine.client).node
    return ""


def _record(inventory: HostInventory, known: dict[str, Known], layout: Layout) -> HostsRecord:
    return HostsRecord(
        central=layout.central,
        hosts=tuple(
            HostRecord(
                host=host,
                memory_bytes=int(host.share * facts.memory_bytes),
                cores=host.share * facts.cores,
                clusters=tuple(layout.on(host.name)),
            )
            for host in inventory.hosts
            if isinstance(facts := known[host.name], HostFacts)
        ),
    )
