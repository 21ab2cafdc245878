"""Worst fit without repetition: the largest component goes to the cluster with most idle processors, and so on.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2 (unordered requests).
"""

from __future__ import annotations

from typing import ClassVar, Final

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.ranking import NOWHERE, fits_nowhere, placed, roomiest
from emulator.policies.state import SystemState

TAKEN: Final = -1
"""Value in place of the idle processors of a cluster that already has a component of the job."""


class WorstFitDistinct:
    """The policy that pairs components in decreasing size with distinct clusters by decreasing idle processors."""

    accepts: ClassVar[frozenset[RequestKind]] = frozenset({RequestKind.UNORDERED, RequestKind.TOTAL})
    ignores_time: ClassVar[bool] = True
    ignores_estimates: ClassVar[bool] = True

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement on distinct clusters, or None only if no such placement exists."""
        sizes: tuple[int, ...] = request.components
        descending = request.descending
        room = state.room
        if room is not None:
            found = room.worst_fit(sizes, descending, state.taken, True)
            return None if found is None else placed(sizes, found)
        if fits_nowhere(sizes[descending[0]], state.idle):
            return None
        idle = list(state.idle)
        parts = [NOWHERE] * len(sizes)
        for index in descending:
            size = sizes[index]
            cluster = roomiest(idle)
            if idle[cluster] < size:
                return None
            idle[cluster] = TAKEN
            parts[index] = Component(cluster, size)
        return Placement(tuple(parts))
