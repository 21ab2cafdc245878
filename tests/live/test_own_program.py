"""A user's own MPI program over two clusters: put there, started as ranks, and ended however the job ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.model.job import JobState
from emulator.model.views import JobView
from tests.live.command_line import CommandLine
from tests.live.grid import Grid

CLUSTERS = ["leiden", "utrecht"]
SOLVER = """
import os
import sys
from mpi4py import MPI

world = MPI.COMM_WORLD
assert world.rank == int(os.environ["OMPI_COMM_WORLD_RANK"])
ranks = world.reduce(1)
if world.rank == 0:
    print(f"{ranks} ranks, {os.environ['TESTBED_COMPONENTS']}, {os.environ['TESTBED_DILATION']}, {sys.argv[1]}")
sys.stdout.flush()
world.Barrier()
if world.rank == int(sys.argv[1]):
    sys.exit(7)
"""
"""The rank that its argument names fails."""
ENDLESS = ["sh", "-c", "exec sleep 2345"]


@pytest.fixture
def solver(testbed: CommandLine, tmp_path: Path) -> str:
    """The name of a program in the home folders, that is put there."""
    file = tmp_path / "solver.py"
    file.write_text("#!/usr/bin/env python3\n" + SOLVER)
    file.chmod(0o755)
    testbed.succeed("put", str(file), "--to", ",".join(CLUSTERS))
    return file.name


def submit(grid: Grid, *command: str) -> int:
    return grid.submit(3, 2, kind="mpi", application="own", arguments={}, command=list(command), clusters=CLUSTERS)


def ended(grid: Grid, number: int, state: JobState) -> JobView:
    view = grid.await_state(number, state)
    grid.nothing_held_at(*CLUSTERS)
    assert [grid.at(cluster, "pgrep -fc '^sleep 2345$' || true") for cluster in CLUSTERS] == ["0", "0"]
    return view


def test_a_program_of_one_s_own_runs_as_ranks_over_both_clusters(grid: Grid, solver: str) -> None:
    job = ended(grid, submit(grid, solver, "-1"), JobState.FINISHED)
    assert (job.exit_code, job.specification.application) == (0, "own")
    assert job.placed_s <= job.claimed_s <= job.started_s <= job.finished_s
    assert grid.client.output(job.id).output == "5 ranks, 3,2, 1.0, -1\n"


def test_the_rank_that_fails_is_named_and_a_program_that_is_missing_is_too(grid: Grid, solver: str) -> None:
    job = ended(grid, submit(grid, "python3", solver, "4"), JobState.FAILED)
    assert (job.exit_code, job.reason) == (7, "Rank 4 of the program ended with exit code 7: no error output")
    job = ended(grid, submit(grid, "nowhere"), JobState.FAILED)
    assert job.exit_code == 127
    assert job.reason.endswith("There is no program nowhere, neither in /home/researcher nor on the path.")


def test_a_killed_rank_a_scancel_and_a_cancel_end_all_ranks(grid: Grid) -> None:
    killed = submit(grid, *ENDLESS)
    grid.await_state(killed, JobState.RUNNING)
    grid.at("utrecht", "pkill -KILL -o -f '^sleep 2345$'")
    assert "was ended by signal 9" in ended(grid, killed, JobState.FAILED).reason
    cancelled_there = submit(grid, *ENDLESS)
    grid.await_state(cancelled_there, JobState.RUNNING)
    grid.at("utrecht", "scancel -u researcher")
    assert "utrecht" in ended(grid, cancelled_there, JobState.FAILED).reason
    cancelled = submit(grid, *ENDLESS)
    grid.await_state(cancelled, JobState.RUNNING)
    grid.cancel(cancelled)
    ended(grid, cancelled, JobState.CANCELLED)
