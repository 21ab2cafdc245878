"""Laplace before it runs: what its command line may ask, and the problem's solution."""

import numpy as np
import pytest

from apps.grid import Block
from apps.laplace import LaplaceOptions, LaplaceProblem, read_options
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
