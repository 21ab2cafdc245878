"""Heat in the node image: equality with one process bit for bit, known decay, conservation, master and workers, errors.

Needs Docker and the node image, as `tests.live.node_container` says. Jobs run in the resident MPI world.
"""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from tests.live.resident_world import ResidentWorld

RATIO = 0.1


def start_of(world: ResidentWorld, side: int, edges: str) -> npt.NDArray[np.float64]:
    """Return the points at the start, as the node computes them."""
    return world.array(
        "from apps.heat import HeatProblem", f"HeatProblem({side}, 1.0, {RATIO}, {edges!r}).solution(steps=0)"
    )


def reference(start: npt.NDArray[np.float64], edges: str, steps: int) -> npt.NDArray[np.float64]:
    """Compute explicit steps of the whole square in plain numpy."""
    values = start
    for _ in range(steps):
        bordered = np.pad(values, 1, mode="edge") if edges == "insulated" else np.pad(values, 1)
        around = bordered[:-2, 1:-1] + bordered[2:, 1:-1] + bordered[1:-1, :-2] + bordered[1:-1, 2:]
        values = values + RATIO * (around - 4.0 * values)
    return values


@pytest.mark.parametrize("edges", ["zero", "insulated"])
@pytest.mark.parametrize(("processes", "side"), [(1, 1), (1, 24), (2, 24), (3, 25), (6, 5), (8, 23)])
def test_any_number_of_processes_makes_the_steps_of_one_exactly(
    world: ResidentWorld, processes: int, side: int, edges: str
) -> None:
    record, values = world.solution(processes, f"heat --grid {side} --native --steps 25 --edges {edges}")
    assert (record["iterations"], record["edges"]) == (25, edges)
    assert np.array_equal(values, reference(start_of(world, side, edges), edges, 25))


def test_a_sine_decays_by_the_factor_of_its_mode_in_each_step(world: ResidentWorld) -> None:
    side, steps = 15, 300
    _, values = world.solution(4, f"heat --grid {side} --native --steps {steps}")
    factor = 1.0 - 8.0 * RATIO * math.sin(math.pi / (2 * (side + 1))) ** 2
    assert np.abs(values / (factor**steps * start_of(world, side, "zero")) - 1.0).max() < 1e-12


@pytest.mark.parametrize(("edges", "sides"), [("zero", (15, 31, 63)), ("insulated", (16, 32, 64))])
def test_the_solution_converges_to_the_analytic_one_at_second_order(
    world: ResidentWorld, edges: str, sides: tuple[int, ...]
) -> None:
    # The time step is proportional to the squared spacing: four times as many steps give the same time.
    lines = [f"heat --grid {side} --native --steps {100 * 4**index}" for index, side in enumerate(sides)]
    records = [world.run(4, f"{line} --edges {edges}").record for line in lines]
    for coarse, fine in itertools.pairwise(records):
        assert coarse["error_max_norm"] / fine["error_max_norm"] == pytest.approx(4.0, rel=0.05)
        assert coarse["error_l2_norm"] / fine["error_l2_norm"] == pytest.approx(4.0, rel=0.05)


def test_insulated_edges_keep_the_heat_and_cold_ones_take_it(world: ResidentWorld) -> None:
    insulated = world.run(4, "heat --grid 20 --native --steps 2000 --edges insulated --ratio 0.25").record
    assert insulated["final_heat"] == pytest.approx(insulated["initial_heat"], rel=1e-12)
    cold = world.run(4, "heat --grid 20 --native --steps 2000 --edges zero --ratio 0.25").record
    assert cold["final_heat"] < 0.01 * cold["initial_heat"]


def test_borders_at_once_and_in_steps_give_the_same_to_the_last_bit(world: ResidentWorld) -> None:
    _, in_steps = world.solution(5, "heat --grid 20 --native --steps 30 --exchange steps")
    record, at_once = world.solution(5, "heat --grid 20 --native --steps 30 --exchange overlapped")
    assert record["exchange"] == "overlapped"
    assert np.array_equal(at_once, in_steps)


@pytest.mark.timed
def test_workers_compute_at_the_emulated_processors_pace_and_the_master_does_not(world: ResidentWorld) -> None:
    record = world.run(4, "heat --grid 100 --steps 40 --dilation 4 --in-cache-ns-per-point 1000 --weight 2").record
    largest_block_s = 34 * 100 * 2e-6
    assert (record["workers"], record["phases"], record["iterations"]) == (3, 3 * 40, 40)
    assert record["iteration_spread_s"]["median"] == pytest.approx(largest_block_s, rel=0.10)
    assert record["compute_s"]["max"] >= 40 * largest_block_s
    assert record["compute_s"]["mean"] <= 0.8 * record["compute_s"]["max"]
    assert record["runtime_s"] >= 40 * largest_block_s


@pytest.mark.timed
def test_the_distribution_and_the_results_take_the_interconnects_time(world: ResidentWorld) -> None:
    # The master sends all rows, one block after another, and the last block must come back to it.
    record = world.run(4, "heat --grid 100 --steps 1 --dilation 2 --interconnect slow:1e-3:10:0").record
    distribution_s = 100 * 100 * 64 / 10e6
    results_s = 33 * 100 * 64 / 10e6
    assert record["interconnects"] == "slow"
    assert record["runtime_s"] >= distribution_s + results_s
    assert record["exchange_s"]["max"] >= distribution_s + results_s


@pytest.mark.parametrize("edges", ["zero", "insulated"])
def test_a_share_of_the_points_is_distributed_and_the_result_is_the_same(world: ResidentWorld, edges: str) -> None:
    line = f"heat --grid 25 --native --steps 40 --edges {edges}"
    whole, part = (world.run(4, f"{line} --distributed-share {share}").record for share in (1, 0.3))
    assert (whole["distributed_share"], part["distributed_share"]) == (1.0, 0.3)
    assert part["error_max_norm"] == whole["error_max_norm"]
    assert part["error_l2_norm"] == pytest.approx(whole["error_l2_norm"], rel=1e-12)
    assert part["final_heat"] == pytest.approx(whole["final_heat"], rel=1e-12)
