"""Cluster minimization: components fill the cluster with most idle processors first, so a job uses few clusters.

"Communication-Aware Job Placement Policies", section 4 (CM, non-fixed requests). The published pseudocode places
components before it knows whether the job fits, and continues after a component is placed. Here a job that does not fit
takes no processors, and each component is placed once.
"""

from __future__ import annotations

from typing import ClassVar

from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.files import reading_nearest
from emulator.policies.placement.ranking import by_idle, placed
from emulator.policies.state import SystemState


class ClusterMinimization:
    """The policy that places components in decreasing size, each on the first cluster with room.

    The clusters are ordered once per job, by decreasing idle processors.
    """

    accepts: ClassVar[frozenset[RequestKind]] = frozenset({RequestKind.NON_FIXED, RequestKind.TOTAL})
    ignores_time: ClassVar[bool] = True
    ignores_estimates: ClassVar[bool] = True

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement of all components, or None if one of them fits on no cluster."""
        sizes: tuple[int, ...] = request.components
        idle = list(state.idle)
        order = by_idle(idle)
        clusters = [0] * len(sizes)
        for index in request.descending:
            cluster = _first_with_room(order, idle, sizes[index])
            if cluster is None:
                return None
            idle[cluster] -= sizes[index]
            clusters[index] = cluster
        placement = placed(sizes, clusters)
        return placement if request.file is None else reading_nearest(request, placement, state.surroundings)


def _first_with_room(order: list[int], idle: list[int], size: int) -> int | None:
    for cluster in order:
        if idle[cluster] >= size:
            return cluster
    return None
