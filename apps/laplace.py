"""Laplace's equation on a square with fixed edges, as in the study of communication-aware placement (KOALA, 2006).

The processes form a square. In an iteration each of them exchanges borders with its four neighbours, updates the upper
left and the lower right corner of its block, exchanges borders again, and updates the upper right and the lower left
one. Corners that are updated in one phase never touch, so the result is the same to the last bit as if one process
updated all such corners in any order; timing does not matter. Every 20 iterations all processes compare their points
with those of 20 iterations before, and end when the average change is below the tolerance.

The paper says no more, but it describes the public program LAPLACE_MPI in the same words (Newman and Shen, after Fox et
al., "Solving Problems on Concurrent Processors", 1988). The rest comes from that program: half of a block's rows and
columns make a corner, in which points are updated one after another by over-relaxation of 1.2, and borders go to all
four neighbours at once.

The edges are those of a known solution, u = a sin(pi x) sinh(pi y) / sinh(pi): a sine on the upper edge, zero on the
others. Points start at zero.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from apps.application import JobContext
from apps.counters import HostTimes
from apps.descriptor import ExchangeMode
from apps.exchange import BorderExchange
from apps.grid import Block, square_block_of
from apps.options import add_exchange_argument, add_iteration_arguments, add_problem_arguments, check_end, check_problem
from apps.registry import LAPLACE
from apps.registry import LAPLACE_COMPARED_EVERY as COMPARED_EVERY
from apps.solution import DividedSolution
from emulator.model.errors import InvalidInput, RunFailed

Values = npt.NDArray[np.float64]

RELAXATION = 1.2


@dataclass(frozen=True, slots=True)
class LaplaceProblem:
    """The grid's inner points along a side, and the largest value of the solution."""

    side_points: int
    amplitude: float

    @property
    def spacing(self) -> float:
        """The distance between grid points on the unit square."""
        return 1.0 / (self.side_points + 1)

    def solution(self, block: Block) -> Values:
        """Return the analytic solution at the points of `block`, one array row for a row of points, bottom first."""
        y = np.pi * self.spacing * np.arange(block.first_row + 1, block.first_row + block.rows + 1)
        return np.outer(np.sinh(y) / math.sinh(math.pi), self.upper_edge(block))

    def upper_edge(self, block: Block) -> Values:
        """Return the solution on the square's upper edge, above the columns of `block`."""
        columns = np.arange(block.first_column + 1, block.first_column + block.columns + 1)
        edge: Values = self.amplitude * np.sin(np.pi * self.spacing * columns)
        return edge

    def start(self, block: Block) -> Values:
        """Return the points of `block` at the start, with a border of one point that holds the square's edges."""
        bordered = np.zeros((block.rows + 2, block.columns + 2))
        if block.first_row + block.rows == self.side_points:
            bordered[-1, 1:-1] = self.upper_edge(block)
        return bordered


@dataclass(frozen=True, slots=True)
class LaplaceOptions:
    """Options of the application.

    Raises:
        InvalidInput: if the problem or the end of the iteration is out of range, or the iteration would not converge.
    """

    problem: LaplaceProblem
    tolerance: float
    iterations: int | None
    save: Path | None
    relaxation: float = RELAXATION
    exchange: ExchangeMode = LAPLACE.form.exchange

    def __post_init__(self) -> None:
        check_problem(self.problem.side_points, self.problem.amplitude)
        check_end(self.iterations, self.tolerance)
        if not 0.0 < self.relaxation < 2.0:
            raise InvalidInput(f"--relaxation must be between 0 and 2, not {self.relaxation}.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the application's own options to the command line."""
    add_problem_arguments(parser)
    add_iteration_arguments(
        parser,
        tolerance_help=f"end when points changed on average by less than E in {COMPARED_EVERY} iterations (default 0)",
    )
    parser.add_argument(
        "--relaxation", type=float, default=RELAXATION, metavar="W", help="over-relaxation of an update (%(default)s)"
    )
    add_exchange_argument(parser, default=LAPLACE.form.exchange)


def read_options(arguments: argparse.Namespace) -> LaplaceOptions:
    """Read the application's options from the parsed command line.

    Raises:
        InvalidInput: as `LaplaceOptions`.
    """
    problem = LaplaceProblem(arguments.grid, arguments.amplitude)
    return LaplaceOptions(
        problem, arguments.tolerance, arguments.iterations, arguments.save, arguments.relaxation, arguments.exchange
    )


class Laplace:
    """One rank's part of the solver.

    Raises:
        InvalidInput: at every rank alike, as `square_block_of`.
    """

    def __init__(self, job: JobContext, options: LaplaceOptions) -> None:
        from apps.kernels.laplace import CornerUpdate

        self.times = HostTimes()
        self._communicator, self._collectives, self._options = job.communicator, job.collectives, options
        rank, problem = job.communicator.rank, options.problem
        self._process_grid, self._block = square_block_of(rank, problem.side_points, job.communicator.size)
        self._values = problem.start(self._block)
        self._corners = CornerUpdate(self._values, self._values.copy(), options.relaxation)
        self._exchange = BorderExchange(
            job.messenger, self._values, self._process_grid.neighbours(rank), options.exchange
        )
        self._reduction = job.reduction(1, "sum")
        self._clock = job.phase_clock(self.times, self._reduction)
        # The corners of a phase are part of a working set that is the whole block.
        whole_s = job.duration_s(self._block.points, LAPLACE.form.arrays, self._block.columns)
        first_share = self._block.diagonal_corner_points / self._block.points
        self._first_phase = job.pacer.phase(whole_s * first_share)
        self._second_phase = job.pacer.phase(whole_s * (1.0 - first_share))
        self._average_change: float | None = None

    def iterate(self) -> None:
        """Iterate until the average change is below the tolerance or the iterations are used up.

        Raises:
            RunFailed: at every rank alike, if the values overflow.
        """
        self._clock.begin()
        self._loop()
        self._clock.end()
        self._exchange.describe(self.times)
        finite = np.array([0.0 if np.isfinite(self._values).all() else 1.0])
        if self._collectives.all_reduce(finite, "max")[0]:
            raise RunFailed(
                f"The values overflowed within {len(self.times.iterations_ns)} iterations:"
                f" use a smaller --amplitude than {self._options.problem.amplitude}."
            )

    def _loop(self) -> None:
        clock, exchange, corners = self._clock, self._exchange.exchange, self._corners
        iterations_ns, limit, tolerance = self.times.iterations_ns, self._options.iterations, self._options.tolerance
        points = float(self._options.problem.side_points) ** 2
        average = None
        while True:
            exchange()
            clock.end_exchange()
            clock.compute(corners.update_first, self._first_phase)
            exchange()
            clock.end_exchange()
            compares = (len(iterations_ns) + 1) % COMPARED_EVERY == 0
            change = clock.compute(self._update_and_compare if compares else corners.update_second, self._second_phase)
            if compares:
                (summed,) = self._reduction.reduce((change,))
                clock.end_reduction()
                average = float(summed) / points
            clock.end_iteration()
            if len(iterations_ns) == limit or (average is not None and not tolerance <= average < math.inf):
                break
        self._average_change = average

    def _update_and_compare(self) -> float:
        self._corners.update_second()
        change: float = self._corners.summed_change()
        return change

    def results(self) -> dict[str, object]:
        """Return this application's part of the record. Every rank must call this; rank 0's part is complete.

        Raises:
            RunFailed: at every rank alike, if the solution cannot be written where `--save` says.
        """
        options = self._options
        solved = DividedSolution(self._communicator, self._process_grid, self._block, self._values)
        common = solved.results(options.problem, options.save)
        self._exchange.free()
        self._reduction.free()
        return common | {
            "tolerance": options.tolerance,
            "relaxation": options.relaxation,
            "exchange": options.exchange,
            "converged": self._average_change is not None and self._average_change < options.tolerance,
            "average_change": self._average_change,
        }
