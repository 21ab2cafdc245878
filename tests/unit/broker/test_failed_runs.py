"""Runs whose queue or policy fails: recorded once, also if it fails while it is restored; the default run goes on."""

from __future__ import annotations

import pytest

from emulator.broker.state import restore
from emulator.model.errors import PolicyFailed, TestbedNotUp
from emulator.model.job import JobState
from emulator.model.views import DEFAULT_RUN_REQUEST, EventKind, RunRequest
from emulator.policies.queues.placement_queue import PlacementQueue
from tests.unit.broker.broker_setup import BrokerSetup, finish_all, kill


def kept_waiting(setup: BrokerSetup, processors: int) -> int:
    """Submit a job for which others leave no room, and return it when it has been tried."""
    setup.east.others = setup.west.others = 8
    job = setup.submit(processors)
    setup.until(lambda: setup.broker.queue()[0].placement_tries > 0)
    return job


def test_the_default_run_begins_again_with_the_next_job_after_a_defect(tmp_path, monkeypatch):
    setup = BrokerSetup(tmp_path)
    running = setup.submit(4)
    setup.started(running, setup.east)
    with monkeypatch.context() as defective:
        defective.setattr(PlacementQueue, "decide", lambda *asked: {}["a defect"])
        failed = setup.submit(2)
        setup.until_state(failed, JobState.FAILED)
    assert "Run 0 begins again, with an empty queue, when the next job is submitted" in setup.broker.job(failed).reason
    later = setup.submit(8)
    finish_all(setup, [running, later])
    assert {setup.broker.job(job).state for job in (running, later)} == {JobState.FINISHED}
    left = kept_waiting(setup, 3)
    kill(setup)
    again = BrokerSetup(tmp_path)
    assert [each.job for each in again.broker.queue()] == [left]
    assert again.kinds().count(EventKind.POLICY_FAILED) == 1
    finish_all(again, [left])
    again.close()


def test_the_default_run_begins_again_after_a_defect_when_the_broker_does(tmp_path, monkeypatch):
    setup = BrokerSetup(tmp_path)
    waiting = kept_waiting(setup, 4)
    monkeypatch.setattr(PlacementQueue, "decide", lambda *asked: {}["a defect"])
    asked = [waiting, setup.submit(2)]
    for job in asked:
        setup.until_state(job, JobState.FAILED)
    asked.append(setup.submit(2))
    setup.until_state(asked[-1], JobState.FAILED)
    reasons = {setup.broker.job(job).reason for job in asked}
    assert len(reasons) == 1
    assert "a defect of the testbed" in next(iter(reasons))
    kill(setup)
    monkeypatch.undo()
    for _ in range(2):  # the second finds the failure, too, because nothing has been decided since
        setup = BrokerSetup(tmp_path)
        assert setup.broker.queue() == []
        kill(setup)
    setup = BrokerSetup(tmp_path)
    finish_all(setup, [setup.submit(4, 4)])
    left = kept_waiting(setup, 3)
    kill(setup)
    again = BrokerSetup(tmp_path)
    assert [each.job for each in again.broker.queue()] == [left]
    finish_all(again, [again.submit(2)])
    assert {again.broker.job(job).reason for job in asked} == reasons
    assert again.kinds().count(EventKind.POLICY_FAILED) == 2  # the third job met it again
    again.close()


def test_a_queue_of_the_testbed_that_cannot_be_restored_fails_its_run_and_not_the_broker(tmp_path, monkeypatch):
    setup = BrokerSetup(tmp_path)
    outside = kept_waiting(setup, 4)
    setup.broker.cancel(outside)
    setup.until_state(outside, JobState.CANCELLED)
    run = setup.broker.begin_run(RunRequest(name="r")).id
    setup.broker.start_run(run)
    job = setup.submit(4, run=run)
    setup.until(lambda: setup.broker.queue()[0].placement_tries > 0)
    kill(setup)
    monkeypatch.setattr(PlacementQueue, "restore", lambda self, snapshot: 1 / 0)
    again = BrokerSetup(tmp_path)
    again.until_state(job, JobState.FAILED)
    reason = again.broker.job(job).reason
    assert "raised ZeroDivisionError (division by zero), a defect of the testbed" in reason
    assert failures_of(again, run) == [reason]
    kill(again)
    again = BrokerSetup(tmp_path)
    later = again.submit(4, run=run)
    again.until_state(later, JobState.FAILED)
    assert again.broker.job(later).reason == reason
    assert failures_of(again, run) == [reason]
    again.broker.end_run(run)
    finish_all(again, [again.submit(4)])
    again.close()


def failures_of(setup: BrokerSetup, run: int) -> list[str]:
    events = setup.journal.read(run, 0)
    return [event.detail["reason"] for event in events if event.kind is EventKind.POLICY_FAILED]


def no_deciders(request, topology):
    raise PolicyFailed("mine.py:Mine cannot be loaded.")


@pytest.mark.parametrize("is_ending", [False, True])
def test_a_run_whose_deciders_cannot_be_made_again_fails_or_ends(tmp_path, monkeypatch, is_ending):
    setup = BrokerSetup(tmp_path)
    run = setup.broker.begin_run(RunRequest(name="r")).id
    setup.broker.start_run(run)
    running = setup.submit(6, 6, run=run)
    setup.started(running, setup.east)
    waiting = setup.submit(8, run=run)
    if is_ending:
        setup.east.silent = setup.west.silent = True  # so that nothing is released, and the run does not end
        setup.broker._loop.call(lambda: setup.broker._cancellation.stop_run(run))
    kill(setup)
    default = restore.deciding(DEFAULT_RUN_REQUEST, setup.topology)
    monkeypatch.setattr(restore, "deciding", lambda asked, on: no_deciders(asked, on) if asked.name == "r" else default)
    again = BrokerSetup(tmp_path)
    again.until(lambda: not again.broker.is_recovering())
    if is_ending:
        again.until(lambda: again.broker.current_run() is None)
    else:
        assert again.broker.job(waiting).reason == "mine.py:Mine cannot be loaded."
        assert failures_of(again, run) == ["mine.py:Mine cannot be loaded."]
        with pytest.raises(TestbedNotUp, match="cannot be loaded"):
            again.submit(4, run=run)
        again.broker.end_run(run)
    assert again.broker.job(running).state.final
    finish_all(again, [again.submit(4)])
    again.close()


def test_a_run_that_cannot_be_decided_in_is_not_started(tmp_path, monkeypatch):
    setup = BrokerSetup(tmp_path)
    run = setup.broker.begin_run(RunRequest(name="r")).id
    kill(setup)
    default = restore.deciding(DEFAULT_RUN_REQUEST, setup.topology)
    monkeypatch.setattr(restore, "deciding", lambda asked, on: no_deciders(asked, on) if asked.name == "r" else default)
    again = BrokerSetup(tmp_path)
    with pytest.raises(PolicyFailed, match="cannot be loaded"):
        again.broker.start_run(run)
    again.broker.end_run(run)
    again.close()
