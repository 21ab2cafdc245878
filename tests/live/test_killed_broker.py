"""A broker that is killed with SIGKILL, with jobs in every state of the timeline, on a standing `mini`.

Each round has a job in each state when the process dies: queued, claiming, transferring, starting, running, finished.
Docker starts the broker again; nobody does anything else. Needs Docker with Compose.
"""

from __future__ import annotations

import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from emulator.campaigns.run_directory import read_run
from emulator.client import BrokerClient
from emulator.containers import engine
from emulator.containers.state import standing
from emulator.model.errors import TestbedError
from emulator.model.files import FileRegistration
from emulator.model.job import JobSpecification, JobState
from emulator.model.records import DECISIONS_FILE, RunProgress
from emulator.model.views import JobView, Submission
from tests.live.command_line import CommandLine
from tests.live.grid import ENDLESS, Grid
from tests.live.test_broker import SHORT
from tests.live.test_campaign import ANYWAY, SMALL, replayed_decisions
from tests.live.test_claiming import taken_by_others

ROUNDS = 3
CLUSTERS = ("amsterdam", "delft", "leiden", "utrecht")
FILE_BYTES = 12_000_000
"""4.8 s at the rate of the links."""
KILL = """
import os, pathlib, signal
for process in pathlib.Path("/proc").glob("[0-9]*"):
    words = (process / "cmdline").read_bytes().split(b"\\0")
    if words[:1] != [b""] and b"emulator.broker" in words and int(process.name) != 1:
        os.kill(int(process.name), signal.SIGKILL)
"""


class Killable(Grid):
    """A testbed whose broker can be killed, spoken to as a program speaks to it."""

    def __init__(self, testbed: CommandLine, client: BrokerClient, folder) -> None:
        super().__init__(testbed, folder)
        self.client = client

    def run(self, components: list[int], clusters: list[str], arguments=ENDLESS, **more) -> int:
        specification = JobSpecification(
            application="poisson",
            arguments=arguments,
            components=components,
            request="fixed",
            clusters=clusters,
            **more,
        )
        job = self.client.submit(Submission(specification=specification)).id
        self.submitted.append(job)
        return job

    def until_state(self, job: int, state: JobState) -> JobView:
        return self.until(lambda: (view := self.client.job(job)).state is state and view)

    def until(self, condition):
        deadline_host_s = time.monotonic() + 60
        while not (found := condition()):
            assert time.monotonic() < deadline_host_s, "it did not come to that in 60 s"
            time.sleep(0.1)
        return found

    def container(self):
        return engine.connect().containers.get(f"{self.testbed.name}-broker")

    def is_well(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.client.api_url}/v1/health", trust_env=False).status_code == httpx.codes.OK
        return False

    def kill_broker(self) -> None:
        began = self.container().attrs["State"]["StartedAt"]
        self.container().exec_run(["python3", "-c", KILL])
        self.until(lambda: self.container().attrs["State"]["StartedAt"] != began and self.is_well())

    def files_at(self, cluster: str) -> list[str]:
        folder = f"/home/researcher/.testbed/files/{self.testbed.name}"
        return self.at(cluster, f"find {folder} -type f 2> /dev/null").split()

    def end(self, *jobs: int) -> None:
        for job in jobs:
            self.client.cancel(job)
        for job in jobs:
            self.until_state(job, JobState.CANCELLED)


@pytest.fixture
def grid(standing_testbed, tmp_path):
    state = standing(standing_testbed.name)
    with BrokerClient(state.api_url, state.token) as client:
        grid = Killable(standing_testbed, client, tmp_path)
        yield grid
        for job in grid.submitted:
            with contextlib.suppress(TestbedError):
                client.cancel(job)
        grid.nothing_held_at(*CLUSTERS)
        for file in client.files():
            client.remove_file(file.name)


def test_nothing_is_lost_or_run_twice_or_left_behind_in_whatever_state_the_kill_finds_it(grid):
    grid.client.register_file(FileRegistration(name="input", size_bytes=FILE_BYTES, sites=("leiden",)))
    for _ in range(ROUNDS):
        kill_with_a_job_in_each_state(grid)


def kill_with_a_job_in_each_state(grid: Killable) -> None:
    running, done = grid.run([8, 8], ["amsterdam", "delft"]), grid.run([2], ["delft"], SHORT)
    finished = grid.until_state(done, JobState.FINISHED)
    grid.until_state(running, JobState.RUNNING)
    queued = grid.run([16], ["amsterdam"])
    with taken_by_others(grid, "leiden"):
        claiming = grid.run([4], ["leiden"])
        transferring = grid.run([2], ["utrecht"], file="input")
        starting = grid.run([2], ["delft"])
        grid.until_state(starting, JobState.STARTING)
        grid.until(lambda: grid.client.file("input").transfers)
        assert grid.client.job(queued).state is JobState.QUEUED
        assert grid.client.job(claiming).state is JobState.CLAIMING
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
        grid.until_state(job, JobState.RUNNING)
    assert grid.ranks_at("amsterdam") == 16
    assert grid.ranks_at("delft") == 0
    grid.end(*goes_on)
    grid.nothing_held_at(*CLUSTERS)
    grid.until(lambda: [it.site for it in grid.client.file("input").replicas] == ["leiden"])
    assert len(grid.files_at("leiden")) == 1
    grid.until(lambda: grid.files_at("utrecht") == [])


def test_a_broker_killed_from_outside_is_brought_back_by_up_with_its_journal(grid):
    running = grid.run([4], ["delft"])
    grid.until_state(running, JobState.RUNNING)
    events = [event.sequence for event in grid.client.events()]
    grid.container().kill()
    assert "starting it again with its journal" in grid.testbed.succeed("up", "--topology", "mini").errors
    grid.until(grid.is_well)
    assert "not run twice" in grid.client.job(running).reason
    assert [event.sequence for event in grid.client.events()][: len(events)] == events


def test_a_campaign_goes_on_and_its_record_has_no_gap_and_no_duplicate(grid, tmp_path):
    file, out = tmp_path / "small.yaml", tmp_path / "run"
    file.write_text(SMALL)
    arguments = ("campaign", "run", str(file), "--seed", "1", *ANYWAY, "--out", str(out))
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(grid.testbed, *arguments)
        grid.until(lambda: (run := grid.client.current_run()) and run.id)
        run = grid.client.current_run().id
        grid.until(lambda: any(job.state is JobState.RUNNING for job in grid.client.jobs(run)))
        grid.kill_broker()
        ended.result()
    records = read_run(out)
    assert records.manifest.progress is RunProgress.COMPLETE, ended.result().errors
    states = {job.job: job.state for job in records.jobs}
    assert len(states) == len(records.jobs) == 4
    assert set(states.values()) == {"finished", "failed"}
    recorded = [json.loads(line)["sequence"] for line in (out / DECISIONS_FILE).read_text().splitlines()]
    assert recorded == [event.sequence for event in grid.client.events(run, host_wait_s=0)][: len(recorded)]
    assert len(recorded) > 4 * 3
    assert replayed_decisions(grid.testbed, out) >= 4
