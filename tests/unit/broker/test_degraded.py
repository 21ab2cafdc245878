"""A broker whose journal fails: what was decided is undone, and it goes on when the journal can be written again."""

from __future__ import annotations

import sqlite3
import threading
import time

import pytest
from fastapi.testclient import TestClient

from emulator.broker.http.api import create_app
from emulator.broker.state.journal import Journal
from emulator.client import BrokerClient
from emulator.model.errors import JournalFailed
from emulator.model.job import JobSpecification, JobState
from emulator.model.views import EventKind, RunRequest, Submission
from tests.unit.broker.api_server import TOKEN, Server
from tests.unit.broker.broker_setup import BrokerSetup, BrokerSetupWithFiles, check_replay, kill, recorded_decisions
from tests.unit.broker.faulty_journal import WRITING, FaultyDatabase, FaultyJournal

KINDS = ["BEGIN", "INSERT", "COMMIT"]
REQUEST = RunRequest(name="r", queue="gs", policy="wf-distinct", paced_middleware=False, dilation=0.02)


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    monkeypatch.setattr("emulator.broker.state.changes.RETRY_HOST_S", 0.02)
    setup = BrokerSetup(tmp_path, journal=FaultyJournal(tmp_path / "journal"))
    yield setup
    setup.journal.heal()
    setup.close()


def ended_without(setup: BrokerSetup, jobs: list[int]) -> bool:
    """End what runs; returns whether all `jobs` have ended."""
    for program in setup.east.programs + setup.west.programs:
        if not program.has_ended:
            program.say(event="started", host_moment_s=time.time(), host_late_s=0.0)
            program.finish()
    return all(setup.broker.job(job).state.final for job in jobs)


def agree(setup: BrokerSetup) -> None:
    """What the broker shows is what its journal says, and its discipline is what its decisions made of it."""
    setup.until(lambda: setup.broker.jobs(None) == setup.journal.last_views())  # it may go on between the two readings


@pytest.mark.parametrize("kind", KINDS)
def test_a_journal_that_fails_holds_nothing_of_the_transaction_and_says_why(tmp_path, kind):
    journal = FaultyJournal(tmp_path / "journal")
    journal.fail(kind)

    def write_two() -> None:
        with journal.transaction():
            journal.append(1, EventKind.RUN_STARTED, 0.0)
            journal.append(1, EventKind.RUN_ENDED, 0.0)

    with pytest.raises(JournalFailed, match="disk is full"):
        write_two()
    assert (journal.read(1, 0), journal.fault) == ([], "database or disk is full")
    journal.heal()
    assert journal.append(1, EventKind.RUN_STARTED, 0.0).sequence == 1
    assert journal.fault == ""
    journal.close()


def test_a_journal_that_another_process_holds_is_not_written_and_then_is(tmp_path):
    journal = Journal(tmp_path / "journal")
    journal._database.execute("PRAGMA busy_timeout=1")
    other = sqlite3.connect(tmp_path / "journal", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalFailed, match="locked"):
        journal.append(1, EventKind.RUN_STARTED, 0.0)
    other.execute("ROLLBACK")
    other.close()
    journal.append(1, EventKind.RUN_STARTED, 0.0)
    journal.close()


def test_who_observes_events_and_fails_does_not_undo_what_is_durable(tmp_path):
    journal = Journal(tmp_path / "journal")
    journal.observe(lambda event: 1 / 0)
    assert journal.append(1, EventKind.RUN_STARTED, 0.0).sequence == 1
    assert [event.sequence for event in journal.read(1, 0)] == [1]
    journal.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_decision_that_is_not_recorded_is_undone_and_made_again(faulty, kind):
    faulty.east.others = faulty.west.others = 8
    run = faulty.broker.begin_run(REQUEST).id
    faulty.broker.start_run(run)
    first = faulty.submit(4, run=run, request="unordered")
    second = faulty.submit(4, run=run, request="unordered")
    faulty.until(lambda: len(recorded_decisions(faulty, run)) == 2)
    faulty.journal.fail(kind)
    faulty.east.others = 0
    faulty.until(faulty.broker.fault)
    assert [faulty.broker.job(job).state for job in (first, second)] == [JobState.QUEUED] * 2
    assert [entry.job for entry in faulty.broker.queue()] == [first, second]
    assert faulty.east.claims == []
    faulty.journal.heal()
    faulty.until(lambda: ended_without(faulty, [first, second]))
    assert len(faulty.east.claims) == 2
    faulty.until(lambda: faulty.nothing_is_held)
    agree(faulty)
    check_replay(faulty.journal, run, REQUEST)


@pytest.mark.parametrize("kind", KINDS)
def test_jobs_whose_arrival_could_not_be_decided_on_wait_in_the_order_of_submission(faulty, kind):
    run = faulty.broker.begin_run(REQUEST).id
    faulty.broker.start_run(run)
    faulty.east.hang()
    jobs = [faulty.submit(8, 8, run=run, request="unordered") for _ in range(3)]
    faulty.journal.fail(kind)
    faulty.east.answer()
    faulty.until(faulty.broker.fault)
    assert recorded_decisions(faulty, run) == []
    assert [entry.job for entry in faulty.broker.queue()] == jobs
    faulty.journal.heal()
    faulty.until(lambda: ended_without(faulty, jobs))
    assert [claim.partition(".")[0] for claim in faulty.east.claims] == [f"{run}-{job}" for job in jobs]
    agree(faulty)
    check_replay(faulty.journal, run, REQUEST)


@pytest.mark.parametrize("kind", KINDS)
def test_processes_wait_until_their_start_can_be_recorded(faulty, kind):
    faulty.east.holds_back = faulty.west.holds_back = True
    job = faulty.submit(6, 6)
    faulty.until(lambda: faulty.east.held and faulty.west.held)
    faulty.journal.fail(kind)
    faulty.east.report_all()
    faulty.west.report_all()
    faulty.until(faulty.broker.fault)
    view = faulty.broker.job(job)
    assert (view.state, {part.claimed_s for part in view.components}) == (JobState.CLAIMING, {None})
    assert faulty.east.programs == []
    faulty.journal.heal()
    faulty.until_state(job, JobState.STARTING)
    faulty.until(lambda: ended_without(faulty, [job]))
    assert faulty.kinds().count(EventKind.COMPONENT_CLAIMED) == 2
    agree(faulty)


def test_the_end_of_a_job_is_kept_until_it_can_be_recorded_and_then_the_next_is_placed(faulty):
    first, second = faulty.submit(8, 8), faulty.submit(8, 8)
    faulty.started(first, faulty.east)
    faulty.journal.fail()
    faulty.east.programs[-1].finish()
    faulty.until(faulty.broker.fault)
    assert faulty.broker.job(first).state is JobState.RUNNING
    faulty.journal.heal()
    faulty.until_state(first, JobState.FINISHED)
    faulty.until_state(second, JobState.STARTING)
    assert not faulty.broker.fault()
    agree(faulty)


def test_what_a_user_asks_of_a_degraded_broker_is_refused_and_has_no_effect(faulty):
    faulty.east.others = faulty.west.others = 8
    job = faulty.submit(4)
    client = TestClient(create_app(faulty.broker, faulty.journal, "right"))
    faulty.journal.fail()
    with pytest.raises(JournalFailed):
        faulty.broker.cancel(job)
    with pytest.raises(JournalFailed):
        faulty.submit(4)
    assert [(each.id, each.state) for each in faulty.broker.jobs(None)] == [(job, JobState.QUEUED)]
    answer = client.get("/v1/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "degraded")
    assert "disk is full" in answer.json()["reason"]
    refused = client.delete(f"/v1/jobs/{job}", headers={"Authorization": "Bearer right"})
    assert (refused.status_code, refused.json()["kind"]) == (503, "JournalFailed")
    faulty.journal.heal()
    faulty.until(lambda: client.get("/v1/health").status_code == 200)
    assert faulty.broker.cancel(job).state is JobState.CANCELLED


def test_a_submission_with_a_key_is_sent_again_until_the_journal_takes_it(faulty, monkeypatch):
    monkeypatch.setattr("emulator.client._HOST_FIRST_PAUSE_S", 0.01)
    server = Server(faulty)
    specification = JobSpecification(application="poisson", components=(4,))
    submission = Submission(specification=specification, key="night-1")
    faulty.journal.fail("COMMIT")
    asked = threading.Timer(0.05, faulty.journal.heal)
    with BrokerClient(server.url, TOKEN) as client:
        with pytest.raises(JournalFailed):
            client.submit_surely(submission, host_patience_s=0.0)
        asked.start()
        job = client.submit_surely(submission, host_patience_s=0.0, host_full_disk_s=30.0).id
        assert [view.id for view in client.jobs()] == [job]
    server.stop()


def test_a_run_neither_begins_starts_nor_ends_without_its_record(faulty):
    faulty.journal.fail()
    with pytest.raises(JournalFailed):
        faulty.broker.begin_run(REQUEST)
    assert faulty.broker.current_run() is None
    faulty.journal.heal()
    run = faulty.broker.begin_run(REQUEST).id
    faulty.journal.fail()
    with pytest.raises(JournalFailed):
        faulty.broker.start_run(run)
    assert faulty.broker.current_run().state.value == "preparing"
    with pytest.raises(JournalFailed):
        faulty.broker.end_run(run)
    assert faulty.broker.current_run().state.value == "preparing"
    faulty.journal.heal()
    faulty.broker.start_run(run)
    faulty.broker.end_run(run)
    assert faulty.broker.current_run() is None


@pytest.mark.parametrize("whole", range(0, 40, 3))
def test_wherever_the_disk_becomes_full_every_job_ends_once(faulty, whole):
    run = faulty.broker.begin_run(REQUEST).id
    faulty.broker.start_run(run)
    faulty.journal.fail(whole=whole)
    jobs: list[int] = []
    for sizes in ((8, 8), (6, 6), (5,)):
        try:
            jobs.append(faulty.submit(*sizes, run=run, request="unordered"))
        except JournalFailed:
            faulty.journal.heal()
    faulty.until(lambda: ended_without(faulty, jobs) or faulty.broker.fault())
    faulty.journal.heal()
    faulty.until(lambda: ended_without(faulty, jobs))
    faulty.until(lambda: faulty.nothing_is_held)
    kinds = faulty.kinds(run)
    assert kinds.count(EventKind.FINISHED) == kinds.count(EventKind.STARTED) == len(jobs)
    assert len(faulty.east.programs) + len(faulty.west.programs) == len(jobs)
    agree(faulty)
    check_replay(faulty.journal, run, REQUEST)


class FaultyCatalogueSetup(BrokerSetupWithFiles):
    """A broker with a registered file, whose catalogue of files can be told to fail."""

    def __init__(self, folder) -> None:
        super().__init__(folder)
        catalogue = self.broker._replicas.catalogue
        self.disk = catalogue._database = FaultyDatabase(catalogue._database)
        self.register()

    def ask_for_file(self) -> int:
        """Submit a job to a cluster that has to be brought its file."""
        return self.submit(4, file="input", request="fixed", clusters=("west",))


@pytest.fixture
def full(tmp_path, monkeypatch):
    """A broker whose catalogue fails as a test says; its journal can be written."""
    monkeypatch.setattr("emulator.broker.state.changes.RETRY_HOST_S", 0.02)
    setup = FaultyCatalogueSetup(tmp_path)
    yield setup
    setup.disk.failing = ()
    setup.close()


def test_a_placed_job_is_not_launched_until_the_use_of_its_file_can_be_recorded(full):
    full.disk.failing = WRITING
    job = full.ask_for_file()
    full.until(full.broker.fault)
    client = TestClient(create_app(full.broker, full.journal, "right"))
    assert client.get("/v1/health").json()["reason"] == "database or disk is full"
    assert full.broker.job(job).state is JobState.CLAIMING
    with pytest.raises(JournalFailed, match=f"Job {job} waits until"):
        full.broker.cancel(job)
    assert full.west.claims == []
    full.disk.failing = ()
    full.until(lambda: ended_without(full, [job]))
    assert full.broker.job(job).state is JobState.FINISHED
    full.until(lambda: not full.broker.fault())
    assert len(full.west.claims) == 1


def test_a_file_that_came_while_the_disk_was_full_is_used_when_that_can_be_recorded(full):
    full.files["west"].holds_back = True
    job = full.ask_for_file()
    full.until(lambda: full.files["west"].transfers)
    full.disk.failing = WRITING
    full.files["west"].transfers[0].go_on()
    full.until(full.broker.fault)
    assert full.west.programs == []
    full.disk.failing = ()
    full.until(lambda: ended_without(full, [job]))
    assert full.broker.job(job).state is JobState.FINISHED
    assert len(full.files["west"].transfers) == 1


def test_a_job_cancelled_while_its_file_cannot_be_recorded_leaves_no_file(full):
    full.files["west"].holds_back = True
    job = full.ask_for_file()
    full.until(lambda: full.files["west"].transfers)
    full.disk.failing = WRITING
    full.files["west"].transfers[0].go_on()
    full.until(full.broker.fault)
    full.broker.cancel(job)
    full.disk.failing = ()
    full.until_state(job, JobState.CANCELLED)
    full.until(lambda: not full.files["west"].files)
    assert full.replicas() == {"east": 0}


def test_the_files_of_a_job_that_has_ended_are_released_when_that_can_be_recorded(full):
    job = full.ask_for_file()
    full.until(lambda: full.west.programs)
    assert full.replicas() == {"east": 1, "west": 1}
    full.disk.failing = WRITING
    ended_without(full, [job])
    full.until_state(job, JobState.FINISHED)
    full.until(full.broker.fault)
    assert full.replicas() == {"east": 1, "west": 1}
    full.disk.failing = ()
    full.until(lambda: full.replicas() == {"east": 0})
    full.until(lambda: not full.files["west"].files)


def test_over_http_a_file_is_neither_made_nor_removed_while_the_disk_is_full(full):
    client = TestClient(create_app(full.broker, full.journal, "right"), headers={"authorization": "Bearer right"})
    full.disk.failing = WRITING
    made = client.post("/v1/files", json={"name": "new", "size_bytes": 10, "sites": ["west"]})
    removed = client.delete("/v1/files/input")
    assert [(each.status_code, each.json()["kind"]) for each in (made, removed)] == [(503, "JournalFailed")] * 2
    assert [view["name"] for view in client.get("/v1/files").json()] == ["input"]
    full.disk.failing = ()
    assert client.delete("/v1/files/input").status_code == 204


def test_a_broker_that_starts_while_the_disk_is_full_goes_on_when_it_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr("emulator.broker.state.changes.RETRY_HOST_S", 0.02)
    former = BrokerSetup(tmp_path)
    running = former.submit(8, 8)
    former.started(running, former.east)
    queued = former.submit(8, 8)
    former.until(lambda: len(former.broker.queue()) == 1)
    kill(former)
    journal = FaultyJournal(tmp_path / "journal")
    journal.fail()
    setup = BrokerSetup(tmp_path, journal=journal)
    setup.until(setup.broker.fault)
    assert [setup.broker.job(job).state for job in (running, queued)] == [JobState.RUNNING, JobState.QUEUED]
    assert setup.east.claims == []
    journal.heal()
    setup.until_state(running, JobState.FAILED)
    assert "not run twice" in setup.broker.job(running).reason
    setup.until(lambda: ended_without(setup, [queued]))
    agree(setup)
    setup.close()
