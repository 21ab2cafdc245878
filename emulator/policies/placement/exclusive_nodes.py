"""Exclusive nodes: each component of a job takes whole nodes, which no other job uses meanwhile.

They work with any policy. The policy is asked to place what the job holds, in a state in which nodes that are partly
taken are not idle. So its placement says what is held, and whatever counts idle processors by placements is right.
`emulator.model.held_nodes` says how many processes run there.
"""

from __future__ import annotations

from emulator.model.held_nodes import ranks, whole_requests
from emulator.model.placement import Placement
from emulator.model.request import JobRequest
from emulator.policies.protocols import PlacementPolicy
from emulator.policies.state import SystemState
from emulator.policies.traits import PlacementTraits, traits_of_placement


class ExclusiveNodes:
    """A policy that places jobs on whole nodes of `processors_per_node` processors, as `policy` chooses."""

    def __init__(self, policy: PlacementPolicy, processors_per_node: int) -> None:
        self._policy = policy
        self.processors_per_node = processors_per_node
        self.accepts = policy.accepts
        self.traits: PlacementTraits = traits_of_placement(policy)

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return the policy's placement of whole nodes, or None.

        Raises:
            InvalidInput: if its components do not hold what `request` asks for.
        """
        of_node = self.processors_per_node
        idle = tuple([free - free % of_node for free in state.idle])
        whole = state if idle == state.idle else state.with_idle(idle)
        for asked in whole_requests(request, of_node):
            placement = self._policy.place(asked, whole)
            if placement is not None:
                ranks(request, placement, of_node)
                return placement
        return None
