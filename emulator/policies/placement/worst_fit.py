"""Worst fit with repetition: each component goes where most processors are idle, so that load spreads evenly.

"Communication-Aware Job Placement Policies", section 4 (non-fixed requests), and the Close-to-Files paper's WF.
"""

from __future__ import annotations

from emulator.model.job import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.state import SystemState


class WorstFit:
    """Components in decreasing size, each to the cluster with most remaining idle processors; clusters may repeat."""

    accepts = frozenset({RequestKind.NON_FIXED})

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """A placement of all components, or None if one of them finds no cluster with room."""
        idle = list(state.idle)
        placed: list[Component | None] = [None] * len(request.components)
        by_size = sorted(range(len(request.components)), key=lambda index: -request.components[index])
        for index in by_size:
            size = request.components[index]
            roomiest = max(range(len(idle)), key=lambda cluster: idle[cluster])
            if idle[roomiest] < size:
                return None
            idle[roomiest] -= size
            placed[index] = Component(roomiest, size)
        return Placement(tuple(component for component in placed if component is not None))
