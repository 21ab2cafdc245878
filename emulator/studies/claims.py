"""Decisions on claims, both those on simulations and those on measurements.

A part of a claim is *shown* if the whole 95% interval of its value lies in the range that the claim states, *not shown*
if the whole interval lies outside, and *undecided* otherwise. A value without an interval counts as certain. Where a
simulated value is known to exceed the true one, the interval is made wider by what is not known of the excess.

Simulations with the same seed see the same jobs. So a ratio of simulated quantities is formed within each replication,
and its interval is that of the mean logarithm over replications.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from emulator.fidelity.intervals import Estimate, mean
from emulator.model.errors import RunFailed
from emulator.studies.statements import Claim, ComparedCase, OpenPart, Part, Range, Ratio, RatioPart, ValuePart

ROUNDING: Final = 1e-12
"""Values are equal if they differ by less than this share: rounding must not make identical policies different."""


class ClaimOutcome(StrEnum):
    """The outcome of a claim, or of a part of one: whether the results show it."""

    SHOWN = "shown"
    NOT_SHOWN = "not shown"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of one part of a claim; `low` and `high` are None where its value has no interval.

    `value` is None where there is nothing to decide it by.
    """

    says: str
    value: float | None
    low: float | None
    high: float | None
    verdict: ClaimOutcome


@dataclass(frozen=True, slots=True)
class DecidedClaim:
    """A claim with the decisions on its parts; `at` names the load at which simulations decided it, if they did."""

    claim: Claim
    decisions: tuple[Decision, ...]
    at: str = ""

    @property
    def verdict(self) -> ClaimOutcome:
        """The outcome of the whole claim: all parts must show; one that does not is enough against it."""
        outcomes = [decision.verdict for decision in self.decisions]
        if all(outcome is ClaimOutcome.SHOWN for outcome in outcomes):
            return ClaimOutcome.SHOWN
        return ClaimOutcome.NOT_SHOWN if ClaimOutcome.NOT_SHOWN in outcomes else ClaimOutcome.UNDECIDED

    @property
    def shown_parts(self) -> str:
        """How many of the parts show, as text: ``3 of 4``."""
        shown = sum(decision.verdict is ClaimOutcome.SHOWN for decision in self.decisions)
        return f"{shown} of {len(self.decisions)}"


Values = Callable[[ComparedCase], Sequence[float]]
"""Returns the simulated values of a case, one per replication, in the same order of seeds for every case."""


def no_values(case: ComparedCase) -> Sequence[float]:
    """Return no values: enough for claims that are not about simulations."""
    return ()


def decide(claim: Claim, values: Values = no_values, at: str = "") -> DecidedClaim:
    """Decide every part of `claim`, with simulated `values` where a part compares them.

    Raises:
        RunFailed: if a part compares cases with fewer than two replications, or with different numbers of them.
    """
    return DecidedClaim(claim, tuple(decide_part(part, values) for part in claim.parts), at)


def decide_part(part: Part, values: Values = no_values) -> Decision:
    """Decide one part of a claim, as `decide`; a part that is open, or whose value is void, stays undecided."""
    if isinstance(part, OpenPart):
        return Decision(f"{part.says}: {part.missing}", None, None, None, ClaimOutcome.UNDECIDED)
    if isinstance(part, ValuePart):
        estimate = part.value
        outcome = ClaimOutcome.UNDECIDED if part.void else _outcome(part.range, estimate)
    else:
        estimate = paired_ratio(part.ratio, values)
        outcome = _outcome(part.range, _without_excess(part, estimate))
    return Decision(part.says, estimate.value, estimate.low, estimate.high, outcome)


def _without_excess(part: RatioPart, estimate: Estimate) -> Estimate:
    """Return the estimate of the true ratio: its interval is that of every excess that the simulated one may have."""
    low = None if estimate.low is None else estimate.low / part.most_excess
    high = None if estimate.high is None else estimate.high / part.least_excess
    return replace(estimate, low=low, high=high)


def _outcome(stated: Range, estimate: Estimate) -> ClaimOutcome:
    least = estimate.value if estimate.low is None else estimate.low
    most = estimate.value if estimate.high is None else estimate.high
    low, high = stated.low * (1 + ROUNDING), stated.high * (1 - ROUNDING)
    if low < least and most < high:
        return ClaimOutcome.SHOWN
    return ClaimOutcome.NOT_SHOWN if most <= low or least >= high else ClaimOutcome.UNDECIDED


def paired_ratio(ratio: Ratio, values: Values) -> Estimate:
    """Return the geometric mean of `ratio` over replications, with its interval.

    Raises:
        RunFailed: if there are fewer than two replications, or different numbers of them.
    """
    signed = [(1, values(case)) for case in ratio.above] + [(-1, values(case)) for case in ratio.below]
    lengths = {len(replications) for _, replications in signed}
    if len(lengths) != 1 or min(lengths) < 2:
        raise RunFailed("A comparison needs at least two replications, the same for all that it compares.")
    logarithms = [
        math.fsum(sign * math.log(replications[index]) for sign, replications in signed) - math.log(ratio.constant)
        for index in range(lengths.pop())
    ]
    around = mean(logarithms)
    if around.low is None or around.high is None:
        raise RunFailed("A comparison has no interval.")
    return Estimate(math.exp(around.value), math.exp(around.low), math.exp(around.high), around.n)
