"""What claims are made of, and how they are decided: ratios of simulated quantities, paired by replication.

Simulations with the same seed see the same jobs, so a ratio is formed within each replication and the interval is that
of the mean logarithm over replications, by Student's t. A comparison is *shown* if the whole 95% interval lies where
the claim says, *not shown* if the whole interval lies elsewhere, and *undecided* otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from emulator.model.errors import RunFailed
from emulator.simulator.estimates import interval

ROUNDING: Final = 1e-12
"""Logarithms closer than this are equal: identical policies must not differ by rounding."""


class Quantity(StrEnum):
    """What is compared; `LOCAL` are jobs with one component, `GLOBAL` those with several."""

    RESPONSE = "response_s"
    LOCAL_RESPONSE = "local_response_s"
    GLOBAL_RESPONSE = "global_response_s"
    MAXIMAL_GROSS = "maximal_gross"
    MAXIMAL_NET = "maximal_net"
    GROSS_OVER_NET = "gross_over_net"


class Verdict(StrEnum):
    """Whether something shows in the simulations."""

    SHOWN = "shown"
    NOT_SHOWN = "not shown"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Subject:
    """A quantity of a workload under a queue discipline."""

    workload: str
    queue: str
    quantity: Quantity


Values = Callable[[Subject], Sequence[float]]
"""The values of a subject, one per replication, in the same order of seeds for every subject."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The product of `above` over the product of `below` and `constant`; a ratio of ratios has two of each."""

    above: tuple[Subject, ...]
    below: tuple[Subject, ...] = ()
    constant: float = 1.0


@dataclass(frozen=True, slots=True)
class Decision:
    """How a part of a claim came out; the bounds are None where nothing is random."""

    says: str
    value: float
    low: float | None
    high: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Below:
    """The claim that a ratio is less than `bound`: 1 for "less than", 1/1.2 for "less by a fifth", 1.1 for "at most a
    tenth more"."""

    says: str
    ratio: Ratio
    bound: float = 1.0

    def decide(self, values: Values) -> Decision:
        """Whether the interval lies below the bound."""
        log_bound = math.log(self.bound)
        mean, low, high = _interval(self.ratio, values)
        if high < log_bound - ROUNDING:
            verdict = Verdict.SHOWN
        elif low > log_bound - ROUNDING:
            verdict = Verdict.NOT_SHOWN
        else:
            verdict = Verdict.UNDECIDED
        return Decision(self.says, math.exp(mean), math.exp(low), math.exp(high), verdict)


@dataclass(frozen=True, slots=True)
class About:
    """The claim that a ratio differs from 1 by at most the share `margin`, either way."""

    says: str
    ratio: Ratio
    margin: float

    def decide(self, values: Values) -> Decision:
        """Whether the interval lies inside the margin."""
        log_margin = math.log1p(self.margin)
        mean, low, high = _interval(self.ratio, values)
        if -log_margin < low and high < log_margin:
            verdict = Verdict.SHOWN
        elif low > log_margin or high < -log_margin:
            verdict = Verdict.NOT_SHOWN
        else:
            verdict = Verdict.UNDECIDED
        return Decision(self.says, math.exp(mean), math.exp(low), math.exp(high), verdict)


@dataclass(frozen=True, slots=True)
class Constant:
    """The claim that something computed exactly equals a published value to its last digit."""

    says: str
    computed: float
    published: float
    tolerance: float

    def decide(self, values: Values) -> Decision:
        """Whether they agree; nothing is simulated."""
        agrees = abs(self.computed - self.published) <= self.tolerance
        return Decision(self.says, self.computed, None, None, Verdict.SHOWN if agrees else Verdict.NOT_SHOWN)


Part = Below | About | Constant


def subjects_of(part: Part) -> tuple[Subject, ...]:
    """What has to be simulated to decide `part`."""
    return () if isinstance(part, Constant) else (*part.ratio.above, *part.ratio.below)


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim from those on its parts: all must show; one that does not is enough against it."""
    if all(verdict is Verdict.SHOWN for verdict in verdicts):
        return Verdict.SHOWN
    return Verdict.NOT_SHOWN if Verdict.NOT_SHOWN in verdicts else Verdict.UNDECIDED


def _interval(ratio: Ratio, values: Values) -> tuple[float, float, float]:
    """Mean logarithm of the ratio over replications, and the ends of its interval."""
    signed = [(1, values(subject)) for subject in ratio.above] + [(-1, values(subject)) for subject in ratio.below]
    lengths = {len(replications) for _, replications in signed}
    if len(lengths) != 1 or min(lengths) < 2:
        raise RunFailed("A comparison needs at least two replications, the same for all that it compares.")
    logarithms = [
        math.fsum(sign * math.log(replications[index]) for sign, replications in signed) - math.log(ratio.constant)
        for index in range(lengths.pop())
    ]
    around = interval(logarithms)
    if around.low is None or around.high is None:
        raise RunFailed("A comparison has no interval.")
    return around.mean, around.low, around.high
