"""Poisson's equation on the unit square by red-black Gauss-Seidel, the application of the DAS-2 measurement study.

Process 0 reads the problem and broadcasts it. While the global error is not below the limit, each process updates its
black points, then its red ones, exchanges borders in four steps, and takes part in the reduction of the global error,
the largest change of a point. Borders are exchanged once an iteration, as published: a red point beside a border uses
black values of the iteration before, so that iteration counts depend on the number of processes; with one process
this is red-black Gauss-Seidel exactly.

The problem has a known solution, u = a sin(pi x) sin(pi y) with u = 0 at the edge and -(u_xx + u_yy) = 2 pi^2 u,
against which the result is measured.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from apps.application import JobContext
from apps.counters import HostTimes
from apps.descriptor import ExchangeMode
from apps.exchange import BorderExchange
from apps.grid import Block, ProcessGrid, block_of
from apps.options import add_exchange_argument, add_iteration_arguments, add_problem_arguments, check_end, check_problem
from apps.registry import POISSON
from apps.solution import DividedSolution
from emulator.model.errors import RunFailed

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Problem:
    """The problem: the grid's inner points along a side, and the amplitude of the solution."""

    side_points: int
    amplitude: float

    @property
    def spacing(self) -> float:
        """The distance between grid points on the unit square."""
        return 1.0 / (self.side_points + 1)

    def solution(self, block: Block) -> Values:
        """Return the analytic solution at the points of `block`, one array row for a row of points, bottom first."""
        x = np.sin(np.pi * self.spacing * np.arange(block.first_column + 1, block.first_column + block.columns + 1))
        y = np.sin(np.pi * self.spacing * np.arange(block.first_row + 1, block.first_row + block.rows + 1))
        with np.errstate(over="ignore", invalid="ignore"):
            return self.amplitude * np.outer(y, x)

    def source(self, block: Block) -> Values:
        """Return the right-hand side times the squared spacing on `block`, with a border of zeros one point wide."""
        bordered = np.zeros((block.rows + 2, block.columns + 2))
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(self.solution(block), 2.0 * math.pi**2 * self.spacing**2, out=bordered[1:-1, 1:-1])
        return bordered


@dataclass(frozen=True, slots=True)
class PoissonOptions:
    """Options of the application.

    Raises:
        InvalidInput: if the problem or the end of the iteration is out of range.
    """

    problem: Problem
    tolerance: float
    iterations: int | None
    save: Path | None
    exchange: ExchangeMode = POISSON.form.exchange
    synchronized: bool = False

    def __post_init__(self) -> None:
        check_problem(self.problem.side_points, self.problem.amplitude)
        check_end(self.iterations, self.tolerance)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the application's own options to the command line."""
    add_problem_arguments(parser)
    add_iteration_arguments(
        parser, tolerance_help="end when no point changes by E or more (default 0: run all --iterations)"
    )
    add_exchange_argument(parser, default=POISSON.form.exchange)
    parser.add_argument("--synchronized", action="store_true", help="meet at a barrier before each border exchange")


def read_options(arguments: argparse.Namespace) -> PoissonOptions:
    """Read the application's options from the parsed command line.

    Raises:
        InvalidInput: as `PoissonOptions`.
    """
    problem = Problem(arguments.grid, arguments.amplitude)
    return PoissonOptions(
        problem, arguments.tolerance, arguments.iterations, arguments.save, arguments.exchange, arguments.synchronized
    )


class Poisson:
    """One rank's part of the solver.

    Raises:
        InvalidInput: at every rank alike, if the grid cannot be divided over the processes.
    """

    def __init__(self, job: JobContext, options: PoissonOptions) -> None:
        from apps.kernels.red_black import RedBlackUpdate

        self.times = HostTimes()
        self._communicator = communicator = job.communicator
        self._options = options
        self._collectives = job.collectives
        self._problem = options.problem
        self._process_grid = ProcessGrid.of_processes(communicator.size)
        self._block = block_of(communicator.rank, self._problem.side_points, self._process_grid)
        source = self._problem.source(self._block)
        self._values = np.zeros_like(source)
        self._update: Callable[[], float] = RedBlackUpdate(self._values, source, self._block.first_is_black).update
        neighbours = self._process_grid.neighbours(communicator.rank)
        self._exchange = BorderExchange(job.messenger, self._values, neighbours, options.exchange)
        self._reduction = job.reduction(1, "max")
        self._clock = job.phase_clock(self.times, self._reduction)
        self._phase = job.pacer.phase(job.duration_s(self._block.points, POISSON.form.arrays, self._block.columns))
        self._global_error = math.inf

    def iterate(self) -> None:
        """Iterate until the global error is below the tolerance or the iterations are used up.

        Raises:
            RunFailed: at every rank alike, if the values overflow.
        """
        self._clock.begin()
        self._loop()
        self._clock.end()
        self._exchange.describe(self.times)
        if not math.isfinite(self._global_error):
            raise RunFailed(
                f"The values overflowed in iteration {len(self.times.iterations_ns)}:"
                f" use a smaller --amplitude than {self._problem.amplitude}."
            )

    def _loop(self) -> None:
        clock, update, phase, exchange = self._clock, self._update, self._phase, self._exchange.exchange
        reduce, barrier, synchronized = self._reduction.reduce, self._collectives.barrier, self._options.synchronized
        iterations_ns, limit, tolerance = self.times.iterations_ns, self._options.iterations, self._options.tolerance
        while True:
            error = clock.compute(update, phase)
            if synchronized:
                barrier()
                clock.end_barrier()
            exchange()
            clock.end_exchange()
            (reached,) = reduce((error,))
            clock.end_reduction()
            clock.end_iteration()
            if reached < tolerance or len(iterations_ns) == limit or reached == math.inf:
                break
        self._global_error = float(reached)

    def results(self) -> dict[str, object]:
        """Return this application's part of the record. Every rank must call this; rank 0's part is complete.

        Raises:
            RunFailed: at every rank alike, if the solution cannot be written where `--save` says.
        """
        options = self._options
        solved = DividedSolution(self._communicator, self._process_grid, self._block, self._values)
        common = solved.results(self._problem, options.save)
        self._exchange.free()
        self._reduction.free()
        return common | {
            "tolerance": options.tolerance,
            "exchange": options.exchange,
            "synchronized": options.synchronized,
            "converged": self._global_error < options.tolerance,
            "global_error": self._global_error,
        }
