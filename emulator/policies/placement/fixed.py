"""Fixed (ordered) requests: the user chose the clusters, the scheduler only looks whether there is room.

Measurements use them, and so do queues whose jobs may run on their home cluster only. `AcceptingFixed` lets any
policy's system take them as well.
"""

from __future__ import annotations

from functools import lru_cache

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.files import reading_nearest
from emulator.policies.protocols import PlacementPolicy
from emulator.policies.state import SystemState


def place_fixed(request: JobRequest, state: SystemState) -> Placement | None:
    """The placement that a fixed request names, or None while one of its clusters lacks room."""
    idle = list(state.idle)
    components: list[Component] = []
    for cluster, size in zip(request.clusters, request.components, strict=True):
        if cluster >= len(idle) or idle[cluster] < size:
            return None
        idle[cluster] -= size
        components.append(Component(cluster, size))
    return Placement(tuple(components))


@lru_cache(maxsize=4096)
def fixed_request(size: int, cluster: int) -> JobRequest:
    """The request for one component of `size` processors on `cluster`."""
    return JobRequest(RequestKind.FIXED, (size,), (cluster,))


def place_where_named(request: JobRequest, state: SystemState, policy: PlacementPolicy) -> Placement | None:
    """The placement that a fixed request names, as `policy` has it if it knows of such requests (a quota does)."""
    if RequestKind.FIXED in policy.accepts:
        return policy.place(request, state)
    return place_fixed(request, state)


class AcceptingFixed:
    """A policy that places fixed requests where they say, and leaves all others to `policy`."""

    def __init__(self, policy: PlacementPolicy) -> None:
        self._policy = policy
        self.accepts = policy.accepts | {RequestKind.FIXED}

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """A placement as the request's kind calls for, or None; it says which replica each component reads."""
        placement = place_fixed(request, state) if request.clusters else self._policy.place(request, state)
        if placement is None or request.file is None or placement.file_sites:
            return placement
        return reading_nearest(request, placement, state.surroundings)
