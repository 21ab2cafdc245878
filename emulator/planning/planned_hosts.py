"""The hosts over which a testbed spreads, or is to spread, as a plan needs them.

These are their cores and memory, which host carries what, and what the network between them allows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from emulator.containers.state import HostRecord, HostsRecord
from emulator.containers.wan.program import least_dilation
from emulator.hosts.inventory import MAX_HOSTS, Host, HostInventory
from emulator.hosts.layout import HostCapacity, Layout, demands_of, lay_out
from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology
from emulator.planning.plan import PlannedHost, Resources
from emulator.planning.planned_runs import available_resources
from emulator.runs.holding import Testbed

LIKE_THIS: Final = "host{}"
"""The names of hosts of which only the number is known."""


def resources_of(testbed: Testbed) -> Resources:
    """Return the free resources of this host or, for a testbed over several, those that its record says."""
    resources = available_resources(guest_router=testbed.wide_area.is_guest())
    emulated = testbed.topology.emulated
    return resources if testbed.hosts is None or emulated is None else as_recorded(testbed.hosts, emulated, resources)


def as_recorded(hosts: HostsRecord, topology: Topology, resources: Resources) -> Resources:
    """Return `resources` on the hosts of a testbed, with what was measured between them.

    Cores that are not known limit nothing.
    """
    capacities = [
        HostCapacity(each.host.name, math.inf if each.cores is None else each.cores, each.memory_bytes)
        for each in hosts.hosts
    ]
    layout = Layout(hosts.central, {cluster: each.host.name for each in hosts.hosts for cluster in each.clusters})
    inventory = HostInventory(hosts=tuple(map(_as_measured, hosts.hosts)))
    return replace(on_hosts(resources, capacities, layout), between_hosts=between_hosts(topology, inventory, layout))


def spread(hosts: str, topology: Topology, resources: Resources) -> Resources:
    """Return `resources` on the hosts of an inventory, or on a number of hosts like this one.

    Raises:
        InvalidInput: if it is neither, or a cluster fits on no host.
        EngineUnavailable: if a host of the inventory does not answer.
    """
    from emulator.containers.hosts.engines import open_engines  # only where engines are asked: they load much
    from emulator.containers.hosts.preparing import capacities_of, examine_hosts

    if hosts.isdecimal():
        return on_hosts(resources, *_alike(int(hosts), topology, resources))
    if not Path(hosts).exists():
        raise InvalidInput(f"--hosts: a number of hosts or the file of an inventory; there is no file {hosts!r}.")
    inventory = read_document(Path(hosts), HostInventory)
    engines, known, _ = examine_hosts(open_engines(inventory), inventory)
    engines.require_all()
    capacities = capacities_of(inventory, known)
    layout = lay_out(demands_of(topology), capacities, engines.central)
    return replace(on_hosts(resources, capacities, layout), between_hosts=between_hosts(topology, inventory, layout))


def on_hosts(resources: Resources, capacities: Sequence[HostCapacity], layout: Layout) -> Resources:
    """Return `resources` where hosts of these capacities carry the clusters of a layout."""
    hosts = (PlannedHost(each.name, each.cores, each.memory_bytes, tuple(layout.on(each.name))) for each in capacities)
    return replace(resources, hosts=tuple(hosts))


def between_hosts(topology: Topology, inventory: HostInventory, layout: Layout) -> dict[str, float]:
    """Return the least dilations that the network between the hosts allows, as far as the inventory says what it is.

    Its delay must fit into that of each link, and it must carry what the links of a host's clusters carry together. All
    of that crosses the central host's network, too.
    """
    elsewhere = [name for name, host in layout.clusters.items() if host != layout.central]
    delays_s = {name: inventory.host(layout.clusters[name]).delay_s or 0.0 for name in elsewhere}
    found = {
        "delay between hosts": least_dilation(topology, [delays_s.get(name, 0.0) for name in topology.cluster_names])
    }
    for host in inventory.hosts:
        crossing = elsewhere if host.name == layout.central else layout.on(host.name)
        links = [topology.cluster(name).access_link for name in crossing]
        if host.rate_mbit is not None and links:
            most_mbit = max(sum(link.up_mbit for link in links), sum(link.down_mbit for link in links))
            found[f"network of {host.name}"] = most_mbit / host.rate_mbit
    return {name: least for name, least in found.items() if least > 0}


def _as_measured(record: HostRecord) -> Host:
    """Return a host with what was measured of the network to it, where it was, in place of what its user stated."""
    host, underlay = record.host, record.underlay
    if underlay is None:
        return host
    rates_mbit = [rate for rate in (underlay.host_rate_to_central_mbit, underlay.host_rate_from_central_mbit) if rate]
    slower_mbit = min(rates_mbit, default=host.rate_mbit)
    return host.model_copy(update={"delay_s": underlay.host_delay_s, "rate_mbit": slower_mbit})


def _alike(number: int, topology: Topology, resources: Resources) -> tuple[list[HostCapacity], Layout]:
    if not 1 <= number <= MAX_HOSTS:
        raise InvalidInput(f"--hosts: from 1 to {MAX_HOSTS} hosts like this one, not {number}.")
    names = [LIKE_THIS.format(index) for index in range(1, number + 1)]
    capacities = [HostCapacity(name, resources.processors, resources.memory_bytes) for name in names]
    return capacities, lay_out(demands_of(topology), capacities, names[0])
