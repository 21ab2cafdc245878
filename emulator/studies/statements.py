"""Statements of claims: values, or ratios of simulated quantities, with the ranges that the papers' words mean.

*Best* is less than every other; *much* and *far* are by a fifth in response times and by a twentieth in maximal
utilization; *little*, *good* and *about* are within the margins below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from emulator.fidelity.intervals import Estimate


class Quantity(StrEnum):
    """A quantity to compare; `LOCAL` are jobs with one component, `GLOBAL` those with several."""

    RESPONSE = "response_s"
    LOCAL_RESPONSE = "local_response_s"
    GLOBAL_RESPONSE = "global_response_s"
    MAXIMAL_GROSS = "maximal_gross"
    MAXIMAL_NET = "maximal_net"
    GROSS_OVER_NET = "gross_over_net"
    EXECUTION = "execution_s"
    WAIT = "wait_s"
    TURNAROUND = "turnaround_s"
    MAKESPAN = "makespan_s"
    LATENCY = "latency_s"
    ESTIMATOR_ERROR = "estimator_error"


MUCH: Final = 1 / 1.2
MUCH_UTILIZATION: Final = 1 / 1.05
ABOUT_RESPONSE: Final = 0.10
ABOUT_UTILIZATION: Final = 0.05

LS_VARIANTS: Final = ("ls-or", "ls-rd", "ls-ro", "ls-do")
LP_VARIANTS: Final = ("lp-lf", "lp-rd", "lp-gf")
POLICIES: Final = ("gs", "ls-do", "lp-gf", "gp")
MIXED_COMPOSITIONS: Final = ("25-25-25-25", "50-0-0-50", "50-25-25-0", "50-50-0-0", "80-0-0-20", "90-0-0-10")
MULTICOMPONENT_COMPOSITIONS: Final = ("0-0-0-100", "0-50-50-0")
BALANCED_LS_CHARTS: Final = (*MIXED_COMPOSITIONS, *MULTICOMPONENT_COMPOSITIONS)
MOSTLY_SINGLE: Final = ("80-0-0-20", "90-0-0-10")
UNBALANCED_CHART: Final = "80-0-0-20-unbalanced"
LIMITS: Final = (16, 24, 32)
DAS_POLICIES: Final = ("gs", "ls-do", "lp-gf")
APPLICATIONS: Final = ("poisson", "half-and-half", "ensflow")
RULES: Final = ("no", "co", "rco", "fco")

RESPONSE, LOCAL, GLOBAL = Quantity.RESPONSE, Quantity.LOCAL_RESPONSE, Quantity.GLOBAL_RESPONSE
GROSS, NET, GAP = Quantity.MAXIMAL_GROSS, Quantity.MAXIMAL_NET, Quantity.GROSS_OVER_NET
NAMES: Final = {
    RESPONSE: "response",
    LOCAL: "local response",
    GLOBAL: "global response",
    GROSS: "maximal gross utilization",
    NET: "maximal net utilization",
    GAP: "gross over net utilization",
    Quantity.EXECUTION: "execution",
    Quantity.WAIT: "wait",
    Quantity.TURNAROUND: "turnaround",
    Quantity.MAKESPAN: "makespan",
    Quantity.LATENCY: "latency",
    Quantity.ESTIMATOR_ERROR: "estimator's error",
}


WorkloadQueue = tuple[str, str]
"""A workload and a queue discipline."""


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """A quantity of a workload under a queue discipline."""

    workload: str
    queue: str
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class Ratio:
    """The product of `above` over the product of `below` and `constant`; a ratio of ratios has two of each."""

    above: tuple[ComparedCase, ...]
    below: tuple[ComparedCase, ...] = ()
    constant: float = 1.0


@dataclass(frozen=True, slots=True)
class Range:
    """The range that a claim states for a positive value: between `low` and `high`, both excluded."""

    low: float = 0.0
    high: float = math.inf

    @classmethod
    def within_share(cls, margin: float) -> Self:
        """Return the range of ratios that differ from 1 by at most the share `margin`, either way."""
        return cls(1 / (1 + margin), 1 + margin)


@dataclass(frozen=True, slots=True)
class RatioPart:
    """The part of a claim that a ratio of simulated quantities lies in a range.

    The true ratio is the simulated one over a factor from `least_excess` to `most_excess`.
    """

    says: str
    ratio: Ratio
    range: Range
    least_excess: float = 1.0
    most_excess: float = 1.0

    @property
    def cases(self) -> tuple[ComparedCase, ...]:
        """What must be simulated to decide this part."""
        return (*self.ratio.above, *self.ratio.below)


@dataclass(frozen=True, slots=True)
class ValuePart:
    """The part of a claim that a value, measured or worked out, lies in a range; `void` if a run behind it is."""

    says: str
    value: Estimate
    range: Range
    void: bool = False


@dataclass(frozen=True, slots=True)
class OpenPart:
    """The part of a claim that nothing can decide, because what it is about is `missing`."""

    says: str
    missing: str


Part = RatioPart | ValuePart | OpenPart


@dataclass(frozen=True, slots=True)
class Claim:
    """A published claim: its number, the figure or section it is read from, what it says, and that in numbers."""

    id: str
    source: str
    statement: str
    parts: tuple[Part, ...]


def less(quantity: Quantity, left: WorkloadQueue, right: WorkloadQueue, bound: float = 1.0) -> RatioPart:
    """State that `left` has less of `quantity` than `bound` times what `right` has."""
    limit = "" if bound == 1.0 else f" × {bound:.3g}"
    says = f"{NAMES[quantity]}: {_named(left, right)} < {_named(right, left)}{limit} ({_shared(left, right)})"
    return RatioPart(says, _ratio(quantity, left, right), Range(high=bound))


def about(quantity: Quantity, left: WorkloadQueue, right: WorkloadQueue, margin: float) -> RatioPart:
    """State that `left` and `right` have as much of `quantity`, within the share `margin`."""
    sides = f"{_named(left, right)} ≈ {_named(right, left)}"
    says = f"{NAMES[quantity]}: {sides} within {margin:.0%} ({_shared(left, right)})"
    return RatioPart(says, _ratio(quantity, left, right), Range.within_share(margin))


def less_relative(
    quantity: Quantity, left: tuple[WorkloadQueue, WorkloadQueue], right: tuple[WorkloadQueue, WorkloadQueue]
) -> RatioPart:
    """State that the first of `left` over its second is less than the same ratio of `right`."""
    sides = [f"{' in '.join(reversed(over))} / {' in '.join(reversed(under))}" for over, under in (left, right)]
    above = (ComparedCase(*left[0], quantity), ComparedCase(*right[1], quantity))
    below = (ComparedCase(*left[1], quantity), ComparedCase(*right[0], quantity))
    return RatioPart(f"{NAMES[quantity]}: {sides[0]} < {sides[1]}", Ratio(above, below), Range(high=1.0))


def exactly(says: str, computed: float, published: float, tolerance: float) -> ValuePart:
    """State that a value worked out without simulation equals a published one within `tolerance`."""
    return ValuePart(says, Estimate(computed, None, None, 1), Range(published - tolerance, published + tolerance))


def _ratio(quantity: Quantity, left: WorkloadQueue, right: WorkloadQueue) -> Ratio:
    return Ratio((ComparedCase(*left, quantity),), (ComparedCase(*right, quantity),))


def _named(side: WorkloadQueue, other: WorkloadQueue) -> str:
    return side[1] if side[1] != other[1] else side[0]


def _shared(left: WorkloadQueue, right: WorkloadQueue) -> str:
    if left[1] == right[1]:
        return left[1]
    return left[0] if left[0] == right[0] else f"{left[0]}, {right[0]}"


def best(quantity: Quantity, workload: str, best: str, others: tuple[str, ...]) -> Iterator[RatioPart]:
    """State that the discipline `best` has less of `quantity` than each of `others`."""
    for other in others:
        if other != best:
            yield less(quantity, (workload, best), (workload, other))
