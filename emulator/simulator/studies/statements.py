"""How claims are stated: the words of the papers as ratios with bounds, and the workloads and queues they speak of.

*Best* is less than every other; *much* is by a fifth in response times and by a twentieth in maximal utilization;
*little*, *good* and *about* are within the margins below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from emulator.simulator.studies.comparisons import About, Below, Part, Quantity, Ratio, Subject

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
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A published claim: its number, the figure it is read from, what it says, and what that means in numbers."""

    id: str
    figure: str
    statement: str
    parts: tuple[Part, ...]


Place = tuple[str, str]
"""A workload and a queue discipline."""


def less(quantity: Quantity, left: Place, right: Place, bound: float = 1.0) -> Below:
    """The claim that `left` has less of `quantity` than `bound` times what `right` has."""
    limit = "" if bound == 1.0 else f" × {bound:.3g}"
    says = f"{NAMES[quantity]}: {_named(left, right)} < {_named(right, left)}{limit} ({_shared(left, right)})"
    return Below(says, Ratio((Subject(*left, quantity),), (Subject(*right, quantity),)), bound)


def about(quantity: Quantity, left: Place, right: Place, margin: float) -> About:
    """The claim that `left` and `right` have as much of `quantity`, within the share `margin`."""
    sides = f"{_named(left, right)} ≈ {_named(right, left)}"
    says = f"{NAMES[quantity]}: {sides} within {margin:.0%} ({_shared(left, right)})"
    return About(says, Ratio((Subject(*left, quantity),), (Subject(*right, quantity),)), margin)


def less_relative(quantity: Quantity, left: tuple[Place, Place], right: tuple[Place, Place]) -> Below:
    """The claim that the first of `left` over its second is less than the same ratio of `right`."""
    sides = [f"{' in '.join(reversed(over))} / {' in '.join(reversed(under))}" for over, under in (left, right)]
    above = (Subject(*left[0], quantity), Subject(*right[1], quantity))
    below = (Subject(*left[1], quantity), Subject(*right[0], quantity))
    return Below(f"{NAMES[quantity]}: {sides[0]} < {sides[1]}", Ratio(above, below))


def _named(place: Place, other: Place) -> str:
    return place[1] if place[1] != other[1] else place[0]


def _shared(left: Place, right: Place) -> str:
    if left[1] == right[1]:
        return left[1]
    return left[0] if left[0] == right[0] else f"{left[0]}, {right[0]}"


def best(quantity: Quantity, workload: str, best: str, others: tuple[str, ...]) -> Iterator[Below]:
    """The claims that the discipline `best` has less of `quantity` than each of `others`."""
    for other in others:
        if other != best:
            yield less(quantity, (workload, best), (workload, other))
