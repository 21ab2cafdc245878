"""The background load of a recorded run, in a simulation: other users hold what they held then, cluster by cluster.

The grid's jobs may run elsewhere than in that run, and the load then finds too few idle processors in a cluster. It
takes the idle ones at once and the rest as soon as they are given back, before the grid's jobs. Until then dummy jobs
may hold as many in other clusters, as the controller of a load of the whole system would inject them there. So the load
may lag behind its record, but it never holds more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from emulator.fidelity.background import BandWatch
from emulator.simulator.background import BackgroundChange, WatchedLoad


class ReplayedBackground(WatchedLoad):
    """A background load that follows `record`, its changes in order of time; `watch` measures how its band is kept.

    With `together`, dummy jobs for which a cluster lacks processors run in other clusters, as jobs of that many
    processors. The class is an `OtherUsers`.
    """

    def __init__(
        self, record: Sequence[BackgroundChange], processors: Sequence[int], watch: BandWatch, together: int = 0
    ) -> None:
        super().__init__(len(processors), watch)
        self._record = record
        self._processors = processors
        self._together = together
        self._next = 0
        self._wanted: list[tuple[int, int]] = [(0, 0)] * len(processors)
        self._held = [0] * len(processors)
        self._elsewhere = [0] * len(processors)

    def next_s(self) -> float:
        """Return when the load changes next in the record; infinity after its end."""
        return self._record[self._next].time_s if self._next < len(self._record) else math.inf

    def advance(self, time_s: float, idle: list[int]) -> None:
        """Hold from `time_s` on what the load held then."""
        while self._next < len(self._record) and self._record[self._next].time_s <= time_s:
            change = self._record[self._next]
            self._wanted[change.cluster] = (change.dummy, change.local)
            self._next += 1
        self.tend(time_s, idle)

    def tend(self, time_s: float, idle: list[int]) -> None:
        """Take what the load still lacks of processors that are idle at `time_s`, and note what it holds."""
        self._now_s = time_s
        self.start_local_jobs(time_s, idle)
        parts = self._parts()
        if self._keeps_changes:
            self._note_changes(time_s, parts)
        load = sum(dummy + local for dummy, local in parts)
        self._watch.note(time_s, load, dummies_left=any(dummy for dummy, _ in parts))

    def start_local_jobs(self, time_s: float, idle: list[int]) -> None:
        """Take idle processors that the load lacks, or give back those that it has too many."""
        for cluster, (dummy, local) in enumerate(self._wanted):
            taken = min(dummy + local - self._held[cluster], idle[cluster])
            self._held[cluster] += taken
            idle[cluster] -= taken
        if self._together:
            self._move_dummies(idle)

    def _move_dummies(self, idle: list[int]) -> None:
        """Have as many dummy jobs elsewhere as their own clusters lack processors for."""
        lacking = sum(
            min(dummy, dummy + local - held) for held, (dummy, local) in zip(self._held, self._wanted, strict=True)
        )
        while sum(self._elsewhere) > lacking:
            cluster = max((c for c, moved in enumerate(self._elsewhere) if moved), key=self._load)
            self._move(cluster, -self._together, idle)
        while sum(self._elsewhere) + self._together <= lacking:
            found = [c for c, free in enumerate(idle) if free >= self._together]
            if not found:
                return
            self._move(min(found, key=self._load), self._together, idle)

    def _move(self, cluster: int, processors: int, idle: list[int]) -> None:
        self._elsewhere[cluster] += processors
        idle[cluster] -= processors

    def _load(self, cluster: int) -> float:
        return (self._held[cluster] + self._elsewhere[cluster]) / self._processors[cluster]

    def _parts(self) -> list[tuple[int, int]]:
        """Return what dummy and local jobs hold in each cluster; what the load lacks, dummy jobs lack first."""
        return [
            (held - min(held, local) + elsewhere, min(held, local))
            for held, elsewhere, (_, local) in zip(self._held, self._elsewhere, self._wanted, strict=True)
        ]
