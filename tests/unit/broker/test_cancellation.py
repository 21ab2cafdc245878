"""Nothing is decided in a run that is ending, also after the broker was killed and restarted meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.broker.state.journal import Journal
from emulator.model.errors import TestbedNotUp
from emulator.model.job import JobState
from emulator.model.views import DEFAULT_RUN_REQUEST, EventKind, RunRequest, RunState
from tests.unit.broker.broker_setup import BrokerSetup, check_replay, kill

REQUEST = RunRequest(name="r", queue="gs", policy="wf-distinct", paced_middleware=False)


def full_with_a_queue(setup: BrokerSetup, run: int) -> list[int]:
    """One job holds all processors and two that would fit without it wait."""
    setup.broker.start_run(run)
    holds = setup.submit(8, 8, run=run, request="unordered")
    setup.until_state(holds, JobState.STARTING)
    return [holds, *(setup.submit(4, run=run, request="unordered") for _ in range(2))]


def decisions(journal: Journal, run: int) -> int:
    return sum(event.kind is EventKind.DECISION for event in journal.read(run, 0))


def test_ending_a_run_asks_neither_its_discipline_nor_the_clusters(setup, monkeypatch):
    run = setup.broker.begin_run(REQUEST).id
    jobs = full_with_a_queue(setup, run)
    setup.until(lambda: decisions(setup.journal, run) == len(jobs))
    # Were the discipline asked, what waits would fit from now on.
    monkeypatch.setattr(setup.broker._scheduling.readings, "ask", lambda only=None: pytest.fail("was asked"))
    setup.broker.end_run(run)
    assert [setup.broker.job(job).state for job in jobs] == [JobState.CANCELLED] * 3
    assert decisions(setup.journal, run) == len(jobs)
    assert len(setup.east.claims) == len(setup.west.claims) == 1
    assert setup.kinds(run)[-5:] == [EventKind.RUN_ENDING, *[EventKind.CANCELLED] * 3, EventKind.RUN_ENDED]
    check_replay(setup.journal, run, REQUEST)


def test_the_default_run_goes_on_after_it_was_ended(setup):
    setup.submit(8, 8)
    waiting = [setup.submit(8), setup.submit(8, 8)]
    setup.until(lambda: setup.east.programs or setup.west.programs)
    setup.broker.end_run(0)
    assert setup.broker.queue() == []
    assert {setup.broker.job(job).state for job in waiting} == {JobState.CANCELLED}
    setup.until_state(setup.submit(8, 8), JobState.STARTING)
    check_replay(setup.journal, 0, DEFAULT_RUN_REQUEST)


@pytest.mark.parametrize("claiming", [True, False])
def test_a_run_that_was_being_ended_when_the_broker_was_killed_ends(tmp_path: Path, claiming: bool):
    setup = BrokerSetup(tmp_path)
    setup.east.holds_back = setup.west.holds_back = claiming
    run = setup.broker.begin_run(REQUEST).id
    setup.broker.start_run(run)
    jobs = [setup.submit(8, 8, run=run, request="unordered"), setup.submit(4, run=run, request="unordered")]
    setup.until_state(jobs[0], JobState.CLAIMING if claiming else JobState.STARTING)
    setup.broker._loop.call(lambda: setup.broker._cancellation._stop_deciding(setup.broker._registry.run(run)))
    kill(setup)
    again = BrokerSetup(tmp_path)
    again.until(lambda: again.broker.current_run() is None)
    assert {again.broker.job(job).state for job in jobs} == {JobState.CANCELLED}
    assert again.broker.end_run(run).state is RunState.ENDED
    assert again.east.claims == again.west.claims == []
    check_replay(again.journal, run, REQUEST)
    again.close()


def test_a_broker_that_is_stopped_keeps_its_queue_and_releases_its_processors(tmp_path: Path):
    setup = BrokerSetup(tmp_path)
    run = setup.broker.begin_run(REQUEST).id
    holds, *waiting = full_with_a_queue(setup, run)
    setup.close()
    assert setup.nothing_is_held
    again = BrokerSetup(tmp_path)
    again.until_state(holds, JobState.FAILED)
    assert "not run twice" in again.broker.job(holds).reason
    assert again.broker.current_run().state is RunState.RUNNING
    for job in waiting:
        again.until_state(job, JobState.STARTING)
    check_replay(again.journal, run, REQUEST)
    again.close()


def test_a_job_that_was_claiming_when_its_broker_was_stopped_claims_again(tmp_path: Path):
    setup = BrokerSetup(tmp_path)
    setup.east.holds_back = setup.west.holds_back = True
    job = setup.submit(8, 8)
    setup.until_state(job, JobState.CLAIMING)
    setup.close()
    assert setup.nothing_is_held
    again = BrokerSetup(tmp_path)
    again.until_state(job, JobState.STARTING)
    assert EventKind.CANCELLED not in again.kinds()
    again.close()


def test_a_broker_closes_all_else_when_a_cluster_cannot_be_released(tmp_path: Path):
    setup = BrokerSetup(tmp_path)
    setup.west.sweeps_failing = [TestbedNotUp("It does not answer.")]
    setup.broker.close()
    assert setup.east._closed
    assert setup.west._closed
    assert not setup.broker._loop._thread.is_alive()


def test_nobody_goes_on_waiting_for_a_run_that_did_not_end_in_time(setup, monkeypatch):
    monkeypatch.setattr("emulator.broker.service.END_TIMEOUT_HOST_S", 0.1)
    job = setup.submit(8)
    setup.until_state(job, JobState.STARTING)
    execution = setup.broker._registry.find_job(job).execution
    with monkeypatch.context() as unstoppable:
        unstoppable.setattr(type(execution), "stop", lambda *arguments: None)
        with pytest.raises(TestbedNotUp, match="did not end within"):
            setup.broker.end_run(0)
        posted: list[object] = []
        unstoppable.setattr(setup.broker._loop, "post", posted.append)
        setup.broker.current_run()
        execution._stopping.wait(0.2)
        assert posted == []
    with pytest.raises(TestbedNotUp, match="being ended"):
        setup.submit(8)
    execution.stop(JobState.CANCELLED, "Cancelled.")
    setup.until_state(job, JobState.CANCELLED)
    setup.until_state(setup.submit(8), JobState.STARTING)  # the run takes jobs again, though nobody asked for its end


def test_what_fails_in_one_run_s_scan_does_not_keep_another_s_from_being_done(setup, monkeypatch):
    class Faulty(Exception):
        pass

    scanned: list[int] = []

    def decide_due(run) -> None:
        scanned.append(run.id)
        if run.id == 0:
            raise Faulty

    run = setup.broker.begin_run(RunRequest(name="r")).id
    setup.broker.start_run(run)
    monkeypatch.setattr(setup.broker._scheduling, "decide_due", decide_due)
    with pytest.raises(Faulty):
        setup.broker._loop.call(setup.broker._decide_due_runs)
    assert {0, run} <= set(scanned)
