"""Flexible cluster minimization: the scheduler splits the job over as few clusters as possible.

"Communication-Aware Job Placement Policies", section 4 (FCM, flexible requests). Without limits on splitting this is
the published algorithm: clusters are filled by decreasing idle processors until the rest of the job fits on one. If the
request has a minimum component size, that many processors are kept back for each remaining cluster. If the request
lists admissible splits, they are tried in the order of preference, with components on distinct clusters.
"""

from __future__ import annotations

from typing import ClassVar

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.ranking import by_idle
from emulator.policies.placement.worst_fit_distinct import WorstFitDistinct
from emulator.policies.state import SystemState


class FlexibleClusterMinimization:
    """The policy that uses the fewest clusters, by decreasing idle processors, within the job's limits on splitting."""

    accepts: ClassVar[frozenset[RequestKind]] = frozenset({RequestKind.FLEXIBLE})
    ignores_time: ClassVar[bool] = True
    ignores_estimates: ClassVar[bool] = True

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement of all processors, or None only if no placement within the limits exists."""
        if request.splits:
            return _place_by_preference(request, state)
        order = [cluster for cluster in by_idle(state.idle) if state.idle[cluster] >= request.least_component]
        fewest = _fewest_clusters(request, order, state)
        if fewest is None:
            return None
        return Placement(tuple(_fill(request, order[:fewest], state)))


def _fewest_clusters(request: JobRequest, order: list[int], state: SystemState) -> int | None:
    """Return how many of the clusters in `order` are needed to hold the job.

    None means that the allowed clusters are too small together, or that the minimum component sizes exceed the job.
    """
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
