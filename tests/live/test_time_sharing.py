"""Nodes shared in time on a running testbed: Slurm spreads tasks over them, and the arbiter shares each processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.containers import engine
from emulator.model.job import JobState
from emulator.model.records import LocalBurstRow
from emulator.model.views import JobView
from emulator.runs.run_directory import read_rows, read_run
from tests.live.conftest import brought_up, jobs_of
from tests.live.grid import Grid, until
from tests.live.test_campaign import ANYWAY, replayed_decisions

NAME = "livetest-shared"
TOPOLOGY = Path(__file__).with_name("shared.yaml")
STEP_S = 0.05
SENDING_STEP_S = 0.001 + 2 * 0.0101 + 0.0001
CAMPAIGN = f"""
name: sharing
topology: {TOPOLOGY}
jobs: 4
interarrival: {{mean_s: 1}}
choices:
  - {{application: synthetic, splits: {{2: [[2]]}}, memory_mb: 100, processor_share: 0.9, time_alone_s: 5,
     arguments: {{iterations: 100, compute-s: {STEP_S}, pattern: ring, message-bytes: 1000}}}}
policy: normal
queue: just-first
dilation: 2
"""


@pytest.fixture(scope="module")
def grid(images: None) -> Iterator[Grid]:
    """Yield the jobs of a testbed of clusters of three and two nodes for two tasks each."""
    with brought_up(NAME, str(TOPOLOGY)) as testbed, jobs_of(testbed) as grid:
        yield grid


def computing(grid: Grid, tasks: int, steps: int, memory_mb: float = 0.0) -> int:
    """Submit a job whose tasks only compute."""
    arguments = {"iterations": steps, "compute-s": STEP_S, "pattern": "none"}
    return grid.submit(tasks, application="synthetic", arguments=arguments, clusters=["east"], memory_mb=memory_mb)


def sending(grid: Grid, steps: int) -> int:
    """Submit a job of three tasks that do little but send."""
    arguments = {"iterations": steps, "compute-s": 0.001, "pattern": "ring", "message-bytes": 112_504}
    return grid.submit(3, application="synthetic", arguments=arguments, clusters=["east"])


def nodes_of(grid: Grid, job: JobView) -> set[str]:
    (part,) = job.components
    return set(grid.at("east", f"scontrol show hostnames $(squeue -h -j {part.allocation} -o %N)").split())


@pytest.mark.timed
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


@pytest.mark.timed
def test_tasks_on_a_node_share_its_network_interface(grid: Grid) -> None:
    """Each step of a task sends two messages of 10.1 ms; those of two tasks leave their node one after another."""
    alone = grid.finished(sending(grid, 100)).result
    assert alone["runtime_s"] == pytest.approx(100 * SENDING_STEP_S, rel=0.05)
    numbers = [sending(grid, 300), sending(grid, 300)]
    for number in numbers:
        # They begin at most some seconds apart, and share the rest.
        assert grid.finished(number).result["runtime_s"] > 1.3 * 300 * SENDING_STEP_S
    grid.nothing_held_at("east")


def test_slurm_counts_the_memory_of_tasks(grid: Grid) -> None:
    """Two tasks of 300 MB do not fit a node of 512 MB, so the second job gets the node that is left."""
    first = computing(grid, 2, 100, memory_mb=299.5)
    taken = nodes_of(grid, grid.await_state(first, JobState.RUNNING))
    assert "AllocMem=300" in grid.at("east", f"scontrol show node {min(taken)}")
    second = computing(grid, 1, 20, memory_mb=300)
    assert nodes_of(grid, grid.await_state(second, JobState.RUNNING)).isdisjoint(taken)
    for number in (first, second):
        grid.finished(number)
    grid.nothing_held_at("east")


def test_slurm_grants_of_a_node_s_memory_what_the_user_there_leaves(grid: Grid) -> None:
    """Of 512 MB the user holds 60%; each of two tasks may be rounded up by a megabyte."""
    assert "RealMemory=207 " in grid.at("west", "scontrol show node n2")
    assert "RealMemory=514 " in grid.at("west", "scontrol show node n1")


def test_a_job_on_a_node_of_its_own_waits_for_nobody(grid: Grid) -> None:
    """The second job of one task gets the least loaded node."""
    numbers = [computing(grid, 1, 200), computing(grid, 1, 200)]
    placed = [nodes_of(grid, grid.await_state(number, JobState.RUNNING)) for number in numbers]
    assert placed[0] != placed[1]
    for number in numbers:
        assert grid.finished(number).result["processor_wait_s"]["max"] == pytest.approx(0.0, abs=1e-6)
    grid.nothing_held_at("east")


def test_a_job_that_waits_for_a_head_that_comes_back_starts_when_the_arbiter_is_there(grid: Grid) -> None:
    engine.connect().containers.get(f"{NAME}-east").kill()
    until(lambda: not grid.is_well())  # before the broker knows, it would place the job there
    waiting = computing(grid, 3, 40)
    grid.testbed.succeed("up", "--topology", str(TOPOLOGY))
    grid.finished(waiting)
    grid.nothing_held_at("east")


def test_a_campaign_gets_the_nodes_that_its_policy_chose_beside_a_local_user_who_is_recorded(
    grid: Grid, tmp_path: Path
) -> None:
    file, out = tmp_path / "sharing.yaml", tmp_path / "run"
    file.write_text(CAMPAIGN)
    grid.testbed.succeed("campaign", "run", str(file), "--policy", "3dbf-light", *ANYWAY, "--out", str(out))
    records = read_run(out)
    assert (records.manifest.policy, records.manifest.queue) == ("uniform-light", "backfill")
    assert [job.state for job in records.jobs] == ["finished"] * 4
    assert replayed_decisions(grid.testbed, out) == 8
    assert records.manifest.missing_traffic_share is not None, "what the local user sends is sent"
    bursts = read_rows(out, LocalBurstRow)
    assert {(burst.cluster, burst.node) for burst in bursts} == {("west", "n2")}
    assert min(burst.beside for burst in bursts) >= 1
    assert min(burst.delay_s for burst in bursts) >= 0.0
    (live, simulated) = grid.testbed.succeed("share", "--like", str(out), "--json").as_json()
    assert (live["driver"], simulated["driver"]) == ("live", "simulated")
    assert live["execution_s"] == pytest.approx(simulated["execution_s"], rel=0.5)
    assert live["latency_beside_s"] is not None
    (_, as_placed) = grid.testbed.succeed("share", "--like", str(out), "--as-placed", "--json").as_json()
    assert as_placed["wait_s"] == pytest.approx(live["wait_s"])
    assert as_placed["execution_s"] == pytest.approx(live["execution_s"], rel=0.5)
