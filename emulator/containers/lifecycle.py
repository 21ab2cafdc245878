"""A testbed brought up and taken down.

Up: images, addresses, keys, the Compose file, containers, readiness, routes, the wide area, a short check of it. Either
all of it stands at the end, or nothing is left. Down: everything that carries the testbed's label, whatever state the
host remembers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

import docker
import docker.errors
from docker.models.containers import Container

from emulator.containers import engine, keys, state
from emulator.containers.compose import ImageReferences, Rendering, broker_settings, render
from emulator.containers.events import Observer, Progress, ignore
from emulator.containers.images import current_references, ensure_images
from emulator.containers.names import USER, PartNames
from emulator.containers.places import free_addresses, free_port
from emulator.containers.readiness import CLUSTER_READY, ROUTER_READY, await_broker, await_file, is_running
from emulator.containers.state import ClusterRecord, StandRecord, StandState
from emulator.containers.together import together
from emulator.containers.wan.measurements import WideAreaReport
from emulator.containers.wan.stand import Stand
from emulator.containers.wan.verify import check_wide_area
from emulator.containers.wan.wide_area import program_wide_area
from emulator.model.clock import REAL_TIME
from emulator.model.documents import document_text, read_document
from emulator.model.errors import AlreadyStanding, EngineUnavailable, InvalidInput, NotStanding
from emulator.model.topology import Topology

ROUTER_BACKENDS: Final = ("auto", "kernel", "uml")
_REMOVERS: Final = 16
_REMOVAL_ROUNDS: Final = 5
_KINDS: Final[tuple[tuple[str, Callable[..., Sequence[engine.Part]]], ...]] = (
    ("containers", engine.containers_of),
    ("networks", engine.networks_of),
    ("volumes", engine.volumes_of),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a user asks to stand: a testbed's name, the file of its topology, the router's kernel, the API's port.

    `known_heads` has a line for each real cluster, as in a known-hosts file: the host key that its head was seen with,
    the only one that the testbed will accept of it.
    """

    name: str
    topology_file: Path
    router_backend: str = "auto"
    port: int | None = None
    known_heads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands after `up`, and how long that took on the host.

    `wide_area` is the short check of the links; nothing if the testbed stood before (`was_standing`), because a run may
    hold it, and a measurement would disturb the run; and nothing where all clusters are real.
    """

    state: StandState
    wide_area: WideAreaReport | None
    host_duration_s: float
    was_standing: bool


def up(wanted: Wanted, observe: Observer = ignore) -> Standing:
    """Bring a testbed up, or check the one that stands; whatever fails, nothing is left half-started.

    Raises:
        InvalidInput: if the topology, the name or the backend cannot be meant.
        AlreadyStanding: if another topology stands under that name, or the port is in use.
        EngineUnavailable: if Docker or Compose is missing, stopped or fails.
        ClusterUnreachable: if a cluster does not come up.
        TestbedBusy: if another process is bringing it up or down.
    """
    begun = time.monotonic()
    topology = read_document(wanted.topology_file, Topology)
    names = _checked_names(wanted, topology)
    client = engine.connect()
    with state.exclusive(wanted.name, wait=False):
        stood = _already_standing(client, wanted, topology, observe)
        was_standing, report = stood is not None, None
        if stood is None:
            stood, report = _bring_up(client, wanted, topology, names, observe)
    return Standing(stood, report, time.monotonic() - begun, was_standing)


def down(name: str, observe: Observer = ignore) -> None:
    """Take a testbed down: its containers, networks, volumes and state, however much of it there is.

    Raises:
        NotStanding: if there is nothing of it.
        EngineUnavailable: if Docker does not answer.
    """
    PartNames(name)
    client = engine.connect()
    with state.exclusive(name, wait=False):
        if not _remove(client, name, observe) and state.remembered(name) is None:
            raise NotStanding(f"No testbed called {name!r} stands, so there is nothing to take down.")
        state.forget(name)


def down_all(observe: Observer = ignore) -> list[str]:
    """Take every testbed of this host down; the names of those that were there."""
    names = testbeds(engine.connect())
    for name in names:
        down(name, observe)
    return names


def testbeds(client: docker.DockerClient) -> list[str]:
    """The names of all testbeds of which this host has anything."""
    parts = [*engine.containers_of(client, None), *engine.networks_of(client, None), *engine.volumes_of(client, None)]
    return sorted(engine.testbeds_seen(parts) | set(state.remembered_names()))


def _checked_names(wanted: Wanted, topology: Topology) -> PartNames:
    names = PartNames(wanted.name)
    for cluster in topology.clusters:
        names.cluster(cluster.name)
    if wanted.router_backend not in ROUTER_BACKENDS:
        raise InvalidInput(f"The router's backend is auto, kernel or uml, not {wanted.router_backend!r}.")
    return names


def _already_standing(
    client: docker.DockerClient, wanted: Wanted, topology: Topology, observe: Observer
) -> StandState | None:
    """The state of the testbed if it stands as wanted; nothing if there is none, or a broken one, now removed."""
    stood = state.remembered(wanted.name)
    present = engine.containers_of(client, wanted.name)
    if stood is None:
        if present:
            raise AlreadyStanding(
                f"Containers of a testbed called {wanted.name!r} exist that this user did not bring up "
                f"(take them down with `testbed down --name {wanted.name}`, or choose another name)."
            )
        return None
    if stood.topology != topology:
        raise AlreadyStanding(
            f"The testbed {wanted.name!r} stands with another topology ({stood.topology.name}): take it down first "
            f"(`testbed down --name {wanted.name}`), or give this one another name by --name."
        )
    stopped = [name for name in part_containers(stood) if not is_running(client, name)]
    if stopped == [stood.names.broker] and _brought_back(client, stood, observe):
        stopped = []
    if not stopped:
        _check_asked(wanted, stood)
        if asdict(current_references(client)) != stood.record.images:
            observe(Progress("images", "the sources changed since it was brought up: `testbed down` and `up` renew it"))
        return stood
    observe(Progress("renewing", f"{', '.join(stopped)} not running: starting afresh"))
    _remove(client, wanted.name, observe)
    state.forget(wanted.name)
    return None


def _brought_back(client: docker.DockerClient, stood: StandState, observe: Observer) -> bool:
    """Start a broker that was stopped; it goes on from its journal. Whether it came back."""
    observe(Progress("renewing", f"{stood.names.broker} not running: starting it again with its journal"))
    try:
        client.containers.get(stood.names.broker).start()
        _await_broker(client, stood)
    except (docker.errors.APIError, NotStanding):
        return False
    return True


def _await_broker(client: docker.DockerClient, stood: StandState) -> None:
    real = [cluster.name for cluster in stood.topology.real_clusters]
    await_broker(client, stood.names.broker, stood.api_url, real)


def _check_asked(wanted: Wanted, stood: StandState) -> None:
    """Refuse to call a testbed standing as wanted if its port or router differ from what is asked."""
    differing = []
    if wanted.port not in (None, stood.record.api_port):
        differing.append(f"port {stood.record.api_port}")
    if wanted.router_backend not in ("auto", stood.record.router_backend):
        differing.append(f"router backend {stood.record.router_backend}")
    if differing:
        raise AlreadyStanding(
            f"The testbed {wanted.name!r} stands with {' and '.join(differing)}: take it down first "
            f"(`testbed down --name {wanted.name}`)."
        )


def part_containers(stood: StandState) -> list[str]:
    """The containers of a testbed: its clusters' in order, the router's if there are any, and the broker's."""
    clusters = [cluster.container for cluster in stood.record.clusters]
    return [*clusters, *([stood.names.router] if clusters else []), stood.names.broker]


def _bring_up(
    client: docker.DockerClient, wanted: Wanted, topology: Topology, names: PartNames, observe: Observer
) -> tuple[StandState, WideAreaReport | None]:
    images = ensure_images(client, observe)
    try:
        with state.exclusive("addresses", wait=True):
            record = _record(client, wanted, topology, names, images)
            # Whole: a profile that the topology names may change later, and the broker has no profiles.
            stood = state.remember(record, document_text(topology))
        _start(client, stood, images, wanted.known_heads, observe)
        _make_ready(client, stood, observe)
        report = None
        if (emulated := stood.topology.emulated) is not None:
            observe(Progress("wide area", "measuring delays and rates"))
            report = check_wide_area(wide_area_stand(client, stood), emulated, REAL_TIME)
    except BaseException:
        observe(Progress("failed", "taking down what was started"))
        _remove(client, wanted.name, ignore)
        state.forget(wanted.name)
        raise
    return stood, report


def _record(
    client: docker.DockerClient, wanted: Wanted, topology: Topology, names: PartNames, images: ImageReferences
) -> StandRecord:
    plan = free_addresses(client)
    clusters = tuple(
        ClusterRecord(
            name=cluster.name,
            container=names.cluster(cluster.name),
            head=plan.head(index),
            site=plan.site_address(index),
        )
        for index, cluster in enumerate(topology.emulated.clusters if topology.emulated else ())
    )
    return StandRecord(
        name=wanted.name,
        second_octet=plan.second_octet,
        api_port=free_port(wanted.port),
        router_backend=wanted.router_backend,
        user=USER,
        control_network=plan.control_network,
        all_sites=plan.all_sites,
        clusters=clusters,
        images=asdict(images),
    )


def _start(
    client: docker.DockerClient,
    stood: StandState,
    images: ImageReferences,
    known_heads: Sequence[str],
    observe: Observer,
) -> None:
    observe(Progress("keys", "making SSH keys"))
    keys.make_keys(client, stood, images.node, known_heads)
    rendering = Rendering(
        topology=stood.topology,
        names=stood.names,
        addresses=stood.addresses,
        images=images,
        state_folder=stood.folder,
        api_port=stood.record.api_port,
        router_backend=stood.record.router_backend,
    )
    stood.compose_file.write_text(render(rendering), encoding="utf-8")
    settings = broker_settings(rendering).model_dump_json(indent=2)
    (stood.folder / "broker.json").write_text(settings + "\n", encoding="utf-8")
    observe(Progress("containers", f"starting {', '.join(part_containers(stood))}"))
    engine.compose_up(stood.names.compose_project, stood.compose_file)


def _make_ready(client: docker.DockerClient, stood: StandState, observe: Observer) -> None:
    """Wait for every part at once, while the wide area is programmed; the first failure is the one reported."""
    observe(Progress("readiness", "waiting for Slurm, SSH, the router and the broker"))

    def program_when_routing(emulated: Topology) -> None:
        await_file(client, stood.names.router, ROUTER_READY)
        program_wide_area(wide_area_stand(client, stood), emulated, REAL_TIME)

    emulated = stood.topology.emulated
    waits: list[Callable[[], None]] = [partial(program_when_routing, emulated)] if emulated else []
    waits += [partial(await_file, client, cluster.container, CLUSTER_READY) for cluster in stood.record.clusters]
    waits.append(partial(_await_broker, client, stood))
    together(waits)


def wide_area_stand(client: docker.DockerClient, stood: StandState) -> Stand:
    """The handle by which a testbed's wide area, that of its emulated clusters, is programmed and measured."""
    clusters = [cluster.name for cluster in stood.record.clusters]
    return Stand.of(client, stood.names, clusters, stood.addresses)


def _remove(client: docker.DockerClient, name: str, observe: Observer) -> bool:
    """Remove everything that carries the testbed's label; whether there was anything.

    Looks again until nothing is found, because the engine may still be creating what an interrupted start asked for.
    """
    found = False
    for _ in range(_REMOVAL_ROUNDS):
        removed = [_remove_kind(client, name, kind, listed, observe) for kind, listed in _KINDS]
        found = found or any(removed)
        if not any(removed):
            break
    return found


def _remove_kind(
    client: docker.DockerClient, name: str, kind: str, listed: Callable[..., Sequence[engine.Part]], observe: Observer
) -> bool:
    parts = listed(client, name)
    if parts:
        observe(Progress("removing", f"{len(parts)} {kind} of {name}"))
        with ThreadPoolExecutor(_REMOVERS) as pool:
            list(pool.map(_remove_part, parts))
    return bool(parts)


def _remove_part(part: engine.Part) -> None:
    try:
        if isinstance(part, Container):
            part.remove(force=True, v=True)
        else:
            part.remove()
    except docker.errors.NotFound:
        pass
    except docker.errors.APIError as error:
        if "in progress" not in str(error):
            raise EngineUnavailable(f"{part.name} could not be removed: {error.explanation or error}.") from error
