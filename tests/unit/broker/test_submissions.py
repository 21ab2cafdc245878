"""Submission: a key makes it idempotent, also for a later broker; what waits together is durable together or not."""

import sqlite3
import threading

import pytest

from emulator.broker.state.journal import Journal
from emulator.model.errors import AlreadyEnded, InvalidInput, KeyTaken, TestbedNotUp
from emulator.model.job import JobSpecification, JobState
from emulator.model.views import EventKind, RunRequest, Submission
from tests.unit.broker.broker_setup import BrokerSetup


def submission(key=None, components=(4,), **more) -> Submission:
    return Submission(specification=JobSpecification(application="poisson", components=components), key=key, **more)


def test_the_same_submission_under_the_same_key_is_one_job(setup):
    first = setup.broker.submit(submission("night-1"))
    again = setup.broker.submit(submission("night-1"))
    assert again.id == first.id
    assert setup.kinds().count(EventKind.SUBMITTED) == 1


def test_the_answer_to_a_repeated_key_is_the_job_as_it_now_is(setup):
    job = setup.broker.submit(submission("night-1")).id
    setup.started(job, setup.east)
    assert setup.broker.submit(submission("night-1")).state is JobState.RUNNING


def test_another_submission_under_a_key_is_refused_and_names_the_job(setup):
    job = setup.broker.submit(submission("night-1")).id
    for other in (submission("night-1", (5,)), submission("night-1", intended_arrival_s=3.0)):
        with pytest.raises(KeyTaken, match=f"'night-1' was given to job {job}"):
            setup.broker.submit(other)
    assert len(setup.broker.jobs(None)) == 1


def test_a_refused_submission_leaves_its_key_free(setup):
    with pytest.raises(InvalidInput):
        setup.broker.submit(submission("night-1", (17,)))
    assert setup.broker.submit(submission("night-1")).id == 1


def test_without_keys_equal_submissions_are_jobs_of_their_own(setup):
    assert setup.broker.submit(submission()).id != setup.broker.submit(submission()).id


def test_a_key_outlives_its_broker(tmp_path):
    first = BrokerSetup(tmp_path)
    job = first.broker.submit(submission("night-1")).id
    first.broker.close()
    first.journal.close()
    second = BrokerSetup(tmp_path)
    assert second.broker.submit(submission("night-1")).id == job
    with pytest.raises(KeyTaken):
        second.broker.submit(submission("night-1", (5,)))
    assert second.broker.submit(submission("night-2")).id == job + 1
    second.broker.close()
    second.journal.close()


def test_many_clients_with_the_same_keys_make_one_job_a_key(setup):
    answers: list[tuple[str, int]] = []

    def client():
        answers.extend((key, setup.broker.submit(submission(key)).id) for key in map(str, range(20)))

    clients = [threading.Thread(target=client) for _ in range(8)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert len(answers) == 160
    assert len(set(answers)) == len(setup.broker.jobs(None)) == 20
    assert setup.kinds().count(EventKind.SUBMITTED) == 20


def test_an_answered_submission_is_on_disk(setup, tmp_path):
    jobs = [setup.broker.submit(submission(str(number))).id for number in range(5)]
    with sqlite3.connect(tmp_path / "journal") as another_reader:
        stored = another_reader.execute("SELECT job FROM submissions ORDER BY job").fetchall()
    assert stored == [(job,) for job in jobs]


class FullDisk(Journal):
    """A journal that cannot write keys, as on a full disk."""

    def store_key(self, key, job, fingerprint):
        raise sqlite3.OperationalError("database or disk is full")


def test_what_cannot_be_made_durable_is_answered_with_an_error_and_is_no_job(tmp_path):
    setup = BrokerSetup(tmp_path, journal=FullDisk(tmp_path / "journal"))
    with pytest.raises(TestbedNotUp, match="disk is full"):
        setup.broker.submit(submission("night-1"))
    assert setup.broker.jobs(None) == []
    assert setup.kinds() == []
    assert setup.broker.submit(submission()).state is JobState.QUEUED
    setup.close()


def test_arrivals_that_are_decided_together_do_not_get_the_same_processors(setup):
    setup.east.holds_back = setup.west.holds_back = True
    offered = [setup.broker.submit_async(submission(components=(8,))) for _ in range(3)]
    jobs = [answer.result().id for answer in offered]
    setup.until(lambda: [setup.broker.job(job).state for job in jobs].count(JobState.CLAIMING) == 2)
    assert setup.broker.job(jobs[2]).state is JobState.QUEUED
    assert {setup.broker.job(job).components[0].cluster for job in jobs[:2]} == {"east", "west"}


def test_jobs_come_in_pages(setup):
    numbers = [setup.submit(8) for _ in range(5)]
    assert [job.id for job in setup.broker.jobs(None, limit=2)] == numbers[:2]
    assert [job.id for job in setup.broker.jobs(None, after=numbers[1], limit=2)] == numbers[2:4]
    assert [job.id for job in setup.broker.jobs(0, after=numbers[4])] == []


def test_the_queue_is_in_the_order_of_tries_and_counts_them(setup):
    run = setup.broker.begin_run(RunRequest(name="fast", dilation=0.02)).id
    setup.broker.start_run(run)
    setup.submit(8, 8, run=run)
    waiting = [setup.submit(4, 4, run=run), setup.submit(8, run=run)]
    setup.until(lambda: all(entry.placement_tries >= 2 for entry in setup.broker.queue()))
    queue = setup.broker.queue()
    assert [(entry.position, entry.job) for entry in queue] == [(1, waiting[0]), (2, waiting[1])]
    assert (queue[0].components, queue[0].processors, queue[0].waited_s > 0) == ((4, 4), 8, True)
    setup.broker.cancel(waiting[0])
    assert [(entry.position, entry.job) for entry in setup.broker.queue()] == [(1, waiting[1])]


def test_a_job_that_has_ended_cannot_be_cancelled(setup):
    job = setup.submit(8)
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)
    with pytest.raises(AlreadyEnded, match=f"Job {job} has ended \\(cancelled\\)"):
        setup.broker.cancel(job)


def test_an_ended_run_takes_no_jobs(setup):
    run = setup.broker.begin_run(RunRequest(name="short")).id
    setup.broker.start_run(run)
    setup.broker.end_run(run)
    with pytest.raises(TestbedNotUp, match=f"Run {run} does not hold the testbed"):
        setup.submit(4, run=run)
    with pytest.raises(TestbedNotUp):
        setup.broker.start_run(run)
