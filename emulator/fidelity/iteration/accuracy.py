"""What a fit is worth: the errors of its rows, fitted and left out, and the uncertainty of predictions from them.

A factor is relative to the same job in one cluster over that cluster's own interconnect; a slowdown is a factor less
one, what the wide area and the slower interconnect cost.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from emulator.fidelity.iteration.fitting import Fit
from emulator.fidelity.iteration.predicted import Predicted
from emulator.model.uncertainty import RelativeError, Uncertainty

Which = Literal["fitted", "left_out"]


@dataclass(frozen=True, slots=True)
class RowErrors:
    """The relative errors of a row; those of its factor and its slowdown are None without the job in one cluster."""

    iteration: float
    factor: float | None = None
    slowdown: float | None = None


@dataclass(frozen=True, slots=True)
class MeanErrors:
    """Mean absolute relative errors of a set of rows, and of how many factors."""

    set: str
    rows: int
    iteration: float
    factors: int
    factor: float | None
    slowdown: float | None


def row_errors(fit: Fit, index: int, which: Which) -> RowErrors:
    """Return the errors of the row with that index."""
    row, alone = fit.table.rows[index], fit.table.alone(index)
    iteration_s = _predicted(fit, index, which).iteration_s
    error = iteration_s / row.iteration_s - 1.0
    if alone is None:
        return RowErrors(error)
    known = row.iteration_s / fit.table.rows[alone].iteration_s
    factor = iteration_s / _predicted(fit, alone, which).iteration_s
    slowdown = None if known == 1.0 else (factor - 1.0) / (known - 1.0) - 1.0
    return RowErrors(error, factor / known - 1.0, slowdown)


def mean_errors(fit: Fit, set_name: str, which: Which) -> MeanErrors:
    """Return the mean absolute errors of the rows of a set."""
    found = [row_errors(fit, index, which) for index, row in enumerate(fit.table.rows) if row.set == set_name]
    factors = [each.factor for each in found if each.factor is not None]
    slowdowns = [each.slowdown for each in found if each.slowdown is not None]
    return MeanErrors(
        set_name, len(found), _mean([each.iteration for each in found]) or 0.0,
        len(factors), _mean(factors), _mean(slowdowns),
    )  # fmt: skip


def uncertainty_of(fit: Fit) -> Uncertainty:
    """Return the uncertainty of predictions, from the errors of rows that were left out."""
    iterations: list[tuple[float, float]] = []
    factors: list[tuple[float, float]] = []
    for index in range(len(fit.table.rows)):
        predicted = _predicted(fit, index, "left_out")
        share = predicted.computing_share
        errors = row_errors(fit, index, "left_out")
        iterations.append((share, math.log1p(errors.iteration)))
        if errors.factor is not None:
            factors.append((share, math.log1p(errors.factor)))
    whole = _relative_error(iterations)
    return Uncertainty(iteration=whole, factor=_relative_error(factors) if factors else whole)


def _predicted(fit: Fit, index: int, which: Which) -> Predicted:
    return fit.rows[index].fitted if which == "fitted" else fit.rows[index].left_out


def _mean(errors: Sequence[float]) -> float | None:
    return statistics.fmean(map(abs, errors)) if errors else None


def _relative_error(shares_and_errors: Sequence[tuple[float, float]]) -> RelativeError:
    """Divide squared errors between computing and messages by least squares; neither part is negative."""
    squared = [(share**2, (1.0 - share) ** 2, error**2) for share, error in shares_and_errors]
    together = statistics.fmean(error for _, _, error in squared)
    cc, cm, mm, ce, me = (
        sum(product) for product in zip(*((c * c, c * m, m * m, c * e, m * e) for c, m, e in squared), strict=True)
    )
    determinant = cc * mm - cm**2
    if determinant <= 1e-9 * cc * mm:
        return _rounded(together, together)
    computing, messages = (ce * mm - me * cm) / determinant, (me * cc - ce * cm) / determinant
    if computing < 0:
        computing, messages = 0.0, me / mm
    elif messages < 0:
        computing, messages = ce / cc, 0.0
    return _rounded(computing, messages)


def _rounded(computing: float, messages: float) -> RelativeError:
    return RelativeError(computing=round(math.sqrt(computing), 3), messages=round(math.sqrt(messages), 3))
