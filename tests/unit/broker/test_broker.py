"""The broker's promises: all components or none, the timeline from the events, everything released whatever happens."""

import sqlite3
import time

import pytest

from emulator.broker.journal import Journal
from emulator.broker.service import Broker
from emulator.model.documents import parse_document
from emulator.model.errors import (
    ClusterUnreachable,
    ImpossibleRequest,
    InvalidInput,
    NotStanding,
    TestbedBusy,
    UnknownName,
)
from emulator.model.job import JobSpecification, JobState
from emulator.model.settings import BrokerSettings, Head
from emulator.model.topology import Topology
from emulator.model.views import EventKind, RunRequest, Submission
from tests.unit.broker.scripted import ScriptedCluster

TOPOLOGY = """
name: two
processor: {name: p, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 1000}
middleware: {base_s: 5, per_component_s: 1}
clusters:
  - {name: east, nodes: 4, access_link: {up_mbit: 10, down_mbit: 10}}
  - {name: west, nodes: 4, access_link: {up_mbit: 10, down_mbit: 10}}
default_link: {delay_s: 0.001}
"""


class House:
    """A broker over two scripted clusters of 8 processors."""

    def __init__(self, folder, journal: Journal | None = None, **more) -> None:
        settings = BrokerSettings(
            testbed="t",
            topology_file=folder,
            token_file=folder,
            key_file=folder,
            known_hosts_file=folder,
            journal_file=folder / "journal",
            heads=tuple(Head(cluster=name, address=name) for name in ("east", "west")),
            **more,
        )
        self.east, self.west = ScriptedCluster("east", 8), ScriptedCluster("west", 8)
        self.journal = journal or Journal(folder / "journal")
        self.topology = parse_document(TOPOLOGY, Topology, source="two")
        self.broker = self.make_broker(self.topology, [self.east, self.west], settings, self.journal)
        self.broker.open()
        self.until(lambda: not self.broker.unreachable())

    def make_broker(self, *arguments) -> Broker:
        return Broker(*arguments)

    def until(self, condition) -> None:
        deadline = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < deadline, "it did not come to that in 10 s"
            time.sleep(0.005)

    def submit(self, *components: int, run: int = 0, **more) -> int:
        specification = JobSpecification(**({"application": "poisson", "components": components} | more))
        return self.broker.submit(Submission(specification=specification, run=run)).id

    def until_state(self, job: int, state: JobState) -> None:
        self.until(lambda: self.broker.job(job).state is state)

    def started(self, job: int, on: ScriptedCluster) -> None:
        self.until_state(job, JobState.STARTING)
        self.until(lambda: on.programs)
        on.programs[-1].say(event="started", host_moment_s=time.time(), host_late_s=0.25, processes=8)
        self.until_state(job, JobState.RUNNING)

    def kinds(self, run: int = 0) -> list[EventKind]:
        return [event.kind for event in self.journal.read(run, 0) if event.kind is not EventKind.DECISION]

    @property
    def nothing_is_held(self) -> bool:
        return not self.east.held and not self.west.held


def test_a_job_goes_from_submission_to_release_and_its_times_follow_one_another(house):
    job = house.submit(6, 6)
    house.started(job, house.east)
    assert {len(house.east.held), len(house.west.held)} == {1}
    house.east.programs[-1].finish()
    house.until_state(job, JobState.FINISHED)
    view = house.broker.job(job)
    moments = [view.submitted_s, view.placed_s, view.claimed_s, view.started_s, view.finished_s, view.released_s]
    assert moments == sorted(moments)
    assert (view.overhead_late_s, view.result, view.exit_code) == (0.25, {"runtime_s": 1.0}, 0)
    assert [component.cluster for component in view.components] == ["east", "west"]
    assert house.nothing_is_held
    assert house.kinds() == [
        EventKind.SUBMITTED,
        EventKind.PLACED,
        EventKind.COMPONENT_CLAIMED,
        EventKind.COMPONENT_CLAIMED,
        EventKind.CLAIMED,
        EventKind.STARTED,
        EventKind.FINISHED,
    ]


def test_the_ranks_start_is_paced_to_base_plus_one_second_per_component(house):
    job = house.submit(6, 6)
    house.started(job, house.east)
    script = house.east.scripts[-1]
    start_at = float(script.split("--start-at ")[1].split()[0])
    placed = next(event for event in house.journal.read(0, 0) if event.kind is EventKind.PLACED)
    assert start_at == pytest.approx(placed.host_moment_s + 7, abs=0.1)
    assert "-H east:6,west:6 -n 12" in script
    assert "--components 6,6" in script


def test_components_on_one_cluster_share_an_allocation(house):
    job = house.submit(4, 3, request="fixed", clusters=("west", "west"))
    house.started(job, house.west)
    assert next(iter(house.west.held.values()))[1] == 7
    assert "-H west:7 -n 7" in house.west.scripts[-1]
    assert "--components 7" in house.west.scripts[-1]


def test_when_one_cluster_refuses_every_other_claim_is_released(house):
    house.west.refuses = True
    job = house.submit(6, 6)
    house.until_state(job, JobState.FAILED)
    assert "refused 6 processors" in house.broker.job(job).reason
    assert house.nothing_is_held


def test_no_rank_starts_before_all_components_hold_their_processors(house):
    house.west.holds_back = True
    job = house.submit(6, 6)
    house.until(lambda: house.west.held)
    time.sleep(0.05)
    assert house.broker.job(job).state is JobState.CLAIMING
    assert house.east.scripts == []
    house.broker.cancel(job)
    house.until_state(job, JobState.CANCELLED)
    assert house.nothing_is_held


def test_processors_asked_for_but_not_given_are_not_placed_on_again(house):
    house.east.holds_back = house.west.holds_back = True
    house.submit(8)
    second = house.submit(8)
    third = house.submit(8)
    house.until(lambda: house.broker.job(second).state is JobState.CLAIMING)
    assert house.broker.job(third).state is JobState.QUEUED


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.CLAIMING, JobState.STARTING, JobState.RUNNING])
def test_a_job_can_be_cancelled_in_every_state_and_leaves_nothing(house, state):
    if state is JobState.QUEUED:
        house.east.silent = house.west.silent = True
    house.east.holds_back = state is JobState.CLAIMING
    job = house.submit(8)
    if state is JobState.RUNNING:
        house.started(job, house.east)
    house.until_state(job, state)
    house.broker.cancel(job)
    house.until_state(job, JobState.CANCELLED)
    assert state.value in house.broker.job(job).reason
    assert house.nothing_is_held


def test_a_job_whose_ranks_fail_is_failed_with_the_application_s_own_sentence(house):
    job = house.submit(8)
    house.started(job, house.east)
    house.east.programs[-1].say(event="failed", reason="--grid must be at least 1 point along a side, not 0.")
    house.east.programs[-1].end(3, "mpirun noise")
    house.until_state(job, JobState.FAILED)
    view = house.broker.job(job)
    assert (view.reason, view.exit_code) == ("--grid must be at least 1 point along a side, not 0.", 3)
    assert house.nothing_is_held


def test_losing_a_cluster_fails_the_jobs_on_it_and_no_others(house):
    on_west = house.submit(4, request="fixed", clusters=("west",))
    house.started(on_west, house.west)
    on_east = house.submit(4, request="fixed", clusters=("east",))
    house.started(on_east, house.east)
    house.west.fall_silent()
    house.until_state(on_west, JobState.FAILED)
    assert "'west' stopped answering" in house.broker.job(on_west).reason
    assert EventKind.CLUSTER_LOST in house.kinds()
    house.east.programs[-1].finish()
    house.until_state(on_east, JobState.FINISHED)


@pytest.mark.parametrize(
    "failure", [ClusterUnreachable("It stopped answering."), sqlite3.OperationalError("disk full")]
)
def test_a_cluster_that_could_not_be_swept_when_it_was_found_is_found_later(tmp_path, failure):
    class Unswept(House):
        def make_broker(self, *arguments) -> Broker:
            self.west.sweeps_failing = [failure, failure]
            return super().make_broker(*arguments)

    house = Unswept(tmp_path)
    assert house.west.sweeps_failing == []
    house.started(house.submit(6, 6), house.east)
    house.broker.close()
    house.journal.close()


def test_a_waiting_job_starts_at_the_scan_after_room_appears(house):
    run = house.broker.begin_run(RunRequest(name="fast", dilation=0.05)).id
    house.broker.start_run(run)
    first = house.submit(8, 8, run=run)
    house.started(first, house.east)
    second = house.submit(8, run=run)
    house.east.programs[-1].finish()
    house.until_state(second, JobState.STARTING)
    view = house.broker.job(second)
    assert view.placement_tries >= 2
    assert view.placed_s >= house.broker.job(first).finished_s


def test_one_run_holds_the_testbed_and_the_standing_run_waits(house):
    run = house.broker.begin_run(RunRequest(name="first", dilation=2))
    with pytest.raises(TestbedBusy, match="Run 1 \\(first\\) holds the testbed"):
        house.broker.begin_run(RunRequest(name="second"))
    with pytest.raises(TestbedBusy):
        house.submit(4)
    with pytest.raises(NotStanding, match="preparing"):
        house.submit(4, run=run.id)
    house.broker.start_run(run.id)
    job = house.submit(4, run=run.id)
    house.until_state(job, JobState.STARTING)
    house.broker.end_run(run.id)
    assert house.broker.job(job).state is JobState.CANCELLED
    assert house.nothing_is_held
    assert house.broker.current_run() is None
    assert house.kinds(run.id)[-1] is EventKind.RUN_ENDED


def test_a_run_cannot_begin_while_a_job_outside_of_runs_is_unfinished(house):
    job = house.submit(4)
    with pytest.raises(TestbedBusy, match="await them first, or `testbed cancel` them"):
        house.broker.begin_run(RunRequest(name="first"))
    house.broker.cancel(job)
    house.until_state(job, JobState.CANCELLED)
    house.broker.begin_run(RunRequest(name="first"))


def test_a_run_s_moments_are_in_its_own_emulated_seconds(house):
    run = house.broker.begin_run(RunRequest(name="slow", dilation=0.01))
    house.broker.start_run(run.id)
    time.sleep(0.05)
    job = house.submit(4, run=run.id)
    assert house.broker.job(job).submitted_s >= 5


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"application": "quake"}, UnknownName, "no application 'quake' \\(known: poisson, laplace, "),
        ({"arguments": {"dilation": 1}}, InvalidInput, "arguments.dilation"),
        ({"components": (9,)}, ImpossibleRequest, "a component of 9 processors"),
        ({"components": (6, 5, 5), "request": "unordered"}, ImpossibleRequest, "can never be placed on clusters of"),
        ({"queue": "east"}, InvalidInput, "queue: 'placement' has one queue for all jobs"),
        ({"queue": "north"}, UnknownName, "no cluster 'north'"),
    ],
)
def test_what_cannot_be_run_is_refused_at_submission(house, more, error, said):
    specification = JobSpecification(**({"application": "poisson", "components": (8,)} | more))
    with pytest.raises(error, match=said):
        house.broker.submit(Submission(specification=specification))
    assert house.broker.jobs(None) == []


def test_unknown_policies_jobs_and_runs_are_named(house):
    with pytest.raises(UnknownName, match="no live policy 'best'"):
        house.broker.begin_run(RunRequest(name="r", policy="best"))
    with pytest.raises(UnknownName, match="no job 7"):
        house.broker.cancel(7)
    with pytest.raises(UnknownName, match="no run 7"):
        house.broker.start_run(7)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"queue": "sc"}, "queue: 'sc' is simulated only: it needs one cluster as large as all"),
        ({"queue": "gs", "tries_threshold": 3}, "tries_threshold: queue 'gs' is never scanned"),
        ({"queue": "lifo"}, "no live queue 'lifo' \\(known: placement, placement-adaptive, gs, ls-or, .*lp-rd\\)"),
    ],
)
def test_what_does_not_run_live_is_refused_with_the_reason(house, asked, said):
    with pytest.raises(InvalidInput, match=said):
        house.broker.begin_run(RunRequest(name="r", **asked))
    assert house.broker.current_run() is None
