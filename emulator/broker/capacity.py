"""Polling for processors that come free without a departure, while jobs wait.

It uses nothing but the host's clock. Its run owns it, on the broker's loop.
"""

from __future__ import annotations

import time
from typing import Final

from emulator.model.placement import Component, Placement
from emulator.policies.decisions import NOBODY, Decision
from emulator.policies.protocols import Departure, Start
from emulator.policies.state import SystemState

FIRST_INTERVAL_HOST_S: Final = 0.1
LONGEST_INTERVAL_HOST_S: Final = 1.6
"""Intervals between polls double from the first to the longest; each decision resets them."""


class CapacityPoller:
    """The idle processors that all waiting jobs have been tried on, and when to poll next."""

    def __init__(self) -> None:
        self._considered: tuple[int, ...] | None = None
        self._jobs_wait = False
        self._interval_host_s = FIRST_INTERVAL_HOST_S
        self._next_host_s: float | None = None

    def note_decision(self, decision: Decision, *, is_scanned: bool) -> None:
        """Take note of a decision; a discipline that is scanned needs no polls."""
        left = _idle_after(decision)
        considered = self._considered
        if considered is None or not self._jobs_wait or isinstance(decision.event, Departure):
            self._considered = left
        else:
            # Some events do not try every waiting job, so processors freed before them still count as untried.
            self._considered = tuple(min(pair) for pair in zip(considered, left, strict=True))
        self._jobs_wait = decision.waiting > 0 and not is_scanned
        self.poll_soon()

    def reset(self, clusters: int, *, jobs_wait: bool) -> None:
        """Take no processor of the `clusters` as tried, and poll soon if jobs wait."""
        self._considered, self._jobs_wait = (0,) * clusters, jobs_wait
        self.poll_soon()

    def poll_soon(self) -> None:
        """Poll after the first interval if jobs wait, because something has changed."""
        self._interval_host_s = FIRST_INTERVAL_HOST_S
        self._next_host_s = time.monotonic() + FIRST_INTERVAL_HOST_S if self._jobs_wait else None

    def host_until_due_s(self) -> float | None:
        """Get the host seconds until the next poll; None if no job needs one."""
        return None if self._next_host_s is None else max(0.0, self._next_host_s - time.monotonic())

    def find_freed(self, state: SystemState) -> Departure | None:
        """Return processors freed since all waiting jobs were tried, as a synthetic departure; None if none."""
        self._interval_host_s = min(2 * self._interval_host_s, LONGEST_INTERVAL_HOST_S)
        self._next_host_s = time.monotonic() + self._interval_host_s if self._jobs_wait else None
        considered = self._considered or state.idle
        grown = [
            Component(cluster, now - before)
            for cluster, (now, before) in enumerate(zip(state.idle, considered, strict=True))
            if now > before
        ]
        return Departure(NOBODY, Placement(tuple(grown))) if grown else None


def _idle_after(decision: Decision) -> tuple[int, ...]:
    idle = list(decision.idle)
    for answer in decision.answers:
        if isinstance(answer, Start):
            for cluster, size in answer.placement.by_cluster().items():
                idle[cluster] -= size
    return tuple(idle)
