"""The system state as a policy sees it: read-only, and complete enough to repeat a decision from it.

Clusters are in the topology's order; placements refer to a cluster by its index. A `SystemState` holds the idle
processors, which every policy reads. `Surroundings` holds what only some policies need: files, the history of
Close-to-Files, running jobs and their estimated ends, and nodes that several jobs share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

from emulator.model.compilation import mypyc_attr
from emulator.model.placement import Component, Placement
from emulator.policies.idle_room import IdleRoom


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class ClusterState:
    """A cluster at a decision: the number of all its processors, and of its idle ones."""

    processors: int
    idle: int

    def __init__(self, processors: int, idle: int) -> None:
        self.processors = processors
        self.idle = idle


@dataclass(frozen=True, slots=True)
class FileState:
    """An input file: the clusters that hold a replica, in alphabetical order of their names, and its size."""

    sites: tuple[int, ...]
    size_bytes: float


@dataclass(frozen=True, slots=True)
class NodeTask:
    """A task of a job on a node: the memory it holds, and the share of the processor that it uses when alone."""

    job: int
    memory_bytes: int = 0
    processor_share: float = 1.0


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node that may run tasks of several jobs, and on which people may work.

    `local_share` and `local_memory_bytes` are the parts of its processor and memory that local users occupy.
    `most_tasks` is how many tasks its local manager takes at once: 0 while it does not use the node; None if it sets no
    limit. `memory_for_jobs_bytes` is what all tasks together may hold beside local users, by the social contract; None
    if it is all of the node's memory.
    """

    memory_bytes: int
    tasks: tuple[NodeTask, ...] = ()
    local_share: float = 0.0
    local_memory_bytes: int = 0
    most_tasks: int | None = None
    memory_for_jobs_bytes: int | None = None

    @property
    def jobs(self) -> frozenset[int]:
        """The jobs that have a task here."""
        return frozenset([task.job for task in self.tasks])

    @property
    def has_local_users(self) -> bool:
        """Whether local users work on this node."""
        return self.local_share > 0.0 or self.local_memory_bytes > 0

    @property
    def parallel_memory_bytes(self) -> int:
        """The memory that the jobs' tasks hold."""
        return sum([task.memory_bytes for task in self.tasks])

    @property
    def parallel_share(self) -> float:
        """The sum of the shares of the processor that the jobs' tasks use when alone."""
        return sum([task.processor_share for task in self.tasks])

    @property
    def is_full(self) -> bool:
        """Whether it runs as many tasks as its local manager takes."""
        return self.most_tasks is not None and len(self.tasks) >= self.most_tasks

    @property
    def free_memory_bytes(self) -> int:
        """The memory that a further task may hold; it may be negative."""
        most_bytes = self.memory_bytes if self.memory_for_jobs_bytes is None else self.memory_for_jobs_bytes
        return most_bytes - self.parallel_memory_bytes

    def has_room(self, memory_bytes: int) -> bool:
        """Return whether a further task that holds this memory may run here."""
        return not self.is_full and memory_bytes <= self.free_memory_bytes


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that holds processors or was promised them; until it starts, `started_s` is its planned start.

    `estimated_end_s` comes from the user's estimate and is None without one.
    """

    id: int
    placement: Placement
    started_s: float
    estimated_end_s: float | None = None

    @classmethod
    def since(cls, id: int, placement: Placement, start_s: float, estimate_s: float | None) -> RunningJob:
        """Return a job that starts or started at `start_s`, with the end that its user's estimate gives."""
        return cls(id, placement, start_s, None if estimate_s is None else start_s + estimate_s)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Additional state that some policies read; every part may be empty.

    `bandwidth_bytes_per_s` is keyed by (file site, cluster); `history` holds the pairs that placements have added
    (`Placement.learned`), of Close-to-Files (cluster, file site); `nodes` holds the nodes of each cluster.
    """

    files: Mapping[str, FileState] = field(default_factory=dict)
    bandwidth_bytes_per_s: Mapping[tuple[int, int], float] = field(default_factory=dict)
    history: frozenset[tuple[int, int]] = frozenset()
    running: tuple[RunningJob, ...] = ()
    nodes: tuple[tuple[NodeState, ...], ...] = ()


NOTHING_ELSE = Surroundings()


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class SystemState:
    """The state of the multicluster at the emulated timestamp `time_s`.

    `processors` holds the number of processors per cluster, `idle` the number of idle ones. A state of many clusters
    may have an index of these (`room`), less what was `taken` since; its list is made when it is asked for.
    """

    __slots__ = ("_idle", "processors", "room", "surroundings", "taken", "time_s")

    def __init__(
        self,
        processors: tuple[int, ...],
        idle: tuple[int, ...] | None,
        time_s: float = 0.0,
        surroundings: Surroundings = NOTHING_ELSE,
        room: IdleRoom | None = None,
        taken: tuple[Component, ...] = (),
    ) -> None:
        self.processors = processors
        self._idle: tuple[int, ...] | None = idle
        self.time_s = time_s
        self.surroundings = surroundings
        self.room: IdleRoom | None = room
        self.taken: tuple[Component, ...] = taken

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SystemState):
            return NotImplemented
        return (self.processors, self.idle, self.time_s, self.surroundings) == (
            other.processors,
            other.idle,
            other.time_s,
            other.surroundings,
        )

    def __repr__(self) -> str:
        return f"SystemState({self.processors}, {self.idle}, {self.time_s}, {self.surroundings})"

    @property
    def idle(self) -> tuple[int, ...]:
        """The number of idle processors per cluster."""
        idle = self._idle
        if idle is None:
            idle = self._listed()
            self._idle = idle
        return idle

    @property
    def clusters(self) -> tuple[ClusterState, ...]:
        """All clusters, each with its processors and its idle processors."""
        return tuple([ClusterState(size, idle) for size, idle in zip(self.processors, self.idle, strict=True)])

    @property
    def total_idle(self) -> int:
        """The number of idle processors of all clusters together."""
        room = self.room
        if room is None:
            return sum(self.idle)
        total = room.total
        for component in self.taken:
            total -= component.processors
        return total

    def idle_at(self, cluster: int) -> int:
        """Return the number of idle processors of one cluster."""
        room = self.room
        if room is None:
            return self.idle[cluster]
        idle = room.of(cluster)
        for component in self.taken:
            if component.cluster == cluster:
                idle -= component.processors
        return idle

    def with_idle(self, idle: tuple[int, ...]) -> SystemState:
        """Return this state with other idle processors per cluster."""
        return SystemState(self.processors, idle, self.time_s, self.surroundings)

    def with_running(self, job: RunningJob) -> SystemState:
        """Return this state with one more running job; its processors are those that are not idle."""
        surroundings = replace(self.surroundings, running=(*self.surroundings.running, job))
        return SystemState(self.processors, self.idle, self.time_s, surroundings)

    def after(self, placement: Placement) -> SystemState:
        """Return the state after `placement` has taken its processors and added its pairs to the history."""
        surroundings = self.surroundings
        if placement.learned:
            surroundings = replace(surroundings, history=surroundings.history | placement.learned)
        if self.room is not None:
            taken = self.taken + placement.components
            return SystemState(self.processors, None, self.time_s, surroundings, self.room, taken)
        idle = list(self.idle)
        for component in placement.components:
            idle[component.cluster] -= component.processors
        return SystemState(self.processors, tuple(idle), self.time_s, surroundings)

    def _listed(self) -> tuple[int, ...]:
        room = self.room
        if room is None:
            return ()
        idle = room.as_list()
        for component in self.taken:
            idle[component.cluster] -= component.processors
        return tuple(idle)
