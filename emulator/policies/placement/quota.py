"""A quota: the largest fraction of each cluster that grid jobs may occupy.

"Communication-Aware Job Placement Policies", section 4. A quota works with any policy: the policy sees
min(idle, floor(quota x size) - occupied) as the idle processors of a cluster.
"""

from __future__ import annotations

import math

from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement
from emulator.model.request import JobRequest
from emulator.policies.protocols import PlacementPolicy
from emulator.policies.state import SystemState
from emulator.policies.traits import PlacementTraits, traits_of_placement


def allowed_processors(share: float, processors: int) -> int:
    """Return how many of a cluster's `processors` grid jobs may occupy, if they may occupy that `share` of it."""
    # Round first, because 0.29 x 100 is slightly less than 29 in floating point.
    return math.floor(round(share * processors, 9))


class Quota:
    """A policy whose grid jobs occupy at most the fraction `share` of each cluster.

    Raises:
        InvalidInput: if `share` is not above 0 and at most 1.
    """

    def __init__(self, policy: PlacementPolicy, share: float) -> None:
        if not 0 < share <= 1:
            raise InvalidInput(f"quota: a share of each cluster lies above 0 and is at most 1, not {share!r}.")
        self.policy = policy
        self.share = share
        self.accepts = policy.accepts
        self.traits: PlacementTraits = traits_of_placement(policy)

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return the policy's placement within the quota, or None."""
        return self.policy.place(request, state.with_idle(self._within(state)))

    def _within(self, state: SystemState) -> tuple[int, ...]:
        idle: list[int] = []
        for processors, free in zip(state.processors, state.idle, strict=True):
            occupied = processors - free
            idle.append(max(0, min(free, allowed_processors(self.share, processors) - occupied)))
        return tuple(idle)
