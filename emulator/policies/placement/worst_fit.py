"""Worst fit with repetition: each component goes where most processors are idle, to balance the load.

"Communication-Aware Job Placement Policies", section 4 (non-fixed requests), and the Close-to-Files paper's WF.
"""

from __future__ import annotations

from typing import ClassVar

from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.files import reading_nearest
from emulator.policies.placement.ranking import placed, roomiest
from emulator.policies.state import SystemState


class WorstFit:
    """The policy that places components in decreasing size, each on the cluster with most remaining idle processors.

    Several components may be placed on the same cluster.
    """

    accepts: ClassVar[frozenset[RequestKind]] = frozenset({RequestKind.NON_FIXED, RequestKind.TOTAL})
    ignores_time: ClassVar[bool] = True
    ignores_estimates: ClassVar[bool] = True

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement of all components, or None if one of them fits on no cluster."""
        sizes: tuple[int, ...] = request.components
        room = state.room
        if room is not None:
            found = room.worst_fit(sizes, request.descending, state.taken, False)
            if found is None:
                return None
            placement = placed(sizes, found)
            return placement if request.file is None else reading_nearest(request, placement, state.surroundings)
        idle = list(state.idle)
        clusters = [0] * len(sizes)
        for index in request.descending:
            cluster = roomiest(idle)
            if idle[cluster] < sizes[index]:
                return None
            idle[cluster] -= sizes[index]
            clusters[index] = cluster
        placement = placed(sizes, clusters)
        return placement if request.file is None else reading_nearest(request, placement, state.surroundings)
