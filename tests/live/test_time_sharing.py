"""Nodes shared in time on a running testbed: Slurm spreads tasks over them, and the arbiter shares each processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.model.job import JobState
from emulator.model.views import JobView
from tests.live.conftest import brought_up, jobs_of
from tests.live.grid import Grid

NAME = "livetest-shared"
TOPOLOGY = Path(__file__).with_name("shared.yaml")
STEP_S = 0.05


@pytest.fixture(scope="module")
def grid(images: None) -> Iterator[Grid]:
    """Yield the jobs of a testbed of one cluster of three nodes for two tasks each."""
    with brought_up(NAME, str(TOPOLOGY)) as testbed, jobs_of(testbed) as grid:
        yield grid


def computing(grid: Grid, tasks: int, steps: int) -> int:
    """Submit a job whose tasks only compute."""
    arguments = {"iterations": steps, "compute-s": STEP_S, "pattern": "none"}
    return grid.submit(tasks, application="synthetic", arguments=arguments, clusters=["east"])


def nodes_of(grid: Grid, job: JobView) -> set[str]:
    (part,) = job.components
    return set(grid.at("east", f"scontrol show hostnames $(squeue -h -j {part.allocation} -o %N)").split())


def test_tasks_are_spread_over_the_nodes_and_those_of_two_jobs_share_them(grid: Grid) -> None:
    alone = grid.finished(computing(grid, 3, 40)).result
    assert alone["runtime_s"] == pytest.approx(40 * STEP_S, rel=0.05)
    assert alone["processor_wait_s"]["max"] == pytest.approx(0.0, abs=1e-6)

    first, second = computing(grid, 3, 160), computing(grid, 3, 160)
    placed = [nodes_of(grid, grid.await_state(number, JobState.RUNNING)) for number in (first, second)]
    assert placed == [{"n1", "n2", "n3"}] * 2
    for number in (first, second):
        result = grid.finished(number).result
        # They begin at most some seconds apart, and share the rest.
        assert result["runtime_s"] > 1.3 * 160 * STEP_S
        assert result["processor_wait_s"]["mean"] == pytest.approx(result["runtime_s"] - 160 * STEP_S, abs=0.5)
    grid.nothing_held_at("east")


def test_a_job_on_a_node_of_its_own_waits_for_nobody(grid: Grid) -> None:
    """The second job of one task gets the least loaded node."""
    numbers = [computing(grid, 1, 200), computing(grid, 1, 200)]
    placed = [nodes_of(grid, grid.await_state(number, JobState.RUNNING)) for number in numbers]
    assert placed[0] != placed[1]
    for number in numbers:
        assert grid.finished(number).result["processor_wait_s"]["max"] == pytest.approx(0.0, abs=1e-6)
    grid.nothing_held_at("east")
