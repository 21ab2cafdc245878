"""A solution at the end of a job: gathered from the ranks, compared with the known one, and written to a file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from apps.failing import check_together
from apps.grid import Block, ProcessGrid

if TYPE_CHECKING:
    from mpi4py import MPI

Values = npt.NDArray[np.float64]


class SquareProblem(Protocol):
    """A problem on the unit square with a known solution."""

    @property
    def side_points(self) -> int:
        """The grid's inner points along a side."""
        ...

    @property
    def spacing(self) -> float:
        """The distance between grid points."""
        ...

    def solution(self, block: Block) -> Values:
        """Return the known solution at the points of `block`."""
        ...


@dataclass(frozen=True, slots=True)
class DividedSolution:
    """The part of a solution that a rank of `process_grid` has: the inner points of `values`, those of `block`."""

    communicator: MPI.Comm
    process_grid: ProcessGrid
    block: Block
    values: Values

    def results(self, problem: SquareProblem, save: Path | None) -> dict[str, object]:
        """Return the solution's part of the record, complete at rank 0. Every rank must call this.

        Raises:
            RunFailed: at every rank alike, if it cannot be written where `save` says.
        """
        inner = self.values[1:-1, 1:-1]
        norms = gather_error_norms(self.communicator, inner - problem.solution(self.block), problem.spacing)
        if save is not None:
            save_solution(self.communicator, self._gather(problem.side_points), save)
        return {
            "grid": problem.side_points,
            "process_columns": self.process_grid.columns,
            "process_rows": self.process_grid.rows,
            **(norms or {}),
        }

    def _gather(self, side_points: int) -> Values | None:
        """Gather all ranks' points at rank 0, the bottom row first."""
        blocks = self.communicator.gather((self.block, self.values[1:-1, 1:-1].copy()), root=0)
        if blocks is None:
            return None
        whole = np.empty((side_points, side_points))
        for owned, part in blocks:
            rows = slice(owned.first_row, owned.first_row + owned.rows)
            whole[rows, owned.first_column : owned.first_column + owned.columns] = part
        return whole


def gather_error_norms(communicator: MPI.Comm, difference: Values, spacing: float) -> dict[str, object] | None:
    """Return the largest error of a point and the l2 norm of all at rank 0, None elsewhere. Every rank must call this.

    `difference` holds this rank's points and may be empty. The l2 norm is that of the unit square: the root of the sum
    of squares, each weighted by the area `spacing` x `spacing`.
    """
    norms = communicator.gather(_norms(difference), root=0)
    if norms is None:
        return None
    return {
        "error_max_norm": max(largest for largest, _ in norms),
        "error_l2_norm": spacing * math.hypot(*(length for _, length in norms)),
    }


def _norms(difference: Values) -> tuple[float, float]:
    largest = float(np.abs(difference).max(initial=0.0))
    # Scaled by the largest difference: squares of what is not small may overflow.
    squares = float(np.sum((difference / largest) ** 2)) if largest > 0.0 else 0.0
    return largest, largest * math.sqrt(squares)


def save_solution(communicator: MPI.Comm, whole: Values | None, path: Path | None) -> None:
    """Write the whole solution, which rank 0 has, to `path` as an .npy array; do nothing if no path is given.

    Every rank must call this.

    Raises:
        RunFailed: at every rank alike, if the file cannot be written.
    """
    if path is None:
        return
    complaint = None
    if whole is not None:
        try:
            np.save(path, whole)
        except OSError as error:
            complaint = f"The solution could not be written to {path}: {error.strerror}."
    check_together(communicator, complaint)
