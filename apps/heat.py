"""The two-dimensional heat equation by explicit steps, as in the study of communication-aware placement (KOALA, 2006).

The master, rank 0, sets up the unit square and distributes its rows in blocks. The workers exchange the rows at their
borders and update their points, for a fixed number of steps, and return the results to the master. The paper does not
say whether the master works too; in the public program that is so described, mpi_heat2D of Lawrence Livermore's MPI
tutorial, it only distributes and collects, and so it does here. A process alone does all of it.

Each step moves a point towards its four neighbours, u' = u + r (sum of neighbours - 4 u), with r = diffusivity x time
step / squared spacing, 0.1 there and here; above 1/4 steps are not stable. A point's arithmetic does not depend on who
does it, so that the result is that of one process to the last bit.

A job that was made shorter may distribute and collect a share of each block only, `--distributed-share`, since the grid
does not become smaller with the number of steps. The workers then set up the rest of their rows themselves, to the same
bits, and the errors of all points are found where the points are.

The square starts as a mode with known decay. Its edges are held at zero, u = a sin(pi x) sin(pi y), or insulated, so
that the heat in it is conserved: u = a (1 + cos(pi x) cos(pi y)) / 2. In time t, in units of 1 / diffusivity, the mode
decays by exp(-2 pi^2 t).
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from apps.application import JobContext
from apps.counters import HostTimes
from apps.descriptor import ExchangeMode
from apps.exchange import BorderExchange
from apps.failing import check_together
from apps.grid import Block, MasterAndWorkers
from apps.options import add_exchange_argument, add_problem_arguments, check_problem
from apps.registry import HEAT
from apps.solution import gather_error_norms, save_solution
from emulator.model.errors import InvalidInput

Values = npt.NDArray[np.float64]
Edges = Literal["zero", "insulated"]

RATIO = 0.1
LARGEST_STABLE_RATIO = 0.25


@dataclass(frozen=True, slots=True)
class HeatProblem:
    """The grid's inner points along a side, the largest value at the start, the ratio r of a step, and the edges."""

    side_points: int
    amplitude: float
    ratio: float = RATIO
    edges: Edges = "zero"

    @property
    def spacing(self) -> float:
        """The distance between grid points on the unit square; insulated edges lie half of it beyond the points."""
        return 1.0 / (self.side_points + 1) if self.edges == "zero" else 1.0 / self.side_points

    def solution(self, steps: int, rows: slice = slice(None)) -> Values:
        """Return the analytic solution after `steps` at the points of `rows`, an array row for a row, bottom first."""
        decay = math.exp(-2.0 * math.pi**2 * self.ratio * self.spacing**2 * steps)
        index = np.arange(self.side_points)
        if self.edges == "zero":
            mode = np.sin(np.pi * self.spacing * (index + 1))
            return self.amplitude * decay * np.outer(mode[rows], mode)
        mode = np.cos(np.pi * self.spacing * (index + 0.5))
        return 0.5 * self.amplitude * (1.0 + decay * np.outer(mode[rows], mode))

    def heat(self, values: Values) -> float:
        """Return the heat in the square: the sum over all points, each weighted by its share of the area."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(values * self.spacing**2))


@dataclass(frozen=True, slots=True)
class HeatOptions:
    """Options of the application.

    Raises:
        InvalidInput: if the problem or the number of steps cannot be meant, or the steps would not be stable.
    """

    problem: HeatProblem
    steps: int
    save: Path | None
    exchange: ExchangeMode = HEAT.form.exchange
    distributed_share: float = 1.0

    def __post_init__(self) -> None:
        check_problem(self.problem.side_points, self.problem.amplitude)
        if self.steps < 1:
            raise InvalidInput(f"--steps must be at least 1, not {self.steps}.")
        if not 0.0 < self.problem.ratio <= LARGEST_STABLE_RATIO:
            raise InvalidInput(
                f"--ratio must be above 0 and at most {LARGEST_STABLE_RATIO}, not {self.problem.ratio}:"
                " beyond it explicit steps of the heat equation are not stable."
            )
        if not 0.0 < self.distributed_share <= 1.0:
            raise InvalidInput(f"--distributed-share must be above 0 and at most 1, not {self.distributed_share}.")
        if self.save is not None and self.distributed_share < 1.0:
            raise InvalidInput("--save needs the whole solution at the master: leave out --distributed-share.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the application's own options to the command line."""
    add_problem_arguments(parser)
    parser.add_argument("--steps", "--iterations", type=int, required=True, metavar="N", help="how many steps to make")
    parser.add_argument(
        "--ratio", type=float, default=RATIO, metavar="R",
        help="diffusivity x time step / squared spacing, at most 0.25 (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--edges", choices=get_args(Edges), default="zero", help="held at zero (default), or insulated")
    parser.add_argument(
        "--distributed-share", type=float, default=1.0, metavar="F",
        help="share of the points that the master really distributes and collects (%(default)s)",
    )  # fmt: skip
    add_exchange_argument(parser, default=HEAT.form.exchange)


def read_options(arguments: argparse.Namespace) -> HeatOptions:
    """Read the application's options from the parsed command line.

    Raises:
        InvalidInput: as `HeatOptions`.
    """
    problem = HeatProblem(arguments.grid, arguments.amplitude, arguments.ratio, arguments.edges)
    return HeatOptions(problem, arguments.steps, arguments.save, arguments.exchange, arguments.distributed_share)


class _Worker:
    """A worker's rows, their border exchange and their steps."""

    def __init__(self, job: JobContext, options: HeatOptions, parts: MasterAndWorkers, block: Block) -> None:
        from apps.kernels.heat import HeatStep

        neighbours = parts.neighbours(job.communicator.rank)
        insulated = options.problem.edges == "insulated"
        self.bordered = np.zeros((block.rows + 2, block.columns + 2))
        self.step = HeatStep(
            self.bordered,
            options.problem.ratio,
            insulated,
            insulated and neighbours.bottom is None,
            insulated and neighbours.top is None,
        ).step
        self.borders = BorderExchange(job.messenger, self.bordered, neighbours, options.exchange)
        self.phase = job.pacer.phase(job.duration_s(block.points, HEAT.form.arrays, block.columns))


class Heat:
    """One rank's part of the solver.

    Raises:
        InvalidInput: at every rank alike, if there are fewer rows than workers.
    """

    def __init__(self, job: JobContext, options: HeatOptions) -> None:
        self.times = HostTimes()
        self._communicator, self._collectives, self._options = job.communicator, job.collectives, options
        self._parts = MasterAndWorkers(job.communicator.size)
        side_points, rank = options.problem.side_points, job.communicator.rank
        blocks = [self._parts.block_of(each, side_points) for each in range(job.communicator.size)]
        own = blocks[rank]
        self._worker = None if own is None else _Worker(job, options, self._parts, own)
        self._rows = _rows_of(own)
        self._own = np.empty((0 if own is None else own.rows, side_points))
        if options.distributed_share < 1.0:
            self._own[...] = options.problem.solution(0, self._rows)
        self._whole = options.problem.solution(0) if rank == 0 else None
        self._initial_heat = 0.0 if self._whole is None else options.problem.heat(self._whole)
        self._shares = None if self._whole is None else [self._shared(self._whole[_rows_of(block)]) for block in blocks]
        self._clock = job.phase_clock(self.times)

    def iterate(self) -> None:
        """Distribute the points, make all steps at the workers, and collect the results at the master."""
        self._clock.begin()
        self._collectives.scatter(self._shares, self._shared(self._own))
        self._clock.end_exchange()
        if self._worker is not None:
            self._steps(self._worker)
        self._collectives.gather(self._shared(self._own), self._shares)
        self._clock.end_exchange()
        self._clock.end()

    def _steps(self, worker: _Worker) -> None:
        clock, exchange, step, phase = self._clock, worker.borders.exchange, worker.step, worker.phase
        inner = worker.bordered[1:-1, 1:-1]
        np.copyto(inner, self._own)
        clock.begin_iteration()
        for _ in range(self._options.steps):
            exchange()
            clock.end_exchange()
            clock.compute(step, phase)
            clock.end_iteration()
        np.copyto(self._own, inner)
        worker.borders.describe(self.times)
        worker.borders.free()

    def results(self) -> dict[str, object]:
        """Return this application's part of the record. Every rank must call this; rank 0's part is complete.

        Raises:
            RunFailed: at every rank alike, if the values have overflowed, or the solution cannot be written where
                `--save` says.
        """
        options, problem = self._options, self._options.problem
        overflowed = not np.isfinite(self._own if self._whole is None else self._whole).all()
        complaint = (
            f"The values overflowed within {options.steps} steps: use a smaller --amplitude than {problem.amplitude}."
        )
        check_together(self._communicator, complaint if overflowed else None)
        rows, values = self._solved()
        norms = gather_error_norms(self._communicator, values - problem.solution(options.steps, rows), problem.spacing)
        heats = self._communicator.gather(problem.heat(values), root=0)
        save_solution(self._communicator, self._whole, options.save)
        if norms is None or heats is None:
            return {}
        return {
            "grid": problem.side_points,
            "workers": self._parts.workers,
            "ratio": problem.ratio,
            "edges": problem.edges,
            "exchange": options.exchange,
            "initial_heat": self._initial_heat,
            "distributed_share": options.distributed_share,
            "final_heat": math.fsum(heats),
            **norms,
        }

    def _solved(self) -> tuple[slice, Values]:
        """Return the rows that this rank has at the end, with their values: the master all, or each worker its own."""
        if self._options.distributed_share < 1.0:
            return self._rows, self._own
        return (slice(0, 0), self._own[0:0]) if self._whole is None else (slice(None), self._whole)

    def _shared(self, rows: Values) -> Values:
        """Return those points of a block, in a row, that the master distributes and collects."""
        return rows.reshape(-1)[: round(rows.size * self._options.distributed_share)]


def _rows_of(block: Block | None) -> slice:
    """Return the rows of the whole grid that lie in `block`; none for a master."""
    return slice(0, 0) if block is None else slice(block.first_row, block.first_row + block.rows)
