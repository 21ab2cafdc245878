"""Laplace before it runs: what its command line may ask, which points a process owns, and the problem's solution."""

import numpy as np
import pytest

from apps.grid import Block, ProcessGrid
from apps.laplace import LaplaceOptions, LaplaceProblem, read_options, square_block_of
from apps.run import make_parser
from emulator.model.errors import InvalidInput


def options_of(line: str) -> LaplaceOptions:
    return read_options(make_parser("laplace").parse_args(["laplace", *line.split()]))


def test_what_the_command_line_leaves_out_is_as_in_the_public_program() -> None:
    options = options_of("--grid 48 --tolerance 0.001")
    assert (options.problem.side_points, options.problem.amplitude) == (48, 1.0)
    assert (options.tolerance, options.iterations, options.save) == (0.001, None, None)
    assert (options.relaxation, options.exchange) == (1.2, "overlapped")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--grid 0 --iterations 1", "--grid must be at least 1"),
        ("--grid 4 --iterations 0", "--iterations must be at least 1"),
        ("--grid 4", "never end"),
        ("--grid 4 --tolerance nan", "--tolerance must be"),
        ("--grid 4 --iterations 1 --amplitude inf", "--amplitude must be"),
        ("--grid 4 --iterations 1 --relaxation 0", "--relaxation must be between 0 and 2, not 0.0"),
        ("--grid 4 --iterations 1 --relaxation 2", "--relaxation must be between 0 and 2, not 2.0"),
        ("--grid 4 --iterations 1 --relaxation nan", "--relaxation must be between 0 and 2, not nan"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(line: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        options_of(line)


def test_every_process_of_a_square_has_points_for_four_corners() -> None:
    blocks = [square_block_of(rank, 7, 9) for rank in range(9)]
    assert {process_grid for process_grid, _ in blocks} == {ProcessGrid(3, 3)}
    assert all(min(block.rows, block.columns) >= 2 for _, block in blocks)
    assert sum(block.points for _, block in blocks) == 49
    assert all(0 < block.diagonal_corner_points < block.points for _, block in blocks)


@pytest.mark.parametrize("processes", [2, 3, 8, 35, 72])
def test_processes_that_form_no_square_are_refused(processes: int) -> None:
    with pytest.raises(InvalidInput, match=f"cannot be made of {processes} processes"):
        square_block_of(0, 400, processes)


@pytest.mark.parametrize(("side", "processes"), [(1, 1), (3, 4), (11, 36)])
def test_a_grid_without_four_corners_for_each_process_is_refused(side: int, processes: int) -> None:
    with pytest.raises(InvalidInput, match=f"{side} x {side} points is too small"):
        square_block_of(processes - 1, side, processes)


def test_the_solution_is_harmonic_and_its_edges_are_those_at_the_start() -> None:
    problem, whole = LaplaceProblem(63, 2.0), Block(0, 63, 0, 63)
    bordered = problem.start(whole)
    assert np.count_nonzero(bordered) == np.count_nonzero(bordered[-1, 1:-1]) == 63
    bordered[1:-1, 1:-1] = problem.solution(whole)
    around = bordered[2:, 1:-1] + bordered[:-2, 1:-1] + bordered[1:-1, 2:] + bordered[1:-1, :-2]
    assert np.abs(around - 4 * bordered[1:-1, 1:-1]).max() < 2e-5
    assert bordered.max() == pytest.approx(2.0)


def test_a_blocks_part_of_the_problem_is_the_wholes() -> None:
    problem = LaplaceProblem(9, 1.0)
    assert np.array_equal(problem.solution(Block(3, 4, 5, 2)), problem.solution(Block(0, 9, 0, 9))[5:7, 3:7])
    assert np.array_equal(problem.start(Block(3, 4, 5, 4))[-1, 1:-1], problem.start(Block(0, 9, 0, 9))[-1, 4:8])
    assert not problem.start(Block(3, 4, 5, 2)).any()
