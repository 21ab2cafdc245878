"""The hosts over which a testbed is to spread, as a plan needs them: their cores and memory, and who carries what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from emulator.containers.hosts.engines import open_engines
from emulator.containers.hosts.preparing import capacities_of, examine_hosts
from emulator.hosts.inventory import MAX_HOSTS, HostInventory
from emulator.hosts.layout import HostCapacity, Layout, demands_of, lay_out
from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology
from emulator.planning.plan import PlannedHost, Resources

LIKE_THIS: Final = "host{}"
"""The names of hosts of which only the number is known."""


def spread(hosts: str, topology: Topology, resources: Resources) -> Resources:
    """Return `resources` on the hosts of an inventory, or on a number of hosts like this one.

    Raises:
        InvalidInput: if it is neither, or a cluster fits on no host.
        EngineUnavailable: if a host of the inventory does not answer.
    """
    if hosts.isdigit():
        return on_hosts(resources, *_alike(int(hosts), topology, resources))
    if not Path(hosts).exists():
        raise InvalidInput(f"--hosts: a number of hosts or the file of an inventory; there is no file {hosts!r}.")
    inventory = read_document(Path(hosts), HostInventory)
    engines, known, _ = examine_hosts(open_engines(inventory), inventory)
    engines.require_all()
    capacities = capacities_of(inventory, known)
    return on_hosts(resources, capacities, lay_out(demands_of(topology), capacities, engines.central))


def on_hosts(resources: Resources, capacities: Sequence[HostCapacity], layout: Layout) -> Resources:
    """Return `resources` where hosts of these capacities carry the clusters of a layout."""
    hosts = (PlannedHost(each.name, each.cores, each.memory_bytes, tuple(layout.on(each.name))) for each in capacities)
    return replace(resources, hosts=tuple(hosts))


def _alike(number: int, topology: Topology, resources: Resources) -> tuple[list[HostCapacity], Layout]:
    if not 1 <= number <= MAX_HOSTS:
        raise InvalidInput(f"--hosts: from 1 to {MAX_HOSTS} hosts like this one, not {number}.")
    names = [LIKE_THIS.format(index) for index in range(1, number + 1)]
    capacities = [HostCapacity(name, resources.processors, resources.memory_bytes) for name in names]
    return capacities, lay_out(demands_of(topology), capacities, names[0])
