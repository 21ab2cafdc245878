"""A policy for every kind of request, which places each kind by the rule of the papers.

Jobs outside a run come from independent users, who may submit any kind of request. Unordered requests are placed by
worst fit over distinct clusters, non-fixed and total requests by worst fit, flexible requests by cluster minimization,
and fixed requests on the clusters that they name.
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
    """The policy that chooses the placement rule by the kind of the request."""

    accepts: ClassVar[frozenset[RequestKind]] = frozenset(RequestKind)
    ignores_time: ClassVar[bool] = True
    ignores_estimates: ClassVar[bool] = True

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement by the rule for the request's kind, or None."""
        kind = request.kind
        if kind is RequestKind.FIXED:
            return place_fixed(request, state)
        if kind is RequestKind.UNORDERED:
            return WorstFitDistinct().place(request, state)
        if kind is RequestKind.FLEXIBLE:
            return FlexibleClusterMinimization().place(request, state)
        return WorstFit().place(request, state)
