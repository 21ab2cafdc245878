"""What a job asks for: how many processors, in how many components, and how much of the choice is the scheduler's.

The kinds are those of the papers: *ordered/fixed* (sizes and clusters given), *non-fixed* (sizes given; clusters may
repeat), *unordered* (sizes given; distinct clusters), *flexible* (a total to be split) and *total* (one number, one
cluster).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from emulator.model.errors import InvalidInput


class RequestKind(StrEnum):
    """How much of a placement is left to the scheduler."""

    FIXED = "fixed"
    NON_FIXED = "non-fixed"
    UNORDERED = "unordered"
    FLEXIBLE = "flexible"
    TOTAL = "total"


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Processors that a job asks for.

    `components` holds the component sizes (one number, the total, for flexible and total requests); `clusters` holds
    the cluster index of each component of a fixed request and is empty otherwise.

    Raises:
        InvalidInput: if a size is not positive, or clusters and components contradict each other.
    """

    kind: RequestKind
    components: tuple[int, ...]
    clusters: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.components or any(size < 1 for size in self.components):
            raise InvalidInput(f"components: each size must be at least 1 processor, not {list(self.components)}.")
        if self.kind is RequestKind.FIXED and len(self.clusters) != len(self.components):
            raise InvalidInput(
                f"clusters: a fixed request names one cluster per component, "
                f"but has {len(self.components)} components and {len(self.clusters)} clusters."
            )
        if self.kind is not RequestKind.FIXED and self.clusters:
            raise InvalidInput(f"clusters: a {self.kind} request leaves the clusters to the scheduler.")
        if self.kind in (RequestKind.FLEXIBLE, RequestKind.TOTAL) and len(self.components) != 1:
            raise InvalidInput(f"components: a {self.kind} request is one total, not {list(self.components)}.")

    @property
    def processors(self) -> int:
        """Processors of the whole job."""
        return sum(self.components)
