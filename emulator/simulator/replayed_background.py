"""The background load of a recorded run, in a simulation: other users hold what they held then, cluster by cluster.

The grid's jobs may run elsewhere than in that run. If the load grows and too few processors are idle, it takes the
idle ones at once and the rest as soon as they are given back, before the grid's jobs. So it may lag behind its record,
but it never holds more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from emulator.fidelity.background import BandWatch
from emulator.simulator.background import BackgroundChange, WatchedLoad


class ReplayedBackground(WatchedLoad):
    """A background load that follows `record`, its changes in order of time; `watch` measures how its band is kept.

    It is an `OtherUsers`.
    """

    def __init__(self, record: Sequence[BackgroundChange], clusters: int, watch: BandWatch) -> None:
        super().__init__(clusters, watch)
        self._record = record
        self._next = 0
        self._wanted: list[tuple[int, int]] = [(0, 0)] * clusters
        self._held = [0] * clusters

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
        if self._keeps_changes:
            self._note_changes(time_s, self._parts())
        self._watch.note(time_s, sum(self._held), dummies_left=any(dummy for dummy, _ in self._parts()))

    def start_local_jobs(self, time_s: float, idle: list[int]) -> None:
        """Take idle processors that the load lacks, or give back those that it has too many."""
        for cluster, (dummy, local) in enumerate(self._wanted):
            taken = min(dummy + local - self._held[cluster], idle[cluster])
            self._held[cluster] += taken
            idle[cluster] -= taken

    def _parts(self) -> list[tuple[int, int]]:
        """Return what dummy and local jobs hold in each cluster; what the load lacks, dummy jobs lack first."""
        return [
            (held - min(held, local), min(held, local))
            for held, (_, local) in zip(self._held, self._wanted, strict=True)
        ]
