"""Kills of the broker with SIGKILL on a running `mini`, with jobs in all states.

Each round has a job in each state when the process dies: queued, claiming, transferring, starting, running, finished.
Docker restarts the broker; nothing else is done.
"""

from __future__ import annotations

import pytest

from emulator.model.files import FileRegistration
from emulator.model.job import JobState
from tests.live.grid import SHORT, Grid, until

CLUSTERS = ("amsterdam", "delft", "leiden", "utrecht")
FILE_BYTES = 12_000_000
"""4.8 s at the rate of the links."""


def files_at(grid: Grid, cluster: str) -> list[str]:
    folder = f"/home/researcher/.testbed/files/{grid.testbed.name}"
    return grid.at(cluster, f"find {folder} -type f 2> /dev/null").split()


@pytest.mark.parametrize("rounds", [1, pytest.param(3, marks=pytest.mark.long)])
def test_nothing_is_lost_or_run_twice_or_left_behind_in_whatever_state_the_kill_finds_it(
    paced_grid: Grid, rounds: int
) -> None:
    paced_grid.client.register_file(FileRegistration(name="input", size_bytes=FILE_BYTES, sites=("leiden",)))
    for _ in range(rounds):
        kill_with_a_job_in_each_state(paced_grid)
    paced_grid.client.remove_file("input")


def kill_with_a_job_in_each_state(grid: Grid) -> None:
    running = grid.submit(8, 8, clusters=["amsterdam", "delft"])
    done = grid.submit(2, clusters=["delft"], arguments=SHORT)
    finished = grid.finished(done)
    grid.await_state(running, JobState.RUNNING)
    queued = grid.submit(16, clusters=["amsterdam"])
    with grid.taken_by_others("leiden"):
        claiming = grid.submit(4, clusters=["leiden"])
        transferring = grid.submit(2, clusters=["utrecht"], file="input")
        starting = grid.submit(2, clusters=["delft"])
        grid.await_state(starting, JobState.STARTING)
        until(lambda: grid.client.file("input").transfers)
        assert grid.job(queued).state is JobState.QUEUED
        assert grid.job(claiming).state is JobState.CLAIMING
        grid.kill_broker()
    jobs = {job.id: job for job in grid.client.jobs()}
    assert {running, done, queued, claiming, transferring, starting} <= set(jobs)
    assert jobs[done] == finished
    for job in (running, starting):
        assert jobs[job].state is JobState.FAILED
        assert "not run twice" in jobs[job].reason
    goes_on = [queued, claiming]
    if jobs[transferring].state is not JobState.FAILED:
        goes_on.append(transferring)
    for job in goes_on:
        grid.await_state(job, JobState.RUNNING)
    assert grid.ranks_at("amsterdam") == 16
    assert grid.ranks_at("delft") == 0
    grid.cancel(*goes_on)
    grid.nothing_held_at(*CLUSTERS)
    until(lambda: [replica.site for replica in grid.client.file("input").replicas] == ["leiden"])
    assert len(files_at(grid, "leiden")) == 1
    until(lambda: files_at(grid, "utrecht") == [])


@pytest.mark.long
def test_a_broker_killed_from_outside_is_brought_back_by_up_with_its_journal(paced_grid: Grid) -> None:
    running = paced_grid.submit(4, clusters=["delft"])
    paced_grid.await_state(running, JobState.RUNNING)
    events = [event.sequence for event in paced_grid.client.events()]
    paced_grid.broker_container.kill()
    assert "starting it again with its journal" in paced_grid.testbed.succeed("up", "--topology", "mini").errors
    until(paced_grid.is_well)
    assert "not run twice" in paced_grid.job(running).reason
    assert [event.sequence for event in paced_grid.client.events()][: len(events)] == events
