"""The process grid: which rank owns which points, its neighbours, and the component it belongs to.

Pure arithmetic in the standard library only. Rows count upwards from the bottom of the unit square, columns from its
left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from emulator.model.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The ranks beside one rank; None where the edge of the unit square is."""

    top: int | None
    bottom: int | None
    left: int | None
    right: int | None


@dataclass(frozen=True, slots=True)
class ProcessGrid:
    """Processes in `columns` x `rows`, numbered column by column from the bottom left.

    Consecutive ranks therefore fill whole columns, so that a component of a job is a vertical strip of the unit square
    (Bucur and Epema's measurement study on DAS-2, the Poisson application).
    """

    columns: int
    rows: int

    @classmethod
    def of_processes(cls, processes: int) -> ProcessGrid:
        """Make the squarest grid of `processes`, at least as wide as high: 4 x 2 of 8, 4 x 4 of 16, 7 x 1 of 7.

        Raises:
            InvalidInput: if there is no process.
        """
        if processes < 1:
            raise InvalidInput(f"A process grid needs at least 1 process, not {processes}.")
        rows = next(rows for rows in range(math.isqrt(processes), 0, -1) if processes % rows == 0)
        return cls(processes // rows, rows)

    @classmethod
    def square_of_processes(cls, processes: int) -> ProcessGrid:
        """Make the grid of `processes` that has as many columns as rows.

        Raises:
            InvalidInput: if the number of processes is not a square.
        """
        side = math.isqrt(max(0, processes))
        if side < 1 or side * side != processes:
            raise InvalidInput(
                f"A square process grid cannot be made of {processes} processes: use 1, 4, 9, 16, 25, 36, 64 or another"
                " square."
            )
        return cls(side, side)

    @property
    def processes(self) -> int:
        """The number of processes in the grid."""
        return self.columns * self.rows

    def rank(self, column: int, row: int) -> int:
        """Return the rank of the process in `column` and `row`."""
        return column * self.rows + row

    def position(self, rank: int) -> tuple[int, int]:
        """Return the column and the row of the process with this rank."""
        return divmod(rank, self.rows)

    def neighbours(self, rank: int) -> Neighbours:
        """Return the ranks above, below, left and right of `rank`."""
        column, row = self.position(rank)
        return Neighbours(
            top=rank + 1 if row + 1 < self.rows else None,
            bottom=rank - 1 if row > 0 else None,
            left=rank - self.rows if column > 0 else None,
            right=rank + self.rows if column + 1 < self.columns else None,
        )


@dataclass(frozen=True, slots=True)
class Block:
    """The inner grid points that one process owns: `rows` x `columns` from `first_row` and `first_column`, from 0."""

    first_column: int
    columns: int
    first_row: int
    rows: int

    @property
    def points(self) -> int:
        """The number of points in the block."""
        return self.columns * self.rows

    @property
    def diagonal_corner_points(self) -> int:
        """The number of points in the upper left and the lower right corner, if the block is cut into four.

        The lower corners have half of the rows and the left ones half of the columns, rounded down.
        """
        lower, left = self.rows // 2, self.columns // 2
        return (self.rows - lower) * left + lower * (self.columns - left)

    @property
    def first_is_black(self) -> bool:
        """Whether the block's bottom left point is black; the grid's bottom left point is."""
        return (self.first_column + self.first_row) % 2 == 0


def block_of(rank: int, side_points: int, process_grid: ProcessGrid) -> Block:
    """Return the part of a grid of `side_points` x `side_points` inner points that `rank` owns.

    Blocks differ by at most one row and one column.

    Raises:
        InvalidInput: if the grid has fewer points along a side than there are processes.
    """
    if side_points < max(process_grid.columns, process_grid.rows):
        raise InvalidInput(
            f"A grid of {side_points} x {side_points} points cannot be divided over {process_grid.processes} processes"
            f" ({process_grid.columns} x {process_grid.rows}): use a larger grid or fewer processes."
        )
    column, row = process_grid.position(rank)
    first_column, columns = _share(side_points, process_grid.columns, column)
    first_row, rows = _share(side_points, process_grid.rows, row)
    return Block(first_column, columns, first_row, rows)


def square_block_of(rank: int, side_points: int, processes: int) -> tuple[ProcessGrid, Block]:
    """Return the square process grid and the block of `rank`, which is large enough to be cut into four corners.

    Raises:
        InvalidInput: if the processes form no square, or a block would be too small to have four corners.
    """
    process_grid = ProcessGrid.square_of_processes(processes)
    if side_points < 2 * process_grid.columns:
        raise InvalidInput(
            f"A grid of {side_points} x {side_points} points is too small for {process_grid.columns} x"
            f" {process_grid.rows} processes: each needs at least 2 x 2 points, one for each corner."
        )
    return process_grid, block_of(rank, side_points, process_grid)


@dataclass(frozen=True, slots=True)
class MasterAndWorkers:
    """A master, rank 0, that holds no points, and workers that own blocks of whole rows, the lowest rank the lowest.

    A process alone is its own worker.
    """

    processes: int

    @property
    def workers(self) -> int:
        """The number of processes that own points."""
        return max(1, self.processes - 1)

    @property
    def worker_ranks(self) -> range:
        """The ranks of the workers, from the bottom of the unit square to its top."""
        return range(self.processes - self.workers, self.processes)

    def block_of(self, rank: int, side_points: int) -> Block | None:
        """Return the rows of a grid of `side_points` x `side_points` inner points that `rank` owns; None for a master.

        Raises:
            InvalidInput: if there are fewer rows than workers.
        """
        if side_points < self.workers:
            raise InvalidInput(
                f"A grid of {side_points} rows cannot be divided over {self.workers} workers: use a larger grid or"
                " fewer processes."
            )
        if rank not in self.worker_ranks:
            return None
        first_row, rows = _share(side_points, self.workers, self.worker_ranks.index(rank))
        return Block(0, side_points, first_row, rows)

    def neighbours(self, rank: int) -> Neighbours:
        """Return the workers that own the rows above and below those of the worker `rank`."""
        ranks = self.worker_ranks
        top, bottom = rank + 1, rank - 1
        return Neighbours(top if top in ranks else None, bottom if bottom in ranks else None, None, None)


def _share(points: int, parts: int, index: int) -> tuple[int, int]:
    first = index * points // parts
    return first, (index + 1) * points // parts - first


def equal_components(processes: int, clusters: int) -> tuple[int, ...]:
    """Return the sizes of equal components, one for each of `clusters`.

    Raises:
        InvalidInput: if the processes cannot be divided equally.
    """
    if clusters < 1 or processes % clusters != 0:
        raise InvalidInput(
            f"{processes} processes cannot be divided equally over {clusters} clusters: name the components' sizes."
        )
    return (processes // clusters,) * clusters


def check_components(components: Sequence[int], processes: int, clusters: int) -> None:
    """Check that components of these sizes, in `clusters` clusters, make up a job of `processes`.

    Raises:
        InvalidInput: if a size is not positive, the sizes do not add up, or there are fewer components than clusters.
    """
    listed = ",".join(str(size) for size in components)
    if min(components, default=0) < 1:
        raise InvalidInput(f"Every component needs at least 1 processor, but the components are {listed}.")
    if sum(components) != processes:
        raise InvalidInput(
            f"The components {listed} have {sum(components)} processors together, but {processes} processes run."
        )
    if not 1 <= clusters <= len(components):
        raise InvalidInput(f"{len(components)} components cannot be spread over {clusters} clusters.")


def component_of(rank: int, components: Sequence[int]) -> int:
    """Return the index of the component that holds `rank`: components are consecutive blocks of ranks.

    Raises:
        InvalidInput: if no component holds the rank.
    """
    first = 0
    for index, size in enumerate(components):
        if first <= rank < first + size:
            return index
        first += size
    raise InvalidInput(f"Rank {rank} is in none of the components of {first} processors together.")
