"""Cluster minimization: components fill the roomiest cluster before the next, so that a job combines few clusters.

"Communication-Aware Job Placement Policies", section 4 (CM, non-fixed requests). The published pseudocode places
components before it knows whether the job fits and goes on after a fit; here a job that does not fit takes nothing.
"""

from __future__ import annotations

from typing import ClassVar

from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.files import reading_nearest
from emulator.policies.placement.ranking import by_idle, placed
from emulator.policies.state import SystemState


class ClusterMinimization:
    """Components in decreasing size, each to the first cluster with room, in an order of clusters that stays."""

    accepts: ClassVar[frozenset[RequestKind]] = frozenset({RequestKind.NON_FIXED, RequestKind.TOTAL})

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """A placement of all components, or None if one of them finds no cluster with room."""
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
