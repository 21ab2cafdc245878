"""The journal's disk becomes full, and the broker is stopped, with jobs in all states: none is lost, none runs twice.

It has a testbed of its own, whose journal lies on a small disk in memory (`tests.bench.faults.site`).
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from emulator.model.errors import JournalFailed
from emulator.model.job import JobState
from tests.bench.faults.faults import FILL, JOURNAL_FOLDER
from tests.bench.faults.site import FaultySite, standing
from tests.live.conftest import jobs_of
from tests.live.grid import Grid, until

NAME = "livetest-disk"
JOURNAL_MBYTES = 32
CLUSTERS = ("amsterdam", "delft", "leiden", "utrecht")

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(images: None) -> Iterator[FaultySite]:
    with standing(NAME, "mini", JOURNAL_MBYTES) as site:
        yield site


@pytest.fixture
def disk_grid(site: FaultySite) -> Iterator[Grid]:
    with jobs_of(site.testbed) as grid:
        yield grid


def health(grid: Grid) -> dict[str, str]:
    return httpx.get(f"{grid.client.api_url}/v1/health", trust_env=False).json()


def test_a_full_disk_delays_jobs_in_all_states_and_loses_none(site: FaultySite, disk_grid: Grid) -> None:
    grid = disk_grid
    running = grid.submit(8, 8, clusters=["amsterdam", "delft"])
    ending = grid.submit(
        2, clusters=["delft"], kind="plain", application="plain", arguments={}, command=["sleep", "12"]
    )
    grid.await_state(running, JobState.RUNNING)
    grid.await_state(ending, JobState.RUNNING)
    queued = grid.submit(16, clusters=["amsterdam"])
    with grid.taken_by_others("leiden"):
        claiming = grid.submit(4, clusters=["leiden"])
        grid.await_state(claiming, JobState.CLAIMING)
        starting = grid.submit(2, clusters=["utrecht"])
        grid.await_state(starting, JobState.STARTING)
        site.run("keeper", "python3", "-c", FILL)
        # What is reported now cannot be recorded.
        until(lambda: health(grid)["status"] == "degraded")
    assert "full" in health(grid)["reason"]
    refused = site.testbed("status")
    assert refused.exit_code == 1
    assert "make room on the disk of the volume" in refused.sentence
    with pytest.raises(JournalFailed, match="full"):
        grid.submit(1)
    with pytest.raises(JournalFailed, match="full"):
        grid.client.cancel(queued)
    until(lambda: grid.ranks_at("utrecht") == 2)
    assert grid.ranks_at("leiden") == 0, "it may not start, since that could not be recorded"
    before = [JobState.RUNNING, JobState.RUNNING, JobState.QUEUED, JobState.CLAIMING, JobState.STARTING]
    jobs = (running, ending, queued, claiming, starting)
    assert [grid.job(job).state for job in jobs] == before
    site.shell("keeper", f"rm {JOURNAL_FOLDER}/filler")
    until(grid.is_well)
    grid.finished(ending)
    for job in (running, claiming, starting):
        grid.await_state(job, JobState.RUNNING)
    assert grid.job(queued).state is JobState.QUEUED
    grid.cancel(running)
    grid.await_state(queued, JobState.RUNNING)
    grid.cancel(queued, claiming, starting)
    grid.nothing_held_at(*CLUSTERS)
    assert len(grid.client.jobs()) == len(jobs)


def test_a_broker_that_is_asked_to_stop_releases_what_it_holds_and_keeps_its_queue(
    site: FaultySite, disk_grid: Grid
) -> None:
    grid = disk_grid
    running = grid.submit(8, clusters=["delft"])
    grid.await_state(running, JobState.RUNNING)
    with grid.taken_by_others("leiden"):
        claiming = grid.submit(4, clusters=["leiden"])
        queued = grid.submit(16, clusters=["delft"])
        grid.await_state(claiming, JobState.CLAIMING)
        grid.broker_container.stop(timeout=10)
        grid.nothing_held_at(*CLUSTERS)
        assert grid.broker_container.attrs["State"]["ExitCode"] == 0
    grid.broker_container.start()
    until(grid.is_well)
    assert "not run twice" in grid.job(running).reason
    grid.await_state(queued, JobState.RUNNING)
    grid.await_state(claiming, JobState.RUNNING)
    grid.cancel(queued, claiming)
    grid.nothing_held_at(*CLUSTERS)
