"""Heat before it runs: what its command line may ask, and the known solution of the problem."""

import math

import numpy as np
import pytest

from apps.heat import HeatOptions, HeatProblem, read_options
from apps.run import make_parser
from emulator.model.errors import InvalidInput


def options_of(line: str) -> HeatOptions:
    return read_options(make_parser("heat").parse_args(["heat", *line.split()]))


def test_what_the_command_line_leaves_out_is_as_in_the_public_program() -> None:
    options = options_of("--grid 20 --steps 100")
    assert (options.problem.side_points, options.steps, options.save) == (20, 100, None)
    assert (options.problem.ratio, options.problem.edges, options.exchange) == (0.1, "zero", "steps")


def test_steps_may_be_called_iterations() -> None:
    assert options_of("--grid 20 --iterations 7").steps == 7


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--grid 0 --steps 1", "--grid must be at least 1"),
        ("--grid 4 --steps 0", "--steps must be at least 1, not 0"),
        ("--grid 4 --steps 1 --amplitude nan", "--amplitude must be"),
        ("--grid 4 --steps 1 --ratio 0", "--ratio must be above 0"),
        ("--grid 4 --steps 1 --ratio nan", "--ratio must be above 0"),
        ("--grid 4 --steps 1 --ratio 0.2500001", "not stable"),
        ("--grid 4 --steps 1 --distributed-share 0", "--distributed-share must be above 0 and at most 1, not 0"),
        ("--grid 4 --steps 1 --distributed-share 1.1", "--distributed-share must be above 0 and at most 1"),
        ("--grid 4 --steps 1 --distributed-share 0.5 --save a.npy", "--save needs the whole solution"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(line: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        options_of(line)


def test_a_quarter_is_the_largest_stable_ratio() -> None:
    options = options_of("--grid 4 --steps 1 --ratio 0.25")
    assert options.problem.ratio == 0.25


@pytest.mark.parametrize("edges", ["zero", "insulated"])
def test_the_solution_satisfies_the_heat_equation(edges: str) -> None:
    problem = HeatProblem(64, 2.0, 0.1, edges)  # type: ignore[arg-type]
    now, after = problem.solution(1000), problem.solution(1001)
    laplacian = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
    change = after[1:-1, 1:-1] - now[1:-1, 1:-1]
    assert np.abs(change).max() > 1e-4
    assert np.abs(change - 0.1 * laplacian).max() < 1e-3 * np.abs(change).max()


def test_the_largest_value_at_the_start_is_the_amplitude() -> None:
    assert HeatProblem(63, 3.0).solution(0).max() == pytest.approx(3.0)
    assert HeatProblem(64, 3.0, edges="insulated").solution(0).max() == pytest.approx(3.0, rel=1e-2)


def test_insulated_heat_is_half_the_amplitude_at_any_time_and_cold_edges_take_it() -> None:
    insulated = HeatProblem(20, 3.0, edges="insulated")
    assert insulated.heat(insulated.solution(0)) == pytest.approx(1.5)
    assert insulated.heat(insulated.solution(500)) == pytest.approx(1.5)
    cold = HeatProblem(200, 3.0)
    assert cold.heat(cold.solution(0)) == pytest.approx(3.0 * (2.0 / math.pi) ** 2, rel=1e-3)
    assert cold.heat(cold.solution(1000)) < cold.heat(cold.solution(0))


@pytest.mark.parametrize("edges", ["zero", "insulated"])
def test_rows_of_the_solution_are_those_of_the_whole_to_the_last_bit(edges: str) -> None:
    problem = HeatProblem(17, 0.7, edges=edges)
    assert np.array_equal(problem.solution(3, slice(4, 9)), problem.solution(3)[4:9])
