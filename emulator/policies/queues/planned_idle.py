"""The idle processors that are expected from now on, by the estimated ends of the running jobs.

A plan is a list of steps; each has a timestamp and the idle processors of every cluster from then until the next step.
The first step is now, with the processors that are really idle. A running job past its estimated end is expected to end
at once: a second step, also now, holds its processors. Processors without an estimated end (those of other users) are
expected to become free with the last estimated end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from emulator.model.placement import Placement
from emulator.policies.state import RunningJob, SystemState


class ExpectedEnd(NamedTuple):
    """The expected end of a running job, and the placement that it frees."""

    time_s: float
    placement: Placement


def expected_ends(running: Sequence[RunningJob], now_s: float) -> list[ExpectedEnd]:
    """Return the expected ends of `running`, none of them before `now_s`; jobs without an estimate are left out."""
    return [
        ExpectedEnd(max(job.estimated_end_s, now_s), job.placement)
        for job in running
        if job.estimated_end_s is not None
    ]


class PlannedIdle:
    """The steps of a plan in `state`, in which jobs end at `ends`."""

    def __init__(self, state: SystemState, ends: Sequence[ExpectedEnd]) -> None:
        idle = list(state.idle)
        self.times_s: list[float] = [state.time_s]
        self.idle: list[list[int]] = [idle]
        for end in sorted(ends, key=_time_s):
            if len(self.times_s) == 1 or end.time_s != self.times_s[-1]:
                idle = list(idle)
                self.times_s.append(end.time_s)
                self.idle.append(idle)
            for component in end.placement.components:
                cluster = component.cluster
                idle[cluster] = min(idle[cluster] + component.processors, state.processors[cluster])
        self._free_the_rest(state)
        self.totals: list[int] = [sum(idle) for idle in self.idle]

    def least_idle(self, step: int, length_s: float) -> tuple[int, ...]:
        """Return the processors of each cluster that stay idle for `length_s` from `step` on."""
        least = list(self.idle[step])
        for later in range(step + 1, self._step_at(step, length_s)):
            idle = self.idle[later]
            for cluster in range(len(least)):
                if idle[cluster] < least[cluster]:
                    least[cluster] = idle[cluster]
        return tuple(least)

    def last_short(self, step: int, length_s: float, processors: int) -> int:
        """Return the last step within `length_s` from `step` on with fewer than `processors` idle in all; -1 if none.

        No policy can begin a job of that size and length at a step from `step` to that one.
        """
        last = -1
        for within in range(step, self._step_at(step, length_s)):
            if self.totals[within] < processors:
                last = within
        return last

    def take(self, step: int, length_s: float, placement: Placement) -> None:
        """Occupy the processors of `placement` for `length_s` from `step` on.

        A job without length that starts later than now occupies nothing.
        """
        if length_s == 0.0 and step > 0:
            return
        after = self._step_at(step, length_s)
        end_s = self.times_s[step] + length_s
        if after == len(self.times_s) or self.times_s[after] != end_s:
            self.times_s.insert(after, end_s)
            self.idle.insert(after, list(self.idle[after - 1]))
            self.totals.insert(after, self.totals[after - 1])
        for planned in range(step, after):
            idle = self.idle[planned]
            for component in placement.components:
                idle[component.cluster] -= component.processors
                self.totals[planned] -= component.processors

    def _step_at(self, step: int, length_s: float) -> int:
        """Return the first step after `step` that begins `length_s` later or still later."""
        end_s = self.times_s[step] + length_s
        later = step + 1
        while later < len(self.times_s) and self.times_s[later] < end_s:
            later += 1
        return later

    def _free_the_rest(self, state: SystemState) -> None:
        everything = list(state.processors)
        if self.idle[-1] == everything:
            return
        if len(self.times_s) == 1:
            self.times_s.append(state.time_s)
            self.idle.append(everything)
        else:
            self.idle[-1] = everything


def _time_s(end: ExpectedEnd) -> float:
    return end.time_s
