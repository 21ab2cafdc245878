"""The background load of a simulation: local and dummy jobs that take and give back the engine's idle processors.

Local jobs wait at their cluster, first come first served, until enough processors are idle; they come before the grid's
jobs when processors are given back. Dummy jobs are injected and killed by the controller of live runs, at once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple, Protocol

from numpy.random import Generator

from emulator.fidelity.background import BackgroundMeasures, BandWatch
from emulator.model.background import Background
from emulator.model.held_nodes import whole
from emulator.policies.background import BackgroundController, BackgroundState, ClusterUse, DummyJob, Injection, Kill


class LocalArrival(Protocol):
    """A local user's job: when it is submitted, to which cluster, its size in processors, and how long it runs."""

    @property
    def arrival_s(self) -> float: ...
    @property
    def cluster(self) -> int: ...
    @property
    def processors(self) -> int: ...
    @property
    def length_s(self) -> float: ...


@dataclass(frozen=True, slots=True)
class _Holding:
    """Processors that a local or a dummy job holds."""

    cluster: int
    processors: int
    is_dummy: bool


class BackgroundChange(NamedTuple):
    """The processors of a cluster that dummy jobs and local users' jobs hold from `time_s` on."""

    time_s: float
    cluster: int
    dummy: int
    local: int


class OtherUsers(Protocol):
    """The jobs of other users in a simulation; the engine lends its list of idle processors for each call."""

    def next_s(self) -> float:
        """Return when something changes next by itself; infinity if nothing does."""
        ...

    def advance(self, time_s: float, idle: list[int]) -> None:
        """Let everything happen that is due at `time_s`."""
        ...

    def tend(self, time_s: float, idle: list[int]) -> None:
        """React to processors that the grid's jobs took or gave back at `time_s`."""
        ...

    def start_local_jobs(self, time_s: float, idle: list[int]) -> None:
        """Start what has waited for processors and comes before the grid's jobs."""
        ...

    def measures(self) -> BackgroundMeasures:
        """Return how the load has kept to its band until the last event."""
        ...

    def keep_changes(self) -> None:
        """Keep all changes from now on; memory then grows with their number."""
        ...

    def changes(self) -> Sequence[BackgroundChange]:
        """Return the changes of the load that were kept, in order of time."""
        ...


class WatchedLoad:
    """The record of a background load: how its band was kept by `watch`, and on request every change of a cluster."""

    def __init__(self, clusters: int, watch: BandWatch) -> None:
        self._watch = watch
        self._now_s = 0.0
        self._keeps_changes = False
        self._changes: list[BackgroundChange] = []
        self._last: list[tuple[int, int]] = [(-1, -1)] * clusters

    def measures(self) -> BackgroundMeasures:
        """Return how the load has kept to its band until the last event."""
        return self._watch.measures(self._now_s)

    def keep_changes(self) -> None:
        """Keep all changes from now on; memory then grows with their number."""
        self._keeps_changes = True

    def changes(self) -> Sequence[BackgroundChange]:
        """Return the changes of the load that were kept, in order of time."""
        return self._changes

    def _note_changes(self, time_s: float, held: Iterable[tuple[int, int]]) -> None:
        """Keep the changes at `time_s`; `held` is what dummy and local jobs hold in each cluster."""
        for cluster, (dummy, local) in enumerate(held):
            if (dummy, local) != self._last[cluster]:
                self._last[cluster] = (dummy, local)
                self._changes.append(BackgroundChange(time_s, cluster, dummy, local))


class SimulatedBackground(WatchedLoad):
    """The background load of one simulation, over clusters with `processors` each; jobs take `together` at a time.

    The engine lends it its list of idle processors for the time of each call.
    """

    def __init__(
        self,
        background: Background,
        local_jobs: Iterator[LocalArrival],
        processors: Sequence[int],
        rng: Generator,
        settling_s: float,
        together: int = 1,
    ) -> None:
        watch = BandWatch(background.of(sum(processors)), background.void_after_s, settling_s)
        super().__init__(len(processors), watch)
        self._controller = BackgroundController(background, together)
        self._together = together
        self._local_jobs = local_jobs
        self._coming = next(local_jobs, None)
        self._processors = tuple(processors)
        self._rng = rng
        self._numbers = count(1)
        self._holding: dict[int, _Holding] = {}
        self._ends: list[tuple[float, int]] = []
        self._waiting: list[deque[LocalArrival]] = [deque() for _ in processors]

    def next_s(self) -> float:
        """Return when a local job arrives, or a job of the background ends, next."""
        while self._ends and self._ends[0][1] not in self._holding:
            heappop(self._ends)
        arrival_s = math.inf if self._coming is None else self._coming.arrival_s
        return min(arrival_s, self._ends[0][0] if self._ends else math.inf)

    def advance(self, time_s: float, idle: list[int]) -> None:
        """Let everything happen that is due at `time_s`, then hold the load in its band."""
        while self._ends and self._ends[0][0] <= time_s:
            self._end(heappop(self._ends)[1], idle)
        while self._coming is not None and self._coming.arrival_s <= time_s:
            self._waiting[self._coming.cluster].append(self._coming)
            self._coming = next(self._local_jobs, None)
        self.tend(time_s, idle)

    def tend(self, time_s: float, idle: list[int]) -> None:
        """Start the local jobs that fit at `time_s`, and hold the load in its band."""
        self._now_s = time_s
        self.start_local_jobs(time_s, idle)
        for action in self._controller.decide(self._state(idle), self._rng):
            if isinstance(action, Injection):
                self._hold(_Holding(action.cluster, action.held, True), time_s + action.length_s, idle)
            elif isinstance(action, Kill):
                self._end(action.dummy, idle)
        self.start_local_jobs(time_s, idle)
        load = sum(job.processors for job in self._holding.values())
        self._watch.note(time_s, load, dummies_left=any(job.is_dummy for job in self._holding.values()))
        if self._keeps_changes:
            self._note_changes(time_s, self._parts())

    def start_local_jobs(self, time_s: float, idle: list[int]) -> None:
        """Start the local jobs at the heads of their queues that fit at `time_s`."""
        for cluster, queue in enumerate(self._waiting):
            while queue and (held := whole(queue[0].processors, self._together)) <= idle[cluster]:
                self._hold(_Holding(cluster, held, False), time_s + queue.popleft().length_s, idle)

    def _parts(self) -> Iterable[tuple[int, int]]:
        """Return the processors that dummy and local jobs hold in each cluster."""
        dummy, local = ([0] * len(self._processors) for _ in range(2))
        for job in self._holding.values():
            (dummy if job.is_dummy else local)[job.cluster] += job.processors
        return zip(dummy, local, strict=True)

    def _hold(self, holding: _Holding, end_s: float, idle: list[int]) -> None:
        number = next(self._numbers)
        self._holding[number] = holding
        idle[holding.cluster] -= holding.processors
        heappush(self._ends, (end_s, number))

    def _end(self, number: int, idle: list[int]) -> None:
        holding = self._holding.pop(number, None)
        if holding is not None:
            idle[holding.cluster] += holding.processors

    def _state(self, idle: Sequence[int]) -> BackgroundState:
        local = [0] * len(self._processors)
        dummies: list[DummyJob] = []
        for number, job in self._holding.items():
            if job.is_dummy:
                dummies.append(DummyJob(number, job.cluster, job.processors))
            else:
                local[job.cluster] += job.processors
        uses = zip(self._processors, local, idle, strict=True)
        return BackgroundState(tuple(ClusterUse(*use) for use in uses), tuple(dummies))
