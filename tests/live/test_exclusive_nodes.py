"""Exclusive nodes on a running testbed: jobs of the grid and of other users take whole nodes, and are counted so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.model.errors import ImpossibleRequest
from emulator.model.job import JobState
from tests.live.conftest import brought_up, jobs_of
from tests.live.grid import Grid, until

NAME = "livetest-whole"
TOPOLOGY = Path(__file__).with_name("exclusive.yaml")
CLUSTERS = ("east", "west")


@pytest.fixture(scope="module")
def grid(images: None) -> Iterator[Grid]:
    """Yield the jobs of a testbed of two clusters of four dual-processor nodes."""
    with brought_up(NAME, str(TOPOLOGY)) as testbed, jobs_of(testbed) as grid:
        yield grid


def idle(grid: Grid) -> dict[str, int]:
    listed = grid.testbed.succeed("clusters", "--json").as_json()
    return {cluster["name"]: cluster["idle"] for cluster in listed}


def held_by(grid: Grid, account: str) -> list[int]:
    """Return the processors that each running job of `account` holds in any cluster."""
    listed = [grid.at(cluster, f"squeue -h -t R -u {account} -o %C") for cluster in CLUSTERS]
    return [int(number) for text in listed for number in text.split()]


def test_a_job_of_five_holds_six_processors_over_two_clusters_and_runs_five_ranks(grid: Grid) -> None:
    number = grid.submit(3, 2, clusters=list(CLUSTERS))
    job = grid.await_state(number, JobState.RUNNING)
    assert [(part.cluster, part.processors) for part in job.components] == [("east", 4), ("west", 2)]
    shown = [grid.at(part.cluster, f"squeue -h -j {part.allocation} -o '%t %D %C'") for part in job.components]
    assert shown == ["R 2 4", "R 1 2"]
    assert [grid.ranks_at(cluster) for cluster in CLUSTERS] == [3, 2]
    until(lambda: idle(grid) == {"east": 4, "west": 6})
    grid.cancel(number)
    grid.nothing_held_at(*CLUSTERS)


def test_a_program_of_one_s_own_sees_five_ranks_and_a_plain_job_has_as_many_processes(grid: Grid) -> None:
    told = ["sh", "-c", "echo $OMPI_COMM_WORLD_SIZE $TESTBED_COMPONENTS"]
    own = grid.submit(3, 2, kind="mpi", application="own", arguments={}, command=told, clusters=list(CLUSTERS))
    grid.finished(own)
    assert grid.client.output(own).output.splitlines() == ["5 3,2"] * 5
    said = ["sh", "-c", "echo $TESTBED_COMPONENTS"]
    plain = grid.submit(3, 2, kind="plain", application="plain", arguments={}, command=said, clusters=list(CLUSTERS))
    grid.finished(plain)
    assert grid.client.output(plain).output.splitlines() == ["3,2"] * 5


def test_a_dummy_job_of_one_processor_takes_a_node(grid: Grid) -> None:
    grid.at("east", "setpriv --reuid=background --regid=background --clear-groups "
            "sbatch -n 1 --chdir=/ --output=/dev/null --wrap 'sleep 600'")  # fmt: skip
    until(lambda: held_by(grid, "background") == [2])
    until(lambda: idle(grid) == {"east": 6, "west": 8})
    refused = grid.submit(7, clusters=["east"])
    until(lambda: any(entry.placement_tries for entry in grid.client.queue() if entry.job == refused))
    assert grid.job(refused).state is JobState.QUEUED
    grid.client.cancel(refused)
    grid.at("east", "scancel --user=background")
    grid.nothing_held_at(*CLUSTERS)


def test_a_background_load_counts_what_its_jobs_really_hold(grid: Grid) -> None:
    grid.testbed.succeed("background", "start", "--band", "30-40")
    try:
        until(lambda: sum(held_by(grid, "background")) == 6)
        assert all(held % 2 == 0 for held in held_by(grid, "background"))
        status = grid.testbed.succeed("background", "status", "--json").as_json()
        assert status["load"] == pytest.approx(6 / 16)
        until(lambda: sum(idle(grid).values()) == 10)
    finally:
        grid.testbed.succeed("background", "stop")
    grid.nothing_held_at(*CLUSTERS)


def test_what_no_idle_nodes_could_hold_is_refused(grid: Grid) -> None:
    with pytest.raises(ImpossibleRequest, match="in whole nodes of 2"):
        grid.submit(5, 3, clusters=["east", "east"])
