"""Job requests: processors, components, and the choices that are left to the scheduler.

The kinds are those of the papers: *ordered/fixed* (sizes and clusters given), *non-fixed* (sizes given; clusters may
repeat), *unordered* (sizes given; distinct clusters), *flexible* (a total to be split) and *total* (one number, one
cluster). The limits of a system on requests are in ``rules``. The constructor is written out for speed, because logs
hold a request for every job. Treat requests as immutable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import final

from emulator.model.compilation import mypyc_attr
from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput


class RequestKind(StrEnum):
    """The kind of a request: which choices of a placement are left to the scheduler."""

    FIXED = "fixed"
    NON_FIXED = "non-fixed"
    UNORDERED = "unordered"
    FLEXIBLE = "flexible"
    TOTAL = "total"


@mypyc_attr(acyclic=True)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class JobRequest:
    """The processors that a job asks for.

    `components` holds the component sizes (one number, the total, for flexible and total requests). `clusters` holds
    the cluster index of each component of a fixed request, and is empty otherwise. A flexible request may state its
    `least_component` size and the `most_components` it may be split into (None: as many as there are clusters), or
    instead the `splits` it admits, the preferred one first. `file` names the input file that every component needs.
    `estimate_s` is the user's estimate of the execution time, `memory_bytes` the memory of each processor's task,
    and `processor_share` the share of its processor that such a task uses when it has it to itself.
    `descending` holds the indices of the components by decreasing size; equal sizes keep their order.
    `single_component` is true if the job has one component, is never split, and names no cluster.

    Raises:
        InvalidInput: if a value is out of range, or two values contradict each other.
    """

    kind: RequestKind
    components: tuple[int, ...]
    clusters: tuple[int, ...]
    least_component: int
    most_components: int | None
    splits: tuple[tuple[int, ...], ...]
    file: str | None
    estimate_s: float | None
    memory_bytes: int
    processor_share: float
    descending: tuple[int, ...] = field(init=False, repr=False, compare=False)
    single_component: bool = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        kind: RequestKind,
        components: tuple[int, ...],
        clusters: tuple[int, ...] = (),
        least_component: int = 1,
        most_components: int | None = None,
        splits: tuple[tuple[int, ...], ...] = (),
        file: str | None = None,
        estimate_s: float | None = None,
        memory_bytes: int = 0,
        processor_share: float = 1.0,
    ) -> None:
        self.kind = kind
        self.components = components
        self.clusters = clusters
        self.least_component = least_component
        self.most_components = most_components
        self.splits = splits
        self.file = file
        self.estimate_s = estimate_s
        self.memory_bytes = memory_bytes
        self.processor_share = processor_share
        self._check()
        single = len(components) == 1
        self.descending = (0,) if single else _by_decreasing_size(components)
        self.single_component = single and kind is not RequestKind.FIXED and kind is not RequestKind.FLEXIBLE

    def _check(self) -> None:
        if not self.components or min(self.components) < 1:
            raise InvalidInput(f"components: each size must be at least 1 processor, not {list(self.components)}.")
        self._check_clusters()
        self._check_flexibility()
        if self.estimate_s is not None and not (math.isfinite(self.estimate_s) and self.estimate_s >= 0):
            raise InvalidInput(f"estimate_s: an execution time is finite and not negative, not {self.estimate_s!r}.")
        if self.memory_bytes < 0:
            raise InvalidInput(f"memory_bytes: must not be negative, not {self.memory_bytes}.")
        if not 0.0 < self.processor_share <= 1.0:
            raise InvalidInput(f"processor_share: must lie above 0 and at most 1, not {self.processor_share!r}.")

    def _check_clusters(self) -> None:
        if self.kind is RequestKind.FIXED and len(self.clusters) != len(self.components):
            components = number_of(len(self.components), "component")
            clusters = number_of(len(self.clusters), "cluster")
            raise InvalidInput(
                f"clusters: a fixed request names one cluster per component, but has {components} and {clusters}."
            )
        if self.kind is not RequestKind.FIXED and self.clusters:
            raise InvalidInput(f"clusters: a {self.kind} request leaves the clusters to the scheduler.")
        if self.clusters and min(self.clusters) < 0:
            raise InvalidInput(f"clusters: an index counts from 0, so {list(self.clusters)} names none.")
        if len(self.components) != 1 and self.kind in (RequestKind.FLEXIBLE, RequestKind.TOTAL):
            raise InvalidInput(f"components: a {self.kind} request is one total, not {list(self.components)}.")

    def _check_flexibility(self) -> None:
        states_split = self.least_component != 1 or self.most_components is not None
        if not (states_split or self.splits):
            return
        total = self.processors
        if self.kind is not RequestKind.FLEXIBLE:
            stated = "splits" if self.splits else "least_component" if self.least_component != 1 else "most_components"
            raise InvalidInput(f"{stated}: a {self.kind} request states its components, so nothing limits its splits.")
        if states_split and self.splits:
            raise InvalidInput(
                "splits: give either the admissible splits or limits (least_component, most_components), not both."
            )
        if not 1 <= self.least_component <= total:
            raise InvalidInput(f"least_component: must lie in 1 to {total}, the total, not {self.least_component}.")
        if self.most_components is not None and self.most_components < 1:
            raise InvalidInput(f"most_components: must be at least 1, not {self.most_components}.")
        for split in self.splits:
            if not split or min(split) < 1 or sum(split) != total:
                whole = number_of(total, "processor")
                raise InvalidInput(f"splits: {list(split)} does not divide the total of {whole}.")

    @property
    def processors(self) -> int:
        """The processors of the whole job."""
        return sum(self.components)


def _by_decreasing_size(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(sizes)), key=lambda index: -sizes[index]))
