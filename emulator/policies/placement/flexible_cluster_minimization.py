"""Flexible cluster minimization: the scheduler splits the job so that it combines as few clusters as it can.

"Communication-Aware Job Placement Policies", section 4 (FCM, flexible requests). Without limits to splitting this is
the published algorithm: clusters by decreasing idle processors are filled until the rest fits one. A least component
size leaves that much for each cluster still to come; a list of admissible splits is tried in the order of preference,
components on distinct clusters.
"""

from __future__ import annotations

from typing import ClassVar

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.ranking import by_idle
from emulator.policies.placement.worst_fit_distinct import WorstFitDistinct
from emulator.policies.state import SystemState


class FlexibleClusterMinimization:
    """The fewest clusters, roomiest first, that together hold the job within its limits to splitting."""

    accepts: ClassVar[frozenset[RequestKind]] = frozenset({RequestKind.FLEXIBLE})

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """A placement of the whole total, or None; complete: None only where the limits admit no placement."""
        if request.splits:
            return _place_by_preference(request, state)
        order = [cluster for cluster in by_idle(state.idle) if state.idle[cluster] >= request.least_component]
        fewest = _fewest_clusters(request, order, state)
        if fewest is None:
            return None
        return Placement(tuple(_fill(request, order[:fewest], state)))


def _fewest_clusters(request: JobRequest, order: list[int], state: SystemState) -> int | None:
    """How many of the clusters in `order` hold the job; None if all of them do not, or their least parts exceed it."""
    total = request.processors
    most = request.most_components or len(order)
    room = 0
    for number, cluster in enumerate(order[:most], start=1):
        room += state.idle[cluster]
        if room >= total:
            return number if number * request.least_component <= total else None
    return None


def _fill(request: JobRequest, clusters: list[int], state: SystemState) -> list[Component]:
    components: list[Component] = []
    rest = request.processors
    for position, cluster in enumerate(clusters, start=1):
        kept = request.least_component * (len(clusters) - position)
        size = min(state.idle[cluster], rest - kept)
        components.append(Component(cluster, size))
        rest -= size
    return components


def _place_by_preference(request: JobRequest, state: SystemState) -> Placement | None:
    distinct = WorstFitDistinct()
    for split in request.splits:
        placement = distinct.place(JobRequest(RequestKind.UNORDERED, split), state)
        if placement is not None:
            return placement
    return None
