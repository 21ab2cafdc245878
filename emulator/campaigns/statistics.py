"""Means and ratios of means with their confidence intervals, as the tables of runs show them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from emulator.fidelity.student import pooled_freedom, student_quantile


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its 95% confidence interval; the interval is None where there is too little to tell."""

    value: float
    low: float | None
    high: float | None
    n: int


def mean(values: Sequence[float]) -> Estimate | None:
    """The mean with its interval by Student's t; None without values."""
    if not values:
        return None
    average = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(average, None, None, len(values))
    quantile = student_quantile(len(values) - 1)
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Estimate(average, average - half, average + half, len(values))


def mean_of_positive(values: Sequence[float]) -> Estimate | None:
    """The mean of positive values with an interval that is positive too; None without values or if one is not positive.

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
    """The ratio of two independent means of positive values; None if either is empty or not positive.

    The interval is that of Welch's t on the logarithm of the ratio: the variance of the logarithm of a mean is, by
    the delta method, that of the mean over its square; degrees of freedom are Welch and Satterthwaite's.
    """
    return ratio_of_products([numerators], [denominators])


def ratio_of_products(
    numerators: Sequence[Sequence[float]], denominators: Sequence[Sequence[float]]
) -> Estimate | None:
    """The product of the means of `numerators` over that of the means of `denominators`, as `ratio_of_means`."""
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


def _log_mean_variance(values: Sequence[float]) -> float:
    return statistics.variance(values) / len(values) / statistics.fmean(values) ** 2
