"""Means and ratios of means with 95% confidence intervals: all intervals of the project are worked out here.

They are Student's t; where several means meet, Welch's. Ratios and positive means have the interval of their logarithm.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy

CONFIDENCE: Final = 0.95

_NODES, _WEIGHTS = numpy.polynomial.legendre.leggauss(64)
_MOST_STEPS: Final = 100
_PRECISION: Final = 1e-13


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its 95% confidence interval; `low` and `high` are None where there are too few values."""

    value: float
    low: float | None
    high: float | None
    n: int


def mean(values: Sequence[float]) -> Estimate:
    """Return the mean of independent `values`, at least one, with its interval by Student's t.

    The values may be batch means of one simulation, or one value from each replication.
    """
    average = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(average, None, None, len(values))
    quantile = student_quantile(len(values) - 1)
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Estimate(average, average - half, average + half, len(values))


def mean_of_positive(values: Sequence[float]) -> Estimate | None:
    """Return the mean of positive values with a positive interval; None without values or if one is not positive.

    The interval is that of Student's t on the logarithm of the mean, by the delta method.
    """
    if not values or min(values) <= 0:
        return None
    average = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(average, None, None, len(values))
    spread = math.exp(student_quantile(len(values) - 1) * math.sqrt(_log_mean_variance(values)))
    return Estimate(average, average / spread, average * spread, len(values))


def ratio_of_means(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate | None:
    """Return the ratio of two independent means of positive values; None if either is empty or not positive.

    The interval is that of Welch's t on the logarithm of the ratio: the variance of the logarithm of a mean is, by
    the delta method, that of the mean over its square; degrees of freedom are Welch and Satterthwaite's.
    """
    return ratio_of_products([numerators], [denominators])


def ratio_of_products(
    numerators: Sequence[Sequence[float]], denominators: Sequence[Sequence[float]]
) -> Estimate | None:
    """Return the product of the means of `numerators` over that of `denominators`, as `ratio_of_means`."""
    samples = [*numerators, *denominators]
    if not all(samples) or min(map(min, samples)) <= 0:
        return None
    ratio = math.prod(map(statistics.fmean, numerators)) / math.prod(map(statistics.fmean, denominators))
    n = len(numerators[0])
    if any(len(values) < 2 for values in samples):
        return Estimate(ratio, None, None, n)
    variances = [_log_mean_variance(values) for values in samples]
    total = sum(variances)
    if total == 0:
        return Estimate(ratio, ratio, ratio, n)
    spread = math.exp(student_quantile(pooled_freedom(variances, list(map(len, samples)))) * math.sqrt(total))
    return Estimate(ratio, ratio / spread, ratio * spread, n)


def paired_ratio_of_means(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate | None:
    """Return the ratio of two means whose values belong together in pairs; None if the lower one is not positive.

    The interval is that of Student's t on the residuals of the ratio: what two values have in common cancels out.
    """
    below = statistics.fmean(denominators) if denominators else 0.0
    if below <= 0 or len(numerators) != len(denominators):
        return None
    ratio = statistics.fmean(numerators) / below
    residuals = [(above - ratio * under) / below for above, under in zip(numerators, denominators, strict=True)]
    around = mean(residuals)
    if around.low is None or around.high is None:
        return Estimate(ratio, None, None, around.n)
    return Estimate(ratio, ratio + around.low, ratio + around.high, around.n)


def mean_of_paired_ratios(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate | None:
    """Return the mean of the ratios of values that belong together in pairs; None if a lower one is not positive.

    The interval is that of Student's t over the ratios. Each pair counts alike, whereas a ratio of means follows the
    pairs of large values.
    """
    if not denominators or len(numerators) != len(denominators) or min(denominators) <= 0:
        return None
    return mean([above / under for above, under in zip(numerators, denominators, strict=True)])


def quotient(above: Estimate, below: Estimate) -> Estimate:
    """Return the ratio of two independent positive values, with an interval from those of their logarithms.

    It has none where either value has none, or one that reaches zero.
    """
    ratio, n = above.value / below.value, min(above.n, below.n)
    if above.low is None or above.high is None or below.low is None or below.high is None:
        return Estimate(ratio, None, None, n)
    if min(above.low, below.low) <= 0:
        return Estimate(ratio, None, None, n)
    half = math.hypot(math.log(above.high / above.low) / 2, math.log(below.high / below.low) / 2)
    return Estimate(ratio, ratio * math.exp(-half), ratio * math.exp(half), n)


def _log_mean_variance(values: Sequence[float]) -> float:
    return statistics.variance(values) / len(values) / statistics.fmean(values) ** 2


@lru_cache
def student_quantile(freedom: float) -> float:
    """Return how many standard errors an interval reaches to either side, by Student's t.

    With t = sqrt(f) tan(a) for f degrees of freedom, the probability between -t and t is an integral of cos(a)^(f - 1),
    which Gauss's quadrature gives to at least eight digits. Newton's steps from the normal quantile stay below the
    result, because the probability is concave. (scipy has this function, and would be half of what a simulation has to
    install.)
    """
    factor = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    quantile = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    for _ in range(_MOST_STEPS):
        angle = math.atan(quantile / math.sqrt(freedom))
        cosines = numpy.cos(angle * (_NODES + 1) / 2)
        probability = factor * angle / 2 * float(_WEIGHTS @ cosines ** (freedom - 1))
        density = factor / math.sqrt(freedom) * math.cos(angle) ** (freedom + 1)
        step = (CONFIDENCE / 2 - probability) / density
        quantile += step
        if step <= _PRECISION * quantile:
            break
    return quantile


def pooled_freedom(variances: Sequence[float], counts: Sequence[int]) -> float:
    """Return Welch and Satterthwaite's degrees of freedom of a sum of means with these variances and counts.

    Raises:
        ZeroDivisionError: if all variances are zero.
    """
    # Relative to the largest: the square of a very small variance would be zero.
    largest = max(variances)
    shares = [variance / largest for variance in variances]
    return float(sum(shares) ** 2 / sum(share**2 / (count - 1) for share, count in zip(shares, counts, strict=True)))
