"""The background load of a recorded run, in a simulation: other users hold what they held then, cluster by cluster.

The grid's jobs may be elsewhere than they were in that run. Where the load grows and too few processors are idle, it
takes those that are, and the rest as soon as they are given back, before the grid's jobs. So it may lag behind its
record, and never holds more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from emulator.fidelity.background import BackgroundMeasures, BandWatch
from emulator.simulator.background import BackgroundChange


class ReplayedBackground:
    """A background load that follows `record`, its changes in order of time; `watch` measures how its band is kept.

    It is an `OtherUsers`.
    """

    def __init__(self, record: Sequence[BackgroundChange], clusters: int, watch: BandWatch) -> None:
        self._record = record
        self._next = 0
        self._wanted: list[tuple[int, int]] = [(0, 0)] * clusters
        self._held = [0] * clusters
        self._watch = watch
        self._changes: list[BackgroundChange] = []
        self._last: list[tuple[int, int]] = [(-1, -1)] * clusters
        self._now_s = 0.0
        self._keeps_changes = False

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
            self._note_changes(time_s)
        self._watch.note(time_s, sum(self._held), dummies_left=any(dummy for dummy, _ in self._parts()))

    def start_local_jobs(self, time_s: float, idle: list[int]) -> None:
        """Take what the load lacks of the processors that are idle, or give back what it has too many of."""
        for cluster, (dummy, local) in enumerate(self._wanted):
            taken = min(dummy + local - self._held[cluster], idle[cluster])
            self._held[cluster] += taken
            idle[cluster] -= taken

    def measures(self) -> BackgroundMeasures:
        """Return how the load has kept to its band until the last event."""
        return self._watch.measures(self._now_s)

    def keep_changes(self) -> None:
        """Keep all changes from now on; memory then grows with their number."""
        self._keeps_changes = True

    def changes(self) -> Sequence[BackgroundChange]:
        """Return the changes of the load that were kept, in order of time."""
        return self._changes

    def _note_changes(self, time_s: float) -> None:
        for cluster, held in enumerate(self._parts()):
            if held != self._last[cluster]:
                self._last[cluster] = held
                self._changes.append(BackgroundChange(time_s, cluster, *held))

    def _parts(self) -> list[tuple[int, int]]:
        """Return what dummy and local jobs hold in each cluster; what the load lacks, dummy jobs lack first."""
        return [
            (held - min(held, local), min(held, local))
            for held, (_, local) in zip(self._held, self._wanted, strict=True)
        ]
