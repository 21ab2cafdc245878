"""Worst fit without repetition: the largest component to the roomiest cluster, the next to the next, each its own.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2 (unordered requests).
"""

from __future__ import annotations

from typing import ClassVar, Final

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.ranking import NOWHERE, fits_nowhere, roomiest
from emulator.policies.state import SystemState

TAKEN: Final = -1
"""Stands for the idle processors of a cluster that already has a component of the job."""


class WorstFitDistinct:
    """Components in decreasing size are paired with clusters by decreasing idle processors; all must fit theirs."""

    accepts: ClassVar[frozenset[RequestKind]] = frozenset({RequestKind.UNORDERED, RequestKind.TOTAL})

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """A placement on distinct clusters, or None; complete: None only where no such placement exists."""
        sizes: tuple[int, ...] = request.components
        descending = request.descending
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
