"""Student's t for 95% confidence intervals: how far they reach, and with how many degrees of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scipy.special import stdtrit

CONFIDENCE: Final = 0.95


def student_quantile(freedom: float) -> float:
    """How many standard errors an interval reaches to either side."""
    # scipy.special and not scipy.stats, whose import would take longer than most commands.
    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def pooled_freedom(variances: Sequence[float], counts: Sequence[int]) -> float:
    """Welch and Satterthwaite's degrees of freedom of a sum of means with these variances, each of so many values.

    Raises:
        ZeroDivisionError: if all variances are zero.
    """
    return float(
        sum(variances) ** 2 / sum(variance**2 / (count - 1) for variance, count in zip(variances, counts, strict=True))
    )
