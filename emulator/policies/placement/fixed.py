"""Fixed (ordered) requests: the user chooses the clusters, and the scheduler only checks whether the job fits.

Measurements use fixed requests, and so do queues whose jobs may run only on their home cluster. `AcceptingFixed` adds
them to the kinds that any other policy accepts.
"""

from __future__ import annotations

from functools import lru_cache

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.files import reading_nearest
from emulator.policies.protocols import PlacementPolicy
from emulator.policies.state import SystemState
from emulator.policies.traits import PlacementTraits, traits_of_placement


def place_fixed(request: JobRequest, state: SystemState) -> Placement | None:
    """Return the placement that a fixed request names, or None if one of its clusters lacks room."""
    clusters = request.clusters
    if len(clusters) == 1:
        cluster, size = clusters[0], request.components[0]
        if cluster >= len(state.processors) or state.idle_at(cluster) < size:
            return None
        return Placement((Component(cluster, size),))
    idle = list(state.idle)
    components: list[Component] = []
    for cluster, size in zip(request.clusters, request.components, strict=True):
        if cluster >= len(idle) or idle[cluster] < size:
            return None
        idle[cluster] -= size
        components.append(Component(cluster, size))
    return Placement(tuple(components))


@lru_cache(maxsize=4096)
def fixed_request(size: int, cluster: int, file: str | None = None) -> JobRequest:
    """Return the request for one component of `size` processors on `cluster`, which reads `file` if one is named."""
    return JobRequest(RequestKind.FIXED, (size,), (cluster,), file=file)


def place_where_named(request: JobRequest, state: SystemState, policy: PlacementPolicy) -> Placement | None:
    """Return the placement that a fixed request names, or None if it does not fit.

    If `policy` itself accepts fixed requests, as a quota does, it is asked for the placement.
    """
    if RequestKind.FIXED in policy.accepts:
        return policy.place(request, state)
    return place_fixed(request, state)


class AcceptingFixed:
    """A policy that places fixed requests on the clusters that they name, and passes all others to `policy`."""

    def __init__(self, policy: PlacementPolicy) -> None:
        self._policy = policy
        self.accepts = policy.accepts | {RequestKind.FIXED}
        self.traits: PlacementTraits = traits_of_placement(policy)

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement by the request's kind, with the replica that each component reads, or None."""
        placement = place_fixed(request, state) if request.clusters else self._policy.place(request, state)
        if placement is None or request.file is None or placement.file_sites:
            return placement
        return reading_nearest(request, placement, state.surroundings)
