"""Fixed (ordered) requests: the user chose the clusters, the scheduler only looks whether there is room.

Measurements use them. `AcceptingFixed` lets any policy's system take them as well.
"""

from __future__ import annotations

from emulator.model.job import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.protocols import PlacementPolicy
from emulator.policies.state import SystemState


def place_fixed(request: JobRequest, state: SystemState) -> Placement | None:
    """The placement that a fixed request names, or None while one of its clusters lacks room."""
    placement = Placement(
        tuple(Component(cluster, size) for cluster, size in zip(request.clusters, request.components, strict=True))
    )
    fits = all(state.clusters[cluster].idle >= taken for cluster, taken in placement.by_cluster().items())
    return placement if fits else None


class AcceptingFixed:
    """A policy that places fixed requests where they say, and leaves all others to `policy`."""

    def __init__(self, policy: PlacementPolicy) -> None:
        self._policy = policy
        self.accepts = policy.accepts | {RequestKind.FIXED}

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """A placement as the request's kind calls for, or None."""
        if request.kind is RequestKind.FIXED:
            return place_fixed(request, state)
        return self._policy.place(request, state)
