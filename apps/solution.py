"""A solution on the unit square that is divided over the ranks in blocks: brought together, judged and saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from apps.grid import Block, ProcessGrid
from apps.norms import gather_error_norms
from apps.saving import save_solution

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
        """The known solution at the points of `block`."""
        ...


@dataclass(frozen=True, slots=True)
class DividedSolution:
    """What each rank of `process_grid` has of a solution: the inner points of `values`, which are those of `block`."""

    communicator: MPI.Comm
    process_grid: ProcessGrid
    block: Block
    values: Values

    def results(self, problem: SquareProblem, save: Path | None) -> dict[str, object]:
        """What the record says of it, complete at rank 0; every rank must call this.

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
        """All ranks' points at rank 0, the bottom row first."""
        blocks = self.communicator.gather((self.block, self.values[1:-1, 1:-1].copy()), root=0)
        if blocks is None:
            return None
        whole = np.empty((side_points, side_points))
        for owned, part in blocks:
            rows = slice(owned.first_row, owned.first_row + owned.rows)
            whole[rows, owned.first_column : owned.first_column + owned.columns] = part
        return whole
