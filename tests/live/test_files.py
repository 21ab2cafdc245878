"""File transfers over the wide area: at the requested rate, never visible in part, removed when unused.

On the testbed `two-sites`, whose clusters have 8 processors each.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import pytest

from emulator.client import BrokerClient
from emulator.containers import engine
from emulator.containers.state import testbed_state
from emulator.model.errors import TestbedError
from emulator.model.files import BandwidthOrigin, FileRegistration
from emulator.model.job import JobSpecification
from emulator.model.views import JobView, RunRequest, Submission
from emulator.runs.run_directory import read_run
from tests.live.command_line import CommandLine
from tests.live.container_shell import output_in
from tests.live.grid import until

RATE_MBIT = 20
SIZE_BYTES = 8_000_000
"""3.2 s at the rate of the links."""
LONG_BYTES = 40_000_000
CAMPAIGN = """
name: near-files
description: jobs that need both sites, each with a file at one of them
topology: two-sites
jobs: 3
interarrival: {distribution: exponential, mean_s: 10}
application: poisson
arguments: {grid: 50, iterations: 50, tolerance: 0}
component_counts: [2]
component_sizes: [6]
input_files: {sizes_bytes: [20000000], replicas: [1]}
policy: cf
scan_interval_s: 10
"""


class Sites:
    """The two sites as their users see them."""

    def __init__(self, name: str, client: BrokerClient) -> None:
        self.name = name
        self.client = client

    def at(self, site: str, command: str) -> str:
        container = engine.connect().containers.get(f"{self.name}-{site}")
        return output_in(container, command, "researcher")

    def held_at(self, site: str) -> list[str]:
        return self.at(site, f"ls /home/researcher/.testbed/files/{self.name}").split()

    def incoming_at(self, site: str) -> list[str]:
        return self.at(site, f"ls /home/researcher/.testbed/incoming/{self.name} 2> /dev/null").split()

    def checksum_at(self, site: str, name: str) -> str:
        return self.at(site, f"sha256sum /home/researcher/.testbed/files/{self.name}/{name}").split()[0]

    def submit(self, run: int, *components: int, file: str, iterations: int = 50) -> int:
        arguments = {"grid": 50, "iterations": iterations}
        specification = JobSpecification(application="poisson", arguments=arguments, components=components, file=file)
        return self.client.submit(Submission(specification=specification, run=run)).id

    def await_state(self, job: int, *states: str) -> JobView:
        return until(lambda: (view := self.client.job(job)).state.value in states and view)

    def received(self, name: str) -> list[int]:
        return [transfer.received_bytes for transfer in self.client.file(name).transfers]


def answers(client: BrokerClient) -> bool:
    """Return whether a broker answers, even if it is still recovering."""
    try:
        return bool(client.clusters())
    except TestbedError:
        return False


@pytest.fixture(scope="module")
def sites(two_sites: CommandLine) -> Iterator[Sites]:
    state = testbed_state(two_sites.name)
    with BrokerClient(state.api_url, state.token) as client:
        yield Sites(two_sites.name, client)


@pytest.fixture
def run(sites: Sites) -> Iterator[int]:
    view = sites.client.take_run(RunRequest(name="files", policy="cf"))
    sites.client.start_run(view.id)
    yield view.id
    sites.client.end_run(view.id)


@pytest.mark.timed
def test_a_file_crosses_the_wide_area_at_its_rate_is_never_seen_in_part_and_goes_after_its_last_user(sites, run):
    """Two jobs share a transferred file; each has a component at the file's site and one that does not fit there."""
    file = sites.client.register_file(FileRegistration(name="input", size_bytes=SIZE_BYTES, sites=("east",), seed=3))
    assert sites.checksum_at("east", "input") == file.sha256
    jobs = [sites.submit(run, 6, 4, file="input"), sites.submit(run, 2, 4, file="input")]
    until(lambda: any(0 < received < SIZE_BYTES for received in sites.received("input")))
    assert len(sites.incoming_at("west")) == 1
    assert sites.held_at("west") == []
    first = sites.await_state(jobs[0], "finished", "failed")
    assert first.state.value == "finished", first.reason
    assert first.estimated_transfer_s == pytest.approx(SIZE_BYTES * 8 / (RATE_MBIT * 1e6), rel=0.01)
    assert first.started_s >= first.planned_start_s
    second = sites.await_state(jobs[1], "finished", "failed")
    assert second.state.value == "finished", second.reason
    assert [len({part.cluster for part in job.components}) for job in (first, second)] == [2, 2]
    until(lambda: sites.held_at("west") == [])
    assert sites.incoming_at("west") == []
    assert [replica.site for replica in sites.client.file("input").replicas] == ["east"]
    measured = {
        (found.source, found.target): found.rate_mbit
        for found in sites.client.bandwidths()
        if found.origin is BandwidthOrigin.MEASURED
    }
    # Frame headers and TCP's slow start take a part of the links' rate.
    assert 0.8 * RATE_MBIT <= measured["east", "west"] <= RATE_MBIT
    sites.client.remove_file("input")
    assert sites.held_at("east") == []


def test_what_is_brought_is_what_its_source_has(sites, run):
    file = sites.client.register_file(FileRegistration(name="whole", size_bytes=1_000_000, sites=("west",)))
    job = sites.submit(run, 8, 2, file="whole", iterations=1_000_000)
    until(lambda: "whole" in sites.held_at("east"))
    assert sites.checksum_at("east", "whole") == file.sha256
    sites.client.cancel(job)
    sites.await_state(job, "cancelled")
    until(lambda: sites.held_at("east") == [])
    sites.client.remove_file("whole")


def test_a_job_whose_file_arrives_with_other_bytes_fails_and_the_file_is_not_kept(sites, run):
    sites.client.register_file(FileRegistration(name="spoiled", size_bytes=1_000_000, sites=("west",)))
    sites.at("west", f"head -c 1000000 /dev/zero > /home/researcher/.testbed/files/{sites.name}/spoiled")
    job = sites.await_state(sites.submit(run, 8, 2, file="spoiled"), "finished", "failed")
    assert job.state.value == "failed"
    assert "its checksum differs" in job.reason
    assert (sites.held_at("east"), sites.incoming_at("east")) == ([], [])
    sites.client.remove_file("spoiled")


def test_a_cancelled_transfer_leaves_neither_bytes_nor_processes(sites, run):
    sites.client.register_file(FileRegistration(name="long", size_bytes=LONG_BYTES, sites=("east",)))
    job = sites.submit(run, 8, 2, file="long")
    until(lambda: any(received > 0 for received in sites.received("long")))
    assert sites.at("west", "pgrep -c rsync") != "0"
    sites.client.cancel(job)
    assert sites.await_state(job, "cancelled").state.value == "cancelled"
    until(lambda: sites.received("long") == [])
    assert (sites.held_at("west"), sites.incoming_at("west")) == ([], [])
    until(lambda: (sites.at("west", "pgrep -c rsync"), sites.at("east", "pgrep -c rsync")) == ("0", "0"))
    sites.client.remove_file("long")


def test_a_file_is_made_of_the_same_bytes_at_every_site(sites):
    file = sites.client.register_file(FileRegistration(name="both", size_bytes=100_000, sites=("east", "west")))
    assert {sites.checksum_at(site, "both") for site in ("east", "west")} == {file.sha256}
    assert file.sha256 != hashlib.sha256(bytes(100_000)).hexdigest()
    sites.client.remove_file("both")


@pytest.mark.long
@pytest.mark.timed
def test_a_campaign_brings_the_files_that_its_seed_draws_and_replays_without_a_difference(sites, tmp_path):
    """Jobs of 12 processors need both sites, so each transfers its file; divided by 5 the file has 4 MB, or 1.6 s."""
    campaign = tmp_path / "near-files.yaml"
    campaign.write_text(CAMPAIGN)
    testbed, records = CommandLine(sites.name), tmp_path / "run"
    options = [
        "--time-scale",
        "5",
        "--dilation",
        "1",
        "--even-if-hopeless",
        "--require",
        "void",
        "--seed",
        "3",
        "--out",
        str(records),
    ]
    testbed.succeed("campaign", "run", str(campaign), *options)
    run = read_run(records)
    assert run.manifest.time_scale == 5
    assert [(job.state, job.file) for job in sorted(run.jobs, key=lambda job: job.job)] == [
        ("finished", f"near-files-file-{number}") for number in (1, 2, 3)
    ]
    events = [json.loads(line) for line in (records / "decisions.jsonl").read_text().splitlines()]
    arrivals = [event["detail"] for event in events if event["kind"] == "file-arrived"]
    assert sorted(arrival["file"] for arrival in arrivals) == [f"near-files-file-{number}" for number in (1, 2, 3)]
    for arrival in arrivals:
        assert arrival["size_bytes"] == 4_000_000
        assert 0.8 * RATE_MBIT <= arrival["rate_mbit"] <= RATE_MBIT
    assert sites.client.files() == []
    until(lambda: sites.held_at("east") == sites.held_at("west") == [])
    assert "0 differences" in testbed.succeed("replay", str(records)).output


@pytest.mark.long
def test_a_broker_that_is_killed_while_a_file_comes_leaves_no_half_file_and_knows_its_files_again(sites):
    sites.client.register_file(FileRegistration(name="long", size_bytes=LONG_BYTES, sites=("east",)))
    run = sites.client.take_run(RunRequest(name="killed", policy="cf")).id
    sites.client.start_run(run)
    job = sites.submit(run, 8, 2, file="long")
    until(lambda: any(received > 0 for received in sites.received("long")))
    broker = engine.connect().containers.get(f"{sites.name}-broker")
    broker.kill("SIGKILL")
    until(lambda: (sites.at("west", "pgrep -c rsync"), sites.at("east", "pgrep -c rsync")) == ("0", "0"))
    until(lambda: (sites.held_at("west"), sites.incoming_at("west")) == ([], []))
    broker.start()
    until(lambda: answers(sites.client))
    assert [replica.site for replica in sites.client.file("long").replicas] == ["east"]
    # The job continues, and the file is transferred from its beginning.
    until(lambda: any(received > 0 for received in sites.received("long")))
    assert sites.held_at("west") == []
    sites.client.end_run(run)
    assert sites.client.job(job).state.value == "cancelled"
    until(lambda: sites.incoming_at("west") == [])
    sites.client.remove_file("long")
    assert sites.held_at("east") == []
