"""The journal: numbered, in order, on disk, and readers wake when something is written."""

import sqlite3
import threading

import pytest

from emulator.broker.state import journal as journal_module
from emulator.broker.state.journal import Journal, KeyedSubmission
from emulator.model.job import JobSpecification, JobState
from emulator.model.views import DEFAULT_RUN_REQUEST, EventKind, EventView, JobView

QUEUED = JobView(
    id=1,
    run=1,
    specification=JobSpecification(application="poisson", components=(4,)),
    state=JobState.QUEUED,
    submitted_s=0.0,
)


def test_events_are_numbered_and_kept_apart_by_run(tmp_path):
    journal = Journal(tmp_path / "journal")
    for run in (1, 2, 1):
        journal.append(run, EventKind.RUN_STARTED, time_s=run)
    assert [event.sequence for event in journal.read(1, 0)] == [1, 3]
    assert [event.sequence for event in journal.read(1, 1)] == [3]
    journal.close()


def test_a_journal_opened_again_goes_on_where_it_ended(tmp_path):
    first = Journal(tmp_path / "journal")
    first.append(4, EventKind.RUN_STARTED, time_s=0, detail={"a": [1]})
    first.close()
    second = Journal(tmp_path / "journal")
    assert second.last_numbers() == (4, 0)
    assert second.append(4, EventKind.RUN_ENDED, time_s=1).sequence == 2
    assert [event.detail for event in second.read(4, 0)] == [{"a": [1]}, {}]
    second.close()


def test_a_reader_wakes_when_its_run_has_news_and_not_for_another_s(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "journal")
    looks, look = threading.Semaphore(0), journal._rows

    def counted(run: int, after: int) -> list[tuple[int, str]]:
        looks.release()
        return look(run, after)

    monkeypatch.setattr(journal, "_rows", counted)
    read: list[list[EventView]] = []
    reader = threading.Thread(target=lambda: read.append(journal.read(1, 0, host_wait_s=600)), daemon=True)
    reader.start()
    assert looks.acquire(timeout=60)
    journal.append(9, EventKind.RUN_STARTED, 0)
    assert looks.acquire(timeout=60)
    assert reader.is_alive()
    journal.append(1, EventKind.RUN_STARTED, 0)
    reader.join(60)
    (events,) = read
    assert [event.run for event in events] == [1]
    assert journal.read(1, events[-1].sequence, host_wait_s=0.01) == []
    journal.close()


def test_a_transaction_reads_what_it_has_written_itself(tmp_path):
    journal = Journal(tmp_path / "journal")
    with journal.transaction():
        journal.append(1, EventKind.SUBMITTED, 0.0, QUEUED)
        journal.store_key("night-1", QUEUED.id, "f")
        assert journal.find_submission("night-1") == KeyedSubmission(QUEUED.id, "f")
        assert journal.last_view(QUEUED.id) == QUEUED
        assert [event.sequence for event in journal.read(1, 0)] == [1]
    journal.close()


def test_nothing_is_kept_of_a_transaction_that_was_given_up(tmp_path):
    journal = Journal(tmp_path / "journal")

    def give_up() -> None:
        with journal.transaction():
            journal.append(1, EventKind.SUBMITTED, 0.0, QUEUED)
            journal.store_key("night-1", QUEUED.id, "f")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        give_up()
    assert journal.find_submission("night-1") is None
    journal.append(1, EventKind.RUN_STARTED, 0.0)
    assert [event.kind for event in journal.read(1, 0)] == [EventKind.RUN_STARTED]
    assert journal.last_views() == []
    journal.close()


def append_job(journal: Journal, job: int, state: JobState, run: int = 1) -> None:
    view = QUEUED.model_copy(update={"id": job, "run": run, "state": state})
    kind = EventKind.FINISHED if state.final else EventKind.SUBMITTED
    journal.append(run, kind, 0.0, view)


def test_jobs_are_read_as_of_their_last_events_a_page_at_a_time_and_the_unfinished_apart(tmp_path):
    journal = Journal(tmp_path / "journal")
    for job in (1, 2, 3):
        append_job(journal, job, JobState.QUEUED, run=job % 2)
    append_job(journal, 2, JobState.FINISHED, run=0)
    assert [(job.id, job.state.value) for job in journal.last_views()] == [
        (1, "queued"),
        (2, "finished"),
        (3, "queued"),
    ]
    assert [job.id for job in journal.last_views(run=1, after=1, limit=5)] == [3]
    assert [job.id for job in journal.last_views(after=1, limit=1)] == [2]
    assert [event.job.id for event in journal.last_events_of_unfinished_jobs()] == [1, 3]
    assert journal.last_numbers() == (1, 3)
    journal.close()


def test_a_journal_of_an_earlier_version_gets_what_it_lacks(tmp_path):
    journal = Journal(tmp_path / "journal")
    append_job(journal, 1, JobState.QUEUED)
    append_job(journal, 2, JobState.QUEUED)
    append_job(journal, 2, JobState.FAILED)
    expected = journal.last_views()
    journal.close()
    with sqlite3.connect(tmp_path / "journal") as earlier:
        earlier.executescript(
            "DROP TABLE jobs; DROP TABLE runs; PRAGMA user_version = 0;"
            "CREATE TABLE runs (run INTEGER PRIMARY KEY, request TEXT NOT NULL, host_origin_s REAL, "
            "ended INTEGER NOT NULL DEFAULT 0);"
        )
    again = Journal(tmp_path / "journal")
    assert again.last_views() == expected
    assert [event.job.id for event in again.last_events_of_unfinished_jobs()] == [1]
    assert again.runs() == []
    again.close()


def test_a_journal_that_a_killed_broker_brought_half_up_to_date_is_opened(tmp_path):
    Journal(tmp_path / "journal").close()
    with sqlite3.connect(tmp_path / "journal") as earlier:
        earlier.executescript(
            "DROP TABLE runs; PRAGMA user_version = 1;"
            "CREATE TABLE runs (run INTEGER PRIMARY KEY, request TEXT NOT NULL, host_origin_s REAL, "
            "ended INTEGER NOT NULL DEFAULT 0, host_monotonic_origin_s REAL);"
        )
    journal = Journal(tmp_path / "journal")
    journal.store_run(1, DEFAULT_RUN_REQUEST)
    assert [(run.number, run.boot) for run in journal.runs()] == [(1, "")]
    journal.close()


def test_old_events_are_forgotten_but_none_that_a_restart_needs(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_module, "PAGE", 10)
    monkeypatch.setattr(journal_module, "RETAINED_EVENTS", 50)
    journal = Journal(tmp_path / "journal")
    append_job(journal, 1, JobState.FINISHED)
    for _ in range(98):
        journal.append(1, EventKind.CLUSTER_LOST, 0.0)
    append_job(journal, 2, JobState.QUEUED)
    assert [event.sequence for event in journal.read(1, 0)][:1] == [51]
    assert journal.last_view(1) is None
    for _ in range(100):
        journal.append(1, EventKind.CLUSTER_LOST, 0.0)
    assert [event.sequence for event in journal.read(1, 0)][:1] == [100], "the job still waits"
    append_job(journal, 2, JobState.FINISHED)
    for _ in range(9):
        journal.append(1, EventKind.CLUSTER_LOST, 0.0)
    assert [event.sequence for event in journal.read(1, 0)][:1] == [161]
    assert journal.last_view(2) is not None
    journal.close()


def test_who_observes_from_a_checkpoint_on_misses_no_event_and_gets_none_twice(tmp_path):
    journal = Journal(tmp_path / "journal")
    for _ in range(5):
        journal.append(1, EventKind.CLUSTER_LOST, 0.0)
    journal.store_checkpoint("c", 3, "three")
    sequence, body = journal.checkpoint("c")
    assert (body, journal.checkpoint("other")) == ("three", (0, ""))
    seen: list[int] = []
    journal.observe(lambda event: seen.append(event.sequence), after=sequence)
    journal.append(1, EventKind.CLUSTER_LOST, 0.0)
    assert seen == [4, 5, 6]
    journal.close()
