"""A quota: grid jobs leave a share of each cluster to others.

"Communication-Aware Job Placement Policies", section 4: a cap on the fraction of each cluster that grid jobs may fill.
Any policy can be given one; it then sees min(idle, floor(quota x size) - occupied) as a cluster's idle processors.
"""

from __future__ import annotations

import math

from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement
from emulator.model.request import JobRequest
from emulator.policies.protocols import PlacementPolicy
from emulator.policies.state import SystemState


class Quota:
    """A policy whose grid jobs fill at most the fraction `share` of each cluster.

    Raises:
        InvalidInput: if `share` does not lie in 0 (excluded) to 1.
    """

    def __init__(self, policy: PlacementPolicy, share: float) -> None:
        if not 0 < share <= 1:
            raise InvalidInput(f"quota: a share of each cluster lies above 0 and up to 1, not {share!r}.")
        self._policy = policy
        self._share = share
        self.accepts = policy.accepts

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Where the policy places the request within the quota, or None."""
        return self._policy.place(request, state.with_idle(self._within(state)))

    def _within(self, state: SystemState) -> tuple[int, ...]:
        idle: list[int] = []
        for cluster in state.clusters:
            occupied = cluster.processors - cluster.idle
            idle.append(max(0, min(cluster.idle, math.floor(self._share * cluster.processors) - occupied)))
        return tuple(idle)
