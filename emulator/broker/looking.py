"""When a run looks at its clusters again because jobs wait, and what it finds to have come free meanwhile.

Pure but for the host's clock; the owner is the run, on the broker's loop.
"""

from __future__ import annotations

import time
from typing import Final

from emulator.model.placement import Component, Placement
from emulator.policies.decisions import NOBODY, Decision
from emulator.policies.protocols import Departure, Start
from emulator.policies.state import SystemState

FIRST_LOOK_HOST_S: Final = 0.1
LONGEST_WAIT_HOST_S: Final = 1.6
"""Looks come at doubling intervals between these, and begin anew with each decision."""


class Looking:
    """The processors on which all waiting jobs have been considered, and the moment of the next look."""

    def __init__(self) -> None:
        self._considered: tuple[int, ...] | None = None
        self._jobs_wait = False
        self._interval_host_s = FIRST_LOOK_HOST_S
        self._next_host_s: float | None = None

    def note(self, decision: Decision, *, is_scanned: bool) -> None:
        """A decision was made, by a discipline that is scanned or not."""
        left = _left_by(decision)
        considered = self._considered
        if considered is None or not self._jobs_wait or isinstance(decision.event, Departure):
            self._considered = left
        else:
            # Not every event has all waiting jobs tried: what came free before it was put to some of them only.
            self._considered = tuple(min(pair) for pair in zip(considered, left, strict=True))
        self._jobs_wait = decision.waiting > 0 and not is_scanned
        self.soon()

    def begin_anew(self, clusters: int, *, jobs_wait: bool) -> None:
        """Take it that no processor of the `clusters` has been considered for any of the jobs that wait."""
        self._considered, self._jobs_wait = (0,) * clusters, jobs_wait
        self.soon()

    def soon(self) -> None:
        """Look soon, because something has settled, if jobs wait."""
        self._interval_host_s = FIRST_LOOK_HOST_S
        self._next_host_s = time.monotonic() + FIRST_LOOK_HOST_S if self._jobs_wait else None

    def host_until_due_s(self) -> float | None:
        """Host seconds until the next look; None if nobody waits for one."""
        return None if self._next_host_s is None else max(0.0, self._next_host_s - time.monotonic())

    def freed(self, state: SystemState) -> Departure | None:
        """What came free in `state` since all waiting jobs were considered, as the departure of a job of nobody's."""
        self._interval_host_s = min(2 * self._interval_host_s, LONGEST_WAIT_HOST_S)
        self._next_host_s = time.monotonic() + self._interval_host_s if self._jobs_wait else None
        considered = self._considered or state.idle
        grown = [
            Component(cluster, now - before)
            for cluster, (now, before) in enumerate(zip(state.idle, considered, strict=True))
            if now > before
        ]
        return Departure(NOBODY, Placement(tuple(grown))) if grown else None


def _left_by(decision: Decision) -> tuple[int, ...]:
    idle = list(decision.idle)
    for answer in decision.answers:
        if isinstance(answer, Start):
            for cluster, size in answer.placement.by_cluster().items():
                idle[cluster] -= size
    return tuple(idle)
