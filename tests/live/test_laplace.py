"""Laplace in the node image: equality with one process, the known solution, the end of the iteration, errors.

Needs Docker and the node image, as `tests.live.node_container` says. Jobs run in the resident MPI world.
"""

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from tests.live.resident_world import ResidentWorld

CONVERGED = "--native --tolerance 1e-11 --iterations 100000"
RELAXATION = 1.2


def start_of(world: ResidentWorld, side: int) -> npt.NDArray[np.float64]:
    """Return the points with the square's edges at the start, as the node computes them."""
    return world.array(
        "from apps.grid import Block; from apps.laplace import LaplaceProblem",
        f"LaplaceProblem({side}, 1.0).start(Block(0, {side}, 0, {side}))",
    )


def reference(start: npt.NDArray[np.float64], squares: int, iterations: int) -> npt.NDArray[np.float64]:
    """Solve in one process, in plain Python, with `squares` x `squares` blocks that are divided into corners.

    All upper left and lower right corners are updated first, then all others; within a corner upwards and from left to
    right.
    """
    values = start.tolist()
    side = len(values) - 2
    cuts = []
    for block in range(squares):
        first, end = block * side // squares, (block + 1) * side // squares
        cuts += [(first + 1, first + (end - first) // 2 + 1), (first + (end - first) // 2 + 1, end + 1)]
    beside, kept = 0.25 * RELAXATION, 1.0 - RELAXATION
    for _ in range(iterations):
        for phase in (1, 0):
            for (upper, rows), (right, columns) in itertools.product(enumerate(cuts), enumerate(cuts)):
                if (upper + right) % 2 != phase:
                    continue
                for row, column in itertools.product(range(*rows), range(*columns)):
                    around = values[row - 1][column] + values[row + 1][column]
                    around = around + values[row][column + 1] + values[row][column - 1]
                    values[row][column] = beside * around + kept * values[row][column]
    return np.array(values)[1:-1, 1:-1]


@pytest.mark.parametrize(("processes", "side"), [(1, 2), (1, 3), (1, 24), (4, 4), (4, 25), (9, 23), (16, 41)])
def test_any_square_of_processes_computes_what_one_process_would(
    world: ResidentWorld, processes: int, side: int
) -> None:
    record, values = world.solution(processes, f"laplace --grid {side} --native --iterations 25")
    squares = round(processes**0.5)
    assert (record["process_columns"], record["process_rows"], record["iterations"]) == (squares, squares, 25)
    assert np.array_equal(values, reference(start_of(world, side), squares, 25))


def test_the_solution_converges_to_the_analytic_one_at_second_order(world: ResidentWorld) -> None:
    records = [world.run(4, f"laplace --grid {side} {CONVERGED}").record for side in (15, 31, 63)]
    assert all(record["converged"] for record in records)
    for coarse, fine in itertools.pairwise(records):
        assert coarse["error_max_norm"] / fine["error_max_norm"] == pytest.approx(4.0, rel=0.1)
        assert coarse["error_l2_norm"] / fine["error_l2_norm"] == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("processes", [4, 9, 25])
def test_many_processes_reach_the_solution_of_one(world: ResidentWorld, processes: int) -> None:
    serial_record, serial = world.solution(1, f"laplace --grid 23 {CONVERGED}")
    record, values = world.solution(processes, f"laplace --grid 23 {CONVERGED}")
    assert record["converged"]
    assert np.abs(values - serial).max() < 1e-9
    assert record["error_max_norm"] == pytest.approx(serial_record["error_max_norm"], abs=1e-9)


def test_borders_at_once_and_in_steps_give_the_same_to_the_last_bit(world: ResidentWorld) -> None:
    _, at_once = world.solution(9, "laplace --grid 20 --native --iterations 30 --exchange overlapped")
    record, in_steps = world.solution(9, "laplace --grid 20 --native --iterations 30 --exchange steps")
    assert record["exchange"] == "steps"
    assert np.array_equal(at_once, in_steps)


def test_the_average_change_is_that_from_20_iterations_earlier(world: ResidentWorld) -> None:
    _, earlier = world.solution(4, "laplace --grid 19 --native --iterations 20")
    record, later = world.solution(4, "laplace --grid 19 --native --iterations 40")
    assert record["average_change"] == pytest.approx(np.abs(later - earlier).mean(), rel=1e-12)


def test_it_ends_at_the_first_comparison_below_the_tolerance(world: ResidentWorld) -> None:
    tolerance = 1e-4
    ended = world.run(4, f"laplace --grid 19 --native --tolerance {tolerance} --iterations 10000").record
    assert ended["converged"]
    assert ended["average_change"] < tolerance
    assert ended["iterations"] % 20 == 0
    before = world.run(4, f"laplace --grid 19 --native --iterations {ended['iterations'] - 20}").record
    assert not before["converged"]
    assert before["average_change"] >= tolerance


def test_too_few_iterations_to_compare_have_no_average_change(world: ResidentWorld) -> None:
    record = world.run(4, "laplace --grid 9 --native --tolerance 1e9 --iterations 19").record
    assert (record["iterations"], record["average_change"], record["converged"]) == (19, None, False)


@pytest.mark.timed
def test_an_iteration_of_two_phases_takes_the_emulated_processors_time(world: ResidentWorld) -> None:
    line = "laplace --grid 101 --iterations 40 --dilation 4 --in-cache-ns-per-point 1000 --weight 2"
    record = world.run(4, line).record
    largest_block_s = 51 * 51 * 2e-6
    assert record["phases"] == 2 * 4 * 40
    assert record["iteration_spread_s"]["median"] == pytest.approx(largest_block_s, rel=0.10)
    assert record["compute_s"]["max"] >= 40 * largest_block_s
