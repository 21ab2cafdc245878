"""Limits of a system on job requests: sizes and numbers of components, and the coallocation rules.

Source: "Scheduling Policies for Processor Coallocation in Multicluster Systems", section 4 (size limits) and section 5
(no, co, rco, fco). Flexible requests state their own limits in the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from emulator.model.counts import number_of
from emulator.model.documents import Count, DocumentModel
from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest, RequestKind
from emulator.model.topology import Topology

FCO_MOST_COMPONENTS = 2
"""The largest number of components that the rule *fco* admits."""


class Coallocation(StrEnum):
    """The coallocation rules.

    *no* admits only single-component jobs, and *co* all jobs. *rco* admits jobs whose components fill at most half a
    cluster each, and *fco* only those of them with at most two components.
    """

    NO = "no"
    CO = "co"
    RCO = "rco"
    FCO = "fco"


@dataclass(frozen=True, slots=True)
class SystemRules:
    """The limits of a system; None means no limit.

    A component may exceed `component_limit` only in a job of `most_components` components, which cannot be split
    further. The `coallocation` rule assumes clusters of `cluster_processors` each.

    Raises:
        InvalidInput: if a limit is not positive, or a coallocation rule has no `cluster_processors`.
    """

    component_limit: int | None = None
    total_limit: int | None = None
    most_components: int | None = None
    coallocation: Coallocation | None = None
    cluster_processors: int | None = None

    def __post_init__(self) -> None:
        for name in ("component_limit", "total_limit", "most_components", "cluster_processors"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise InvalidInput(f"{name}: a limit is at least 1, not {limit}.")
        if self.coallocation in (Coallocation.RCO, Coallocation.FCO) and self.cluster_processors is None:
            raise InvalidInput(f"cluster_processors: the rule {self.coallocation} needs the size of the clusters.")

    def violation(self, components: Sequence[int]) -> str | None:
        """Describe, as half a sentence, the rule that forbids a job with these component sizes; None if none does."""
        total, number, largest = sum(components), len(components), max(components)
        if self.total_limit is not None and total > self.total_limit:
            return f"{total} processors exceed the limit of {self.total_limit} for a job"
        if self.most_components is not None and number > self.most_components:
            return f"{number} components exceed the limit of {self.most_components}"
        splittable = self.most_components is None or number < self.most_components
        if self.component_limit is not None and largest > self.component_limit and splittable:
            return f"a component of {largest} processors exceeds the limit of {self.component_limit}"
        return self._coallocation_violation(number, largest)

    def admits(self, components: Sequence[int]) -> bool:
        """Return whether a job with these component sizes may be submitted."""
        return self.violation(components) is None

    def check(self, components: Sequence[int]) -> None:
        """Check that a job with these component sizes may be submitted.

        Raises:
            InvalidInput: if a rule forbids it; the message names the rule and the value.
        """
        violation = self.violation(components)
        if violation is not None:
            raise InvalidInput(f"components: the system's rules forbid {list(components)}: {violation}.")

    def request_violation(self, request: JobRequest) -> str | None:
        """Describe, as half a sentence, the rule that forbids `request`; None if none does.

        A flexible request is forbidden if any split that it admits is, because the scheduler may choose any of them.
        """
        if request.kind is not RequestKind.FLEXIBLE:
            return self.violation(request.components)
        if request.splits:
            return next((found for split in request.splits if (found := self.violation(split)) is not None), None)
        return self._flexible_violation(request)

    def check_request(self, request: JobRequest) -> None:
        """Check that `request` may be submitted.

        Raises:
            InvalidInput: if a rule forbids it; the message names the rule and the value.
        """
        violation = self.request_violation(request)
        if violation is not None:
            raise InvalidInput(f"components: the system's rules forbid {list(request.components)}: {violation}.")

    def _flexible_violation(self, request: JobRequest) -> str | None:
        total, most = request.processors, request.most_components
        if self.total_limit is not None and total > self.total_limit:
            return f"{total} processors exceed the limit of {self.total_limit} for a job"
        if most == 1 and self.violation((total,)) is None:
            return None
        if self.component_limit is not None or self.coallocation in (Coallocation.RCO, Coallocation.FCO):
            return "a component is limited, so list the splits that a flexible job admits (splits)"
        limit = 1 if self.coallocation is Coallocation.NO else self.most_components
        if limit is not None and (most is None or most > limit):
            return f"a flexible job must state that it has at most {limit} components (most_components)"
        return None

    def _coallocation_violation(self, number: int, largest: int) -> str | None:
        rule = self.coallocation
        if rule is Coallocation.NO and number > 1:
            return f"the rule {rule} admits single-component jobs only"
        if rule in (Coallocation.RCO, Coallocation.FCO) and self.cluster_processors is not None:
            half = self.cluster_processors // 2
            if largest > half:
                return f"the rule {rule} admits components of at most {number_of(half, 'processor')}, half a cluster"
        if rule is Coallocation.FCO and number > FCO_MOST_COMPONENTS:
            return f"the rule {rule} admits at most {FCO_MOST_COMPONENTS} components"
        return None


class StatedRules(DocumentModel):
    """Rules as a document states them; `cluster_processors` is by default that of the topology's smallest cluster."""

    component_limit: Count | None = None
    total_limit: Count | None = None
    most_components: Count | None = None
    coallocation: Annotated[Coallocation | None, Field(description="no, co, rco or fco")] = None
    cluster_processors: Count | None = None

    def on(self, topology: Topology) -> SystemRules:
        """Return these rules for the clusters of `topology`."""
        smallest = min(cluster.processors for cluster in topology.clusters)
        return SystemRules(
            self.component_limit,
            self.total_limit,
            self.most_components,
            self.coallocation,
            self.cluster_processors or smallest,
        )
