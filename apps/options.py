"""Options that the applications on a square grid have in common."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from apps.descriptor import EXCHANGE_MODES, ExchangeMode
from emulator.model.errors import InvalidInput


def add_problem_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the size of the problem, the size of its solution, and where to write it."""
    add = parser.add_argument
    add("--grid", type=int, required=True, metavar="N", help="inner grid points along each side")
    add("--amplitude", type=float, default=1.0, metavar="A", help="largest value of the solution (1)")
    add("--save", type=Path, metavar="FILE.npy", help="write the solution, bottom row first")


def add_iteration_arguments(parser: argparse.ArgumentParser, tolerance_help: str) -> None:
    """Add what ends the solver: a number of iterations, a tolerance, or both."""
    parser.add_argument("--iterations", type=int, metavar="N", help="the largest number of iterations")
    parser.add_argument("--tolerance", type=float, default=0.0, metavar="E", help=tolerance_help)


def add_exchange_argument(parser: argparse.ArgumentParser, default: ExchangeMode) -> None:
    """Add how borders are exchanged, `default` unless asked otherwise."""
    parser.add_argument(
        "--exchange", choices=EXCHANGE_MODES, default=default,
        help="borders in consecutive steps, a direction each, or overlapped: all at once (%(default)s)",
    )  # fmt: skip


def check_problem(side_points: int, amplitude: float) -> None:
    """Check that there is a problem to solve.

    Raises:
        InvalidInput: if there is no grid point, or the amplitude is not a finite number.
    """
    if side_points < 1:
        raise InvalidInput(f"--grid must be at least 1 point along a side, not {side_points}.")
    if not math.isfinite(amplitude):
        raise InvalidInput(f"--amplitude must be a finite number, not {amplitude}.")


def check_end(iterations: int | None, tolerance: float) -> None:
    """Check that the solver would end.

    Raises:
        InvalidInput: if it would not, or the iterations or the tolerance are out of range.
    """
    if not 0.0 <= tolerance < math.inf:
        raise InvalidInput(f"--tolerance must be zero or positive, not {tolerance}.")
    if iterations is not None and iterations < 1:
        raise InvalidInput(f"--iterations must be at least 1, not {iterations}.")
    if iterations is None and tolerance == 0.0:
        raise InvalidInput("The solver would never end: give --iterations, or a --tolerance above zero.")
