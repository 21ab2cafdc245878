"""The layout of a testbed over hosts: which host carries which cluster. Pure.

Router and broker are on the central host, which manages the Swarm. A cluster stays on one host. All traffic between
clusters crosses the router, so that a cluster beside it saves a crossing of the underlay with each of its messages: of
layouts that load the hosts equally, the one whose clusters with the fastest access links are beside the router is best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.names import named_among
from emulator.model.topology import Topology

CLUSTER_MEMORY_BYTES: Final = 256 * 1024**2
"""What a cluster holds without a job: its Slurm and its virtual nodes."""

RANK_MEMORY_BYTES: Final = 22 * 1000**2
"""What a rank of a job holds."""

CENTRAL_MEMORY_BYTES: Final = 1024**3
"""What router and broker hold."""

CENTRAL_CORES: Final = 0.5
"""What router and broker are taken to need of the central host's cores, but no more than half of them."""

_GIB: Final = 1024**3


@dataclass(frozen=True, slots=True)
class HostCapacity:
    """The cores and the memory that a host offers: the shares that the testbed may use."""

    name: str
    cores: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class ClusterDemand:
    """The demand of a cluster on its host; `rate_mbit` is its access link's, both ways, and `on` the host stated."""

    name: str
    processors: int
    rate_mbit: float
    on: str | None = None

    @property
    def memory_bytes(self) -> int:
        """The memory with a rank on every processor."""
        return CLUSTER_MEMORY_BYTES + self.processors * RANK_MEMORY_BYTES


@dataclass(frozen=True, slots=True)
class Layout:
    """The host of router and broker, and that of each cluster."""

    central: str
    clusters: Mapping[str, str]

    def on(self, host: str) -> list[str]:
        """Return the clusters on a host."""
        return [cluster for cluster, carrier in self.clusters.items() if carrier == host]


def demands_of(topology: Topology) -> list[ClusterDemand]:
    """Return what the emulated clusters of a topology ask of their hosts."""
    return [
        ClusterDemand(
            name=cluster.name,
            processors=cluster.processors,
            rate_mbit=cluster.access_link.up_mbit + cluster.access_link.down_mbit,
            on=cluster.on,
        )
        for cluster in topology.clusters
        if not cluster.is_real
    ]


def lay_out(demands: Sequence[ClusterDemand], hosts: Sequence[HostCapacity], central: str) -> Layout:
    """Return the host of each cluster: as stated, else by cores, memory and the rates of the access links.

    Raises:
        UnknownName: if a cluster states a host that is not in the inventory.
        InvalidInput: if a cluster does not fit.
    """
    placing = _Placing(demands, {host.name: host for host in hosts}, central)
    for demand in demands:
        if demand.on is not None:
            placing.put(demand, named_among("host", demand.on, placing.hosts))
    free = [demand for demand in demands if demand.on is None]
    for demand in sorted(free, key=lambda each: (-each.processors, -each.rate_mbit)):
        placing.put(demand, placing.best_host(demand))
    placing.improve(free)
    return Layout(central, {demand.name: placing.chosen[demand.name] for demand in demands})


Objective = tuple[float, float, float]


class _Placing:
    """A layout while it is made: the clusters put so far."""

    def __init__(self, demands: Sequence[ClusterDemand], hosts: Mapping[str, HostCapacity], central: str) -> None:
        self.demands = {demand.name: demand for demand in demands}
        self.hosts = dict(hosts)
        self.central = central
        self.chosen: dict[str, str] = {}

    def put(self, demand: ClusterDemand, host: str) -> None:
        """Put a cluster on a host.

        Raises:
            InvalidInput: if it does not fit there.
        """
        if not self._fits(demand, host):
            raise InvalidInput(
                f"Cluster {demand.name!r} needs {demand.memory_bytes / _GIB:.1f} GiB of memory on host {host!r}, which "
                f"has {self._free_bytes(host) / _GIB:.1f} GiB left for it (state another host by `on:`, raise the "
                "host's share, or give the cluster fewer nodes)."
            )
        self.chosen[demand.name] = host

    def best_host(self, demand: ClusterDemand) -> str:
        """Return the host that a cluster loads least.

        Raises:
            InvalidInput: if it fits on none.
        """
        fitting = [host for host in self.hosts if self._fits(demand, host)]
        if not fitting:
            largest = max(self.hosts, key=self._free_bytes)
            raise InvalidInput(
                f"Cluster {demand.name!r} is too large for any host: it needs {demand.memory_bytes / _GIB:.1f} GiB of "
                f"memory, and {largest!r} has most with {self._free_bytes(largest) / _GIB:.1f} GiB (add a host, raise "
                "a host's share, or give the cluster fewer nodes)."
            )
        return min(fitting, key=lambda host: (self._load(host, demand.processors), host != self.central))

    def improve(self, free: Sequence[ClusterDemand]) -> None:
        """Move and swap the clusters whose host is not stated until nothing of that makes the layout better."""
        while (better := self._better(free)) is not None:
            self.chosen = better

    def _better(self, free: Sequence[ClusterDemand]) -> dict[str, str] | None:
        best, objective = None, self._objective(self.chosen)
        for changed in self._neighbours(free):
            reached = self._objective(changed)
            if reached < objective and self._all_fit(changed):
                best, objective = changed, reached
        return best

    def _neighbours(self, free: Sequence[ClusterDemand]) -> Iterator[dict[str, str]]:
        for index, one in enumerate(free):
            for host in self.hosts:
                yield {**self.chosen, one.name: host}
            for other in free[index + 1 :]:
                yield {**self.chosen, one.name: self.chosen[other.name], other.name: self.chosen[one.name]}

    def _objective(self, chosen: Mapping[str, str]) -> Objective:
        """Return the highest load, how unequal loads are, and what crosses the underlay; less is better."""
        loads = [self._load(host, 0, chosen) for host in self.hosts]
        crossing = sum(self.demands[name].rate_mbit for name, host in chosen.items() if host != self.central)
        return round(max(loads), 9), round(sum(load * load for load in loads), 9), crossing

    def _load(self, host: str, more_processors: int, chosen: Mapping[str, str] | None = None) -> float:
        """Return the emulated processors for each core of a host."""
        carried = self._carried(host, chosen)
        cores = self.hosts[host].cores
        usable = max(cores - CENTRAL_CORES, cores / 2) if host == self.central else cores
        return (sum(demand.processors for demand in carried) + more_processors) / usable

    def _fits(self, demand: ClusterDemand, host: str) -> bool:
        return demand.memory_bytes <= self._free_bytes(host)

    def _all_fit(self, chosen: Mapping[str, str]) -> bool:
        return all(self._free_bytes(host, chosen) >= 0 for host in self.hosts)

    def _free_bytes(self, host: str, chosen: Mapping[str, str] | None = None) -> int:
        held = CENTRAL_MEMORY_BYTES if host == self.central else 0
        return self.hosts[host].memory_bytes - held - sum(each.memory_bytes for each in self._carried(host, chosen))

    def _carried(self, host: str, chosen: Mapping[str, str] | None = None) -> list[ClusterDemand]:
        where = self.chosen if chosen is None else chosen
        return [self.demands[name] for name, carrier in where.items() if carrier == host]
