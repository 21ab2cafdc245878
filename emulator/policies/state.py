"""The system as a policy sees it: read-only, and complete enough that a decision can be made again from it.

Clusters stand in the topology's order; their position is the index that placements name. A `SystemState` holds what
every policy reads - the idle processors - and `Surroundings` holds what only some need: files, the history that
Close-to-Files learns, running jobs and their estimated ends, and nodes where several jobs share one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

from emulator.model.compilation import mypyc_attr
from emulator.model.placement import Placement


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class ClusterState:
    """A cluster at the moment of a decision: all its processors, and those that nobody uses."""

    processors: int
    idle: int

    def __init__(self, processors: int, idle: int) -> None:
        self.processors = processors
        self.idle = idle


@dataclass(frozen=True, slots=True)
class FileState:
    """An input file: its size and the clusters that hold a replica, in alphabetical order of their names."""

    sites: tuple[int, ...]
    size_bytes: float


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node that may run several jobs: who is on it, the memory still free, and the load of its local users.

    `local_share` and `local_memory_bytes` are what people working at the node take of its processors and memory.
    """

    processors: int
    jobs: tuple[int, ...] = ()
    free_memory_bytes: int = 0
    local_share: float = 0.0
    local_memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that holds processors, and the moment at which its user's estimate lets it end; None without estimate."""

    id: int
    placement: Placement
    started_s: float
    estimated_end_s: float | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What some policies want to know beyond idle processors; all of it may be empty.

    `bandwidth_bytes_per_s` is keyed by (file site, cluster); `history` holds the pairs (cluster, file site) that
    Close-to-Files has come to know; `nodes` holds the nodes of each cluster.
    """

    files: Mapping[str, FileState] = field(default_factory=dict)
    bandwidth_bytes_per_s: Mapping[tuple[int, int], float] = field(default_factory=dict)
    history: frozenset[tuple[int, int]] = frozenset()
    running: tuple[RunningJob, ...] = ()
    nodes: tuple[tuple[NodeState, ...], ...] = ()


NOTHING_ELSE = Surroundings()


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, slots=True)
class SystemState:
    """The multicluster at emulated moment `time_s`; `idle` holds the idle processors per cluster.

    A driver that keeps count itself gives `idle` beside the same `clusters` at every decision, and need not make new
    `ClusterState`s; otherwise `idle` is what the clusters say.
    """

    sizes: tuple[ClusterState, ...]
    time_s: float
    surroundings: Surroundings
    idle: tuple[int, ...]

    def __init__(
        self,
        clusters: tuple[ClusterState, ...],
        time_s: float = 0.0,
        surroundings: Surroundings = NOTHING_ELSE,
        idle: tuple[int, ...] | None = None,
    ) -> None:
        self.sizes = clusters
        self.time_s = time_s
        self.surroundings = surroundings
        if idle is None:
            idle = tuple([cluster.idle for cluster in clusters])
        self.idle = idle

    @property
    def clusters(self) -> tuple[ClusterState, ...]:
        """Every cluster with its processors, all and idle."""
        return tuple(ClusterState(size.processors, idle) for size, idle in zip(self.sizes, self.idle, strict=True))

    @property
    def processors(self) -> tuple[int, ...]:
        """All processors per cluster, idle or not."""
        return tuple([cluster.processors for cluster in self.sizes])

    def with_idle(self, idle: tuple[int, ...]) -> SystemState:
        """The same moment with these idle processors."""
        return SystemState(self.sizes, self.time_s, self.surroundings, idle)

    def after(self, placement: Placement) -> SystemState:
        """The state once `placement` has taken its processors, and what it learned is known."""
        idle = list(self.idle)
        for component in placement.components:
            idle[component.cluster] -= component.processors
        surroundings = self.surroundings
        if placement.learned:
            surroundings = replace(surroundings, history=surroundings.history | placement.learned)
        return SystemState(self.sizes, self.time_s, surroundings, tuple(idle))
