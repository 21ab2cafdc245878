"""Worst fit without repetition: the largest component to the roomiest cluster, the next to the next, each its own.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2 (unordered requests).
"""

from __future__ import annotations

from typing import ClassVar, Final

from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.ranking import fits_nowhere, placed, roomiest
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
        clusters = [0] * len(sizes)
        for index in descending:
            cluster = roomiest(idle)
            if idle[cluster] < sizes[index]:
                return None
            idle[cluster] = TAKEN
            clusters[index] = cluster
        return placed(sizes, clusters)
