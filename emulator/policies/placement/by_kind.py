"""A policy for every kind of request: each is placed by the rule that the papers give it.

Jobs outside of any run come from users who know nothing of each other, so no single kind can be asked of them.
Unordered requests go by worst fit over distinct clusters, non-fixed and total ones by worst fit, flexible ones by
cluster minimization, and fixed ones where they say.
"""

from __future__ import annotations

from typing import ClassVar

from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.fixed import place_fixed
from emulator.policies.placement.flexible_cluster_minimization import FlexibleClusterMinimization
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.placement.worst_fit_distinct import WorstFitDistinct
from emulator.policies.state import SystemState


class ByKind:
    """The policy that a request's kind calls for."""

    accepts: ClassVar[frozenset[RequestKind]] = frozenset(RequestKind)

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """A placement as the request's kind calls for, or None."""
        kind = request.kind
        if kind is RequestKind.FIXED:
            return place_fixed(request, state)
        if kind is RequestKind.UNORDERED:
            return WorstFitDistinct().place(request, state)
        if kind is RequestKind.FLEXIBLE:
            return FlexibleClusterMinimization().place(request, state)
        return WorstFit().place(request, state)
