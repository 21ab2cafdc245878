"""Poisson in the node image: its numerics against the analytic solution and a serial run, its pacing, its errors.

Needs Docker and the node image, as `tests.live.node_container` says. Jobs run in the resident MPI world.
"""

import itertools
import time

import numpy as np
import numpy.typing as npt
import pytest

from tests.live.resident_world import ResidentWorld

CONVERGED = "--native --tolerance 1e-11 --iterations 100000"


def source_of(world: ResidentWorld, side: int) -> npt.NDArray[np.float64]:
    """Return the problem's source as the node computes it."""
    return world.array(
        "from apps.grid import Block; from apps.poisson import Problem",
        f"Problem({side}, 1.0).source(Block(0, {side}, 0, {side}))",
    )


def reference(source: npt.NDArray[np.float64], iterations: int) -> npt.NDArray[np.float64]:
    """Compute red-black Gauss-Seidel in plain numpy: black points, then red points, `iterations` times."""
    values = np.zeros_like(source)
    row, column = np.indices(source.shape)
    inner = np.zeros(source.shape, dtype=bool)
    inner[1:-1, 1:-1] = True
    for _ in range(iterations):
        for colour in (0, 1):
            beside = np.roll(values, 1, 0) + np.roll(values, -1, 0) + np.roll(values, 1, 1) + np.roll(values, -1, 1)
            points = inner & ((row + column) % 2 == colour)
            values[points] = (0.25 * (beside + source))[points]
    return values[1:-1, 1:-1]


@pytest.mark.parametrize("side", [1, 2, 9, 24])
def test_one_process_is_red_black_gauss_seidel_exactly(world: ResidentWorld, side: int) -> None:
    record, values = world.solution(1, f"poisson --grid {side} --native --iterations 25")
    assert record["iterations"] == 25
    assert np.array_equal(values, reference(source_of(world, side), 25))


def test_the_solution_converges_to_the_analytic_one_at_second_order(world: ResidentWorld) -> None:
    records = [world.run(4, f"poisson --grid {side} {CONVERGED}").record for side in (15, 31, 63)]
    assert all(record["converged"] for record in records)
    for coarse, fine in itertools.pairwise(records):
        assert coarse["error_max_norm"] / fine["error_max_norm"] == pytest.approx(4.0, rel=0.05)
        assert coarse["error_l2_norm"] / fine["error_l2_norm"] == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("processes", [2, 4, 6, 7, 16])
def test_many_processes_reach_the_solution_of_one(world: ResidentWorld, processes: int) -> None:
    serial_record, serial = world.solution(1, f"poisson --grid 23 {CONVERGED}")
    record, values = world.solution(processes, f"poisson --grid 23 {CONVERGED}")
    assert record["converged"]
    assert np.abs(values - serial).max() < 1e-8
    assert record["iterations"] >= serial_record["iterations"]
    assert record["error_max_norm"] == pytest.approx(serial_record["error_max_norm"], abs=1e-8)


def test_as_many_processes_as_points_along_a_side(world: ResidentWorld) -> None:
    _, serial = world.solution(1, f"poisson --grid 5 {CONVERGED}")
    record, values = world.solution(5, f"poisson --grid 5 {CONVERGED} --components 2,3 --clusters 2")
    assert np.abs(values - serial).max() < 1e-8
    assert (record["components"], record["clusters"], record["processors"]) == ([2, 3], 2, 5)


@pytest.mark.timed
def test_paced_iterations_take_the_emulated_processors_time(world: ResidentWorld) -> None:
    record = world.run(4, "poisson --grid 100 --iterations 40 --dilation 4 --in-cache-ns-per-point 2000").record
    # Medians are compared, because other load on this host may delay single iterations.
    assert record["iteration_spread_s"]["median"] == pytest.approx(0.005, rel=0.10)
    assert record["iteration_spread_s"]["min"] >= 0.005
    assert record["compute_s"]["mean"] >= 40 * 0.005
    assert record["iterations"] == 40
    assert record["phases"] == 4 * 40
    assert record["host_cpu_s"] < 0.5 * 4 * 40 * 0.020
    assert 0 < record["host_kernel_cpu_s"] < record["host_cpu_s"]


@pytest.mark.parametrize(("processes", "where"), [(4, ""), (7, "--components 3,4 --clusters 2")])
@pytest.mark.parametrize("interconnect", ["", "--interconnect myrinet:20e-6:1000:5e-6"])
def test_overlapped_borders_give_the_bits_of_the_four_steps(
    world: ResidentWorld, processes: int, where: str, interconnect: str
) -> None:
    line = f"poisson --grid 23 --iterations 60 --dilation 0.1 {where} {interconnect} --exchange"
    stepwise, values = world.solution(processes, f"{line} steps")
    overlapped, same = world.solution(processes, f"{line} overlapped --synchronized")
    assert np.array_equal(values, same)
    assert stepwise["global_error"] == overlapped["global_error"]
    assert set(stepwise["border_exchange_s"][0]) == {"top", "bottom", "left", "right"}
    assert set(overlapped["border_exchange_s"][0]) == {"total"}
    assert overlapped["barrier_s"]["mean"] > stepwise["barrier_s"]["mean"] == 0.0
    assert (stepwise["interconnects"], stepwise["exchange"]) == (
        ("myrinet" if interconnect else "shared-memory") + ("+wide-area" if where else ""),
        "steps",
    )


@pytest.mark.timed
def test_paced_messages_make_an_iteration_the_same_at_every_dilation(world: ResidentWorld) -> None:
    line = "poisson --grid 60 --iterations 30 --interconnect slow:1e-3:10:1e-3 --dilation"
    slow, fast = (world.run(4, f"{line} {dilation}").record for dilation in (4, 2))
    # 900 points of 115 ns. In two dimensions 4 processes send in two steps each way, then collect and distribute.
    medians_s = [record["iteration_spread_s"]["median"] for record in (slow, fast)]
    assert medians_s[0] == pytest.approx(medians_s[1], rel=1e-3)
    borders_s, reduction_s = 4 * (2e-3 + 240 / 1.25e6), 2 * 2e-3
    assert medians_s[0] > 900 * 115e-9 + borders_s + reduction_s
    # An iteration has eight borders and a reduction. Before and after the loop are three barriers and a broadcast.
    assert (slow["paced_messages"], slow["weight"]) == (30 * (8 + 6) + 3 * 6 + 3, 1.0)


def test_communication_is_measured_as_in_the_study(world: ResidentWorld) -> None:
    record = world.run(6, "poisson --grid 60 --iterations 20 --dilation 4").record
    by_direction_s, totals_s = record["border_exchange_s"], record["border_exchange_total_s"]
    assert [sum(process.values()) for process in by_direction_s] == pytest.approx(totals_s)
    assert 0.0 < record["communication_s"] <= record["runtime_s"]
    # Of 3 x 2 processes the middle ones exchange a row of 20 points and two columns of 30, in both directions.
    assert record["border_exchange_points"] == 2 * (20 + 30 + 30)
    assert record["border_exchange_bytes"] == 8 * record["border_exchange_points"]


@pytest.mark.timed
def test_the_dilation_cancels_out_of_emulated_durations(world: ResidentWorld) -> None:
    line = "poisson --grid 60 --iterations 30 --in-cache-ns-per-point 10000 --dilation"
    slow, fast = (world.run(4, f"{line} {dilation}").record for dilation in (4, 2))
    medians_s = [record["iteration_spread_s"]["median"] for record in (slow, fast)]
    assert medians_s[0] == pytest.approx(medians_s[1], rel=0.10)
    assert (slow["dilation"], fast["dilation"]) == (4.0, 2.0)


@pytest.mark.timed
def test_no_rank_iterates_before_the_moment_it_is_given(world: ResidentWorld) -> None:
    world.run(4, "poisson --grid 20 --iterations 1 --native")
    host_start_at_s = time.time() + 2.0
    outcome = world.run(4, f"poisson --grid 20 --iterations 10 --native --start-at {host_start_at_s}")
    started, finished = outcome.events["started"], outcome.events["finished"]
    assert started["host_moment_s"] == pytest.approx(host_start_at_s, abs=0.5)
    assert started["host_moment_s"] >= host_start_at_s
    assert started["host_late_s"] == pytest.approx(0.0, abs=0.5)
    assert started["processes"] == 4
    assert finished["host_moment_s"] > started["host_moment_s"]


def test_ranks_that_are_ready_too_late_say_by_how_much(world: ResidentWorld) -> None:
    host_start_at_s = time.time() - 5.0
    started = world.run(2, f"poisson --grid 20 --iterations 10 --native --start-at {host_start_at_s}").events["started"]
    assert started["host_late_s"] > 5.0


def test_sampled_numerics_take_the_time_and_say_nothing_of_a_solution(world: ResidentWorld) -> None:
    line = "poisson --grid 40 --iterations 60 --dilation 2 --in-cache-ns-per-point 2000 --numerics"
    real, sampled = (world.run(4, f"{line} {numerics}").record for numerics in ("real", "sampled"))
    assert (real["numerics"], sampled["numerics"]) == ("real", "sampled")
    assert (sampled["iterations"], sampled["phases"]) == (real["iterations"], real["phases"])
    assert sampled["runtime_s"] >= 60 * 400 * 2e-6
    assert sampled["error_max_norm"] is None
    assert real["error_max_norm"] > 0
