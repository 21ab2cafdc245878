"""A cluster whose reading hangs holds up nothing but its own jobs; it is named as silent, and comes back."""

from __future__ import annotations

import threading

import pytest
from fastapi.testclient import TestClient

from emulator.broker.http.api import create_app
from emulator.model.errors import UnknownName
from emulator.model.job import JobState
from emulator.model.views import EventKind
from tests.unit.broker.broker_setup import (
    PATIENCE_HOST_S,
    BrokerSetup,
    begin_fast_run,
    check_replay,
    finish_all,
    recorded_decisions,
    recorded_request,
)

WEST_ONLY = {"request": "fixed", "clusters": ("west",)}
EAST_ONLY = {"request": "fixed", "clusters": ("east",)}


@pytest.fixture
def hung(setup, monkeypatch) -> BrokerSetup:
    """A broker whose west cluster hangs; a decision waits little for it, and it is silent soon."""
    monkeypatch.setattr("emulator.broker.readings.WAIT_HOST_S", 0.1)
    monkeypatch.setattr("emulator.broker.readings.MOST_AGE_HOST_S", 0.3)
    setup.west.hang()
    yield setup
    setup.west.answer()


def silent(setup: BrokerSetup) -> tuple[str, ...]:
    return setup.broker.health().silent


def keep_loop_busy(setup: BrokerSetup) -> threading.Event:
    """Keep the loop from all other work until the returned event is set."""
    is_busy, release = threading.Event(), threading.Event()
    setup.broker._loop.post(lambda: (is_busy.set(), release.wait()))
    assert is_busy.wait(PATIENCE_HOST_S)
    return release


def test_jobs_for_other_clusters_start_and_those_for_it_wait_until_it_answers(hung, monkeypatch):
    run = begin_fast_run(hung, queue="gs", policy="wf-distinct")
    job = hung.submit(4, run=run, **EAST_ONLY)
    hung.until_state(job, JobState.STARTING)
    hung.until(lambda: silent(hung) == ("west",))
    waits = hung.submit(4, run=run, **WEST_ONLY)
    hung.until(lambda: waits in [entry.job for entry in hung.broker.queue()])
    assert hung.broker.job(waits).state is JobState.QUEUED
    hung.west.answer()
    hung.until_state(waits, JobState.STARTING)
    monkeypatch.setattr("emulator.broker.readings.MOST_AGE_HOST_S", 600.0)  # nothing becomes silent from now on
    hung.until(lambda: silent(hung) == ())
    finish_all(hung, [job, waits])
    kinds = hung.kinds(run)
    assert kinds.count(EventKind.CLUSTER_SILENT) == kinds.count(EventKind.CLUSTER_ANSWERS) >= 1
    assert EventKind.CLUSTER_LOST not in kinds
    check_replay(hung.journal, run, recorded_request(hung, run))


def test_jobs_that_run_in_it_go_on(setup, monkeypatch):
    monkeypatch.setattr("emulator.broker.readings.MOST_AGE_HOST_S", 0.2)
    job = setup.submit(4, **WEST_ONLY)
    setup.started(job, setup.west)
    setup.west.hang()
    setup.submit(4, **EAST_ONLY)
    setup.until(lambda: silent(setup) == ("west",))
    assert setup.broker.job(job).state is JobState.RUNNING
    setup.west.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)
    setup.west.answer()


def test_while_every_cluster_hangs_jobs_are_submitted_shown_and_cancelled(hung):
    hung.east.hang()
    hung.broker._loop.call(hung.broker._scheduling.readings.ask)
    hung.until(lambda: silent(hung) == ("east", "west"))
    jobs = [hung.submit(4) for _ in range(50)]
    assert [hung.broker.cancel(job).state for job in jobs[:25]] == [JobState.CANCELLED] * 25
    assert [hung.broker.job(job).state for job in jobs[25:]] == [JobState.QUEUED] * 25
    client = TestClient(create_app(hung.broker, hung.journal, "right"))
    answer = client.get("/v1/health")
    said = {"status": "waiting", "unreachable": [], "silent": ["east", "west"], "reason": ""}
    assert (answer.status_code, answer.json()) == (503, said)
    text = client.get("/metrics").text
    assert 'testbed_cluster_reachable{cluster="west"} 0.0' in text
    assert 'testbed_queue_length{policy="by-kind",queue="placement"} 25.0' in text
    hung.east.answer()
    hung.west.answer()
    hung.until(lambda: client.get("/v1/health").status_code == 200)


def test_health_metrics_and_whether_a_run_exists_do_not_wait_for_the_loop(setup):
    """The loop is busy until the test ends; whoever waited for it would wait for ever."""
    client = TestClient(create_app(setup.broker, setup.journal, "right"))
    release = keep_loop_busy(setup)
    try:
        assert client.get("/v1/health").status_code == 200
        assert 'testbed_processors{cluster="west"} 8.0' in client.get("/metrics").text
        setup.broker.check_run(0)
        with pytest.raises(UnknownName, match="no run 7"):
            setup.broker.check_run(7)
    finally:
        release.set()


def test_a_run_of_a_former_broker_exists_before_the_loop_of_the_next_one_begins(tmp_path):
    setup = BrokerSetup(tmp_path)
    run = begin_fast_run(setup)
    setup.close()

    class Again(BrokerSetup):
        def make_broker(self, *arguments):
            broker = super().make_broker(*arguments)
            broker.check_run(run)
            return broker

    Again(tmp_path).close()


def test_allocation_events_reach_their_claim_while_the_loop_is_busy(setup):
    setup.east.holds_back = True
    job = setup.submit(4, **EAST_ONLY)
    setup.until(lambda: setup.east.held)
    execution = setup.broker._registry.find_job(job).execution
    release = keep_loop_busy(setup)
    try:
        setup.east.report_all()
        assert len(execution._claims._claimed_host_s) == 1
    finally:
        release.set()
    setup.until_state(job, JobState.STARTING)


def test_arrivals_during_a_reading_are_decided_on_together(setup):
    run = begin_fast_run(setup, queue="gs", policy="wf-distinct")
    setup.east.hang()
    jobs = [setup.submit(2, run=run, request="unordered") for _ in range(5)]
    assert recorded_decisions(setup, run) == []
    setup.east.answer()
    setup.until(lambda: len(recorded_decisions(setup, run)) == 5)
    decisions = recorded_decisions(setup, run)
    assert [decision.event.job.id for decision in decisions] == jobs
    assert len({decision.time_s for decision in decisions}) == 1
    finish_all(setup, jobs)
    check_replay(setup.journal, run, recorded_request(setup, run))


def test_a_job_cancelled_before_it_was_decided_on_is_never_decided_on(setup):
    run = begin_fast_run(setup, queue="gs", policy="wf-distinct")
    setup.east.hang()
    cancelled, other = (setup.submit(2, run=run, request="unordered") for _ in range(2))
    assert setup.broker.cancel(cancelled).state is JobState.CANCELLED
    setup.east.answer()
    setup.until_state(other, JobState.STARTING)
    assert [decision.event.job.id for decision in recorded_decisions(setup, run)] == [other]


def test_a_job_cancelled_while_another_s_departure_waits_for_readings_is_not_started(setup):
    """The departure is decided on after the withdrawal, which waits for nothing."""
    run = begin_fast_run(setup, queue="gs", policy="wf-distinct")
    first = setup.submit(8, 8, run=run, request="unordered")
    setup.started(first, setup.east)
    second, third = (setup.submit(8, run=run, request="unordered") for _ in range(2))
    setup.until(lambda: len(recorded_decisions(setup, run)) == 3)
    setup.west.hang()
    setup.east.programs[-1].finish()
    setup.until_state(first, JobState.FINISHED)
    assert setup.broker.cancel(second).state is JobState.CANCELLED
    setup.west.answer()
    setup.until_state(third, JobState.STARTING)
    assert setup.broker.job(second).state is JobState.CANCELLED
    finish_all(setup, [third])
    check_replay(setup.journal, run, recorded_request(setup, run))


def test_a_departure_is_decided_on_at_readings_that_began_after_it(setup):
    """A reading was under way when the job ended; at that reading the next job would not fit."""
    run = begin_fast_run(setup, queue="gs", policy="wf-distinct")
    first = setup.submit(8, 8, run=run, request="unordered")
    setup.started(first, setup.east)
    second = setup.submit(8, 8, run=run, request="unordered")
    setup.until(lambda: len(recorded_decisions(setup, run)) == 2)
    rounds = []
    ask = setup.broker._scheduling.readings.ask

    def noted(only=None):
        rounds.append(ask(only))
        return rounds[-1]

    setup.broker._scheduling.readings.ask = noted
    setup.west.hang()
    setup.submit(1, run=run, request="unordered")
    setup.until(lambda: rounds)
    before = rounds[-1]
    setup.east.programs[-1].finish()
    setup.until_state(first, JobState.FINISHED)
    setup.until(lambda: rounds[-1] > before)
    setup.west.answer()
    setup.until_state(second, JobState.STARTING)
    departure = next(each for each in recorded_decisions(setup, run) if getattr(each.event, "job_id", None) == first)
    assert departure.idle == (8, 8)
