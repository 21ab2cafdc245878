"""A topology's numbers from a table of runtimes: least squares over the model, and what the result is worth.

What is minimized is the sum of squared relative errors of iterations, each in units of what it may err by: a run on a
shared system differs from the next one, so a mean of ten counts more than a single run. Stated numbers are starting
points that count very little; they keep what a table does not decide.

Every row is predicted once more from a fit without it and without its twins, the same job in other sets. That fit
follows from the full one by a step of Gauss and Newton's method, which costs no new evaluation of the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from emulator.fidelity.iteration.parameters import Unknown, unknowns, with_values
from emulator.fidelity.iteration.predicted import Predicted, predicted
from emulator.fidelity.iteration.table import Table
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float64]

MODEL_ERROR: Final = 0.03
RUN_ERROR: Final = 0.10
"""Relative standard deviations: of the model, and of a single run (ten runs of DAS-2 lay within -20 and +20%)."""

BORDER_ERROR: Final = 0.16
"""Of a border exchange, which is a small difference of clocks."""

BELIEF: Final = 1.0
"""By how much a stated number may be wrong beforehand, as a standard deviation of its logarithm."""

INSEPARABLE: Final = 0.95
"""The correlation from which two numbers cannot be told apart."""

UNDECIDED: Final = 0.5
"""The standard deviation of a number's logarithm from which a table has not decided it."""

_STEP: Final = 0.03
"""Of a logarithm, for derivatives: wide enough to smooth the corners where messages overtake each other."""

_ROUNDS: Final = 12
_ENOUGH: Final = 1e-4


@dataclass(frozen=True, slots=True)
class FittedNumber:
    """A number that was found, and the relative standard deviation that the table leaves it."""

    unknown: Unknown
    value: float
    relative_error: float

    @property
    def decided(self) -> bool:
        """Whether the table decides it."""
        return self.relative_error < UNDECIDED


@dataclass(frozen=True, slots=True)
class FittedRow:
    """A row's iteration by the model, fitted and left out, with its parts; seconds."""

    fitted: Predicted
    left_out: Predicted


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of a fit: numbers, rows in the table's order, and pairs of numbers that cannot be told apart."""

    topology: Topology
    table: Table
    numbers: tuple[FittedNumber, ...]
    rows: tuple[FittedRow, ...]
    inseparable: tuple[tuple[Unknown, Unknown, float], ...]


def fit(topology: Topology, table: Table) -> Fit:
    """Find the numbers of `topology` with which the model gives the runtimes of `table`.

    Raises:
        InvalidInput: if there is nothing to find, or the model cannot predict a row.
    """
    return _Fitting(topology, table).fit()


class _Fitting:
    """A fit in progress; numbers are sought by their logarithms, relative to their starts."""

    def __init__(self, topology: Topology, table: Table) -> None:
        self.topology, self.table = topology, table
        self.unknowns = unknowns(topology, table.sets)
        if topology.processor.costs is None or not self.unknowns:
            raise InvalidInput(f"{topology.name} states no costs that could be fitted: name a paced profile.")
        self.jobs = [row.job(topology) for row in table.rows]

    def fit(self) -> Fit:
        """Find the numbers by Gauss and Newton's method, then what each row would be without itself."""
        import numpy as np

        place: Vector = np.zeros(len(self.unknowns))
        residuals = self._residuals(place)
        jacobian = self._jacobian(place, residuals)
        damping = 1e-3
        for _ in range(_ROUNDS):
            step = self._step(jacobian, residuals, damping)
            tried = self._residuals(place + step)
            if float(tried @ tried) >= float(residuals @ residuals):
                damping *= 10.0
                if damping > 1e6:
                    break
                continue
            place, residuals, damping = place + step, tried, damping / 10.0
            jacobian = self._jacobian(place, residuals)
            if float(np.max(np.abs(step))) < _ENOUGH:
                break
        return self._result(place, jacobian, residuals)

    def _result(self, place: Vector, jacobian: Vector, residuals: Vector) -> Fit:
        import numpy as np

        covariance: Vector = np.asarray(np.linalg.inv(jacobian.T @ jacobian), dtype=np.float64)
        errors: Vector = np.sqrt(np.diag(covariance))
        values = self._values(place)
        numbers = tuple(
            FittedNumber(unknown, values[unknown], float(error))
            for unknown, error in zip(self.unknowns, errors, strict=True)
        )
        fitted = self._predictions(place, range(len(self.jobs)))
        left_out: dict[int, Predicted] = {}
        for indices in self.table.cells.values():
            without = place + self._without(indices, jacobian, residuals)
            left_out |= dict(zip(indices, self._predictions(without, indices), strict=True))
        rows = tuple(FittedRow(each, left_out[index]) for index, each in enumerate(fitted))
        return Fit(self.topology, self.table, numbers, rows, self._inseparable(covariance, errors))

    def _inseparable(self, covariance: Vector, errors: Vector) -> tuple[tuple[Unknown, Unknown, float], ...]:
        found = []
        for first, unknown in enumerate(self.unknowns):
            for second in range(first + 1, len(self.unknowns)):
                correlation = float(covariance[first, second] / (errors[first] * errors[second]))
                if abs(correlation) >= INSEPARABLE:
                    found.append((unknown, self.unknowns[second], correlation))
        return tuple(found)

    def _step(self, jacobian: Vector, residuals: Vector, damping: float) -> Vector:
        import numpy as np

        normal = jacobian.T @ jacobian
        solved = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), jacobian.T @ residuals)
        return np.asarray(-solved, dtype=np.float64)

    def _without(self, indices: Sequence[int], jacobian: Vector, residuals: Vector) -> Vector:
        """Return the step from the full fit to the one without these rows."""
        import numpy as np

        left = np.ones(len(residuals), dtype=bool)
        rows = len(self.jobs)
        for index in indices:
            left[index] = left[rows + index] = False
        return self._step(jacobian[left], residuals[left], 0.0)

    def _values(self, place: Vector) -> dict[Unknown, float]:
        return {unknown: unknown.start * math.exp(float(at)) for unknown, at in zip(self.unknowns, place, strict=True)}

    def _predictions(self, place: Vector, indices: Sequence[int]) -> list[Predicted]:
        values = self._values(place)
        topologies = {name: with_values(self.topology, name, values) for name in self.table.sets}
        return [predicted(topologies[self.table.rows[index].set], self.jobs[index]) for index in indices]

    def _residuals(self, place: Vector) -> Vector:
        """Return errors of iterations, of border exchanges (0 if unknown), and the distances from stated numbers."""
        import numpy as np

        found = self._predictions(place, range(len(self.jobs)))
        iterations, borders = [], []
        for row, each in zip(self.table.rows, found, strict=True):
            if each.iteration_s <= 0:
                raise InvalidInput(f"{row.shown}: takes no time on {self.topology.name} by the model; leave it out.")
            error = math.hypot(MODEL_ERROR, RUN_ERROR / math.sqrt(row.runs))
            iterations.append(math.log(each.iteration_s / row.iteration_s) / error)
            known = row.border_exchange_s
            if known is not None and each.border_exchange_s <= 0:
                raise InvalidInput(f"{row.shown}: border_exchange_s: such a job exchanges no borders; leave it out.")
            borders.append(
                0.0 if known is None else math.log(each.border_exchange_s * row.iterations / known) / BORDER_ERROR
            )
        return np.array([*iterations, *borders, *(place / BELIEF)])

    def _jacobian(self, place: Vector, residuals: Vector) -> Vector:
        import numpy as np

        columns = []
        for index in range(len(place)):
            moved = place.copy()
            moved[index] += _STEP
            columns.append((self._residuals(moved) - residuals) / _STEP)
        return np.array(columns).T
