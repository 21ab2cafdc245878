"""Claiming where others are quicker: one try ends, all is released, and the procedure says when the next is."""

import time

import pytest

from emulator.broker.jobs.claiming_try import claim_name, job_label
from emulator.clusters.protocol import AllocationEventKind
from emulator.model.errors import ClusterUnreachable
from emulator.model.job import JobState
from emulator.model.scheduling import StatedClaiming
from emulator.model.views import EventKind, EventView, RunRequest
from tests.unit.broker.broker_setup import BrokerSetup

GRANT_LIMIT_HOST_S = 0.05
FAST = 0.001
"""A dilation at which four minutes of postponement are a quarter of a second."""


@pytest.fixture
def setup(tmp_path):
    setup = BrokerSetup(tmp_path, host_grant_limit_s=GRANT_LIMIT_HOST_S)
    yield setup
    setup.close()


def begun_run(setup: BrokerSetup, dilation: float = FAST, **claiming) -> int:
    request = RunRequest(name="fast", dilation=dilation, claiming=StatedClaiming(**claiming), paced_middleware=False)
    run = setup.broker.begin_run(request).id
    setup.broker.start_run(run)
    return run


def failed_claims(setup: BrokerSetup, run: int) -> list[EventView]:
    return [event for event in setup.journal.read(run, 0) if event.kind is EventKind.CLAIM_FAILED]


def test_a_claim_that_others_were_quicker_for_is_released_everywhere_and_tried_again(setup):
    run = begun_run(setup)
    setup.west.others_quicker = 2
    job = setup.submit(6, 6, run=run)
    setup.until_state(job, JobState.STARTING)
    view = setup.broker.job(job)
    assert view.claiming_tries == 3
    assert setup.west.claims == [f"{run}-{job}.{number}-west" for number in (1, 2, 3)]
    assert len(setup.east.held) == len(setup.west.held) == 1
    assert setup.east.released == ["east1", "east2"]
    first, second = failed_claims(setup, run)
    assert (first.detail["cluster"], first.detail["claiming_try"], second.detail["claiming_try"]) == ("west", 1, 2)
    assert "others hold them" in first.detail["reason"]
    assert (first.job.claiming_tries, first.job.claim_due_s) == (1, pytest.approx(first.job.planned_start_s, abs=240))
    east, west = first.job.components
    assert east.claimed_s is not None
    assert first.job.placed_s < east.claimed_s < first.time_s, "what was held for nothing is told"
    assert west.claimed_s is None
    assert [part.claimed_s > first.time_s for part in view.components] == [True, True]


def test_a_clock_that_is_known_to_be_ahead_does_not_move_the_claims_that_it_times(setup):
    setup.west.clock_ahead_s = -3600.0
    request = RunRequest(name="fast", paced_middleware=False, host_clocks_ahead_s={"west": -3600.0})
    run = setup.broker.begin_run(request).id
    setup.broker.start_run(run)
    job = setup.submit(6, 6, run=run)
    setup.until_state(job, JobState.STARTING)
    east, west = setup.broker.job(job).components
    assert east.claimed_s == pytest.approx(west.claimed_s, abs=60.0)


def test_the_job_keeps_its_placement_and_is_claimed_at_the_times_of_the_procedure(setup):
    run = begun_run(setup)
    setup.east.others_quicker = 1
    job = setup.submit(8, request="fixed", clusters=("east",), run=run)
    setup.until_state(job, JobState.STARTING)
    view = setup.broker.job(job)
    assert view.placement_tries == 1
    assert view.additional_claiming_s == view.planned_start_s - view.placed_s == pytest.approx(240)
    assert view.placed_s < view.claim_due_s <= view.claimed_s
    setup.until(lambda: setup.east.scripts)
    start_at = setup.east.programs[-1].host_start_timestamp_s()
    origin_s = setup.broker.current_run().host_origin_s
    assert start_at == pytest.approx(origin_s + view.planned_start_s * FAST, abs=1e-3)


def test_the_threshold_of_postponements_fails_the_job_which_then_holds_nothing(setup):
    run = begun_run(setup, most_postponements=0)
    setup.west.others_quicker = 1
    job = setup.submit(6, 6, run=run)
    setup.until_state(job, JobState.FAILED)
    view = setup.broker.job(job)
    assert "'west' did not grant 6 processors" in view.reason
    assert (view.claiming_tries, len(failed_claims(setup, run))) == (1, 1)
    assert setup.nothing_is_held


def test_a_job_that_may_be_placed_again_waits_in_the_queue_and_goes_where_there_is_room(setup):
    run = begun_run(setup, most_postponements=0, place_again=True)
    setup.west.others_quicker = 1
    job = setup.submit(6, 6, run=run)
    setup.until_state(job, JobState.STARTING)
    view = setup.broker.job(job)
    assert (view.claiming_tries, view.placement_tries >= 2) == (2, True)
    assert setup.west.claims == [f"{run}-{job}.{number}-west" for number in (1, 2)]
    assert setup.kinds(run).count(EventKind.PLACED) == 2
    events = setup.journal.read(run, 0)
    given_back = next(event for event in events if event.kind is EventKind.GIVEN_BACK)
    assert "others hold them" in given_back.detail["reason"]
    assert (given_back.job.state, given_back.job.components, given_back.job.placed_s) == (JobState.QUEUED, (), None)
    asked = [event.detail["event"]["kind"] for event in events if event.kind is EventKind.DECISION]
    assert asked[:3] == ["arrival", "departure", "arrival"]
    assert len(setup.east.held) == len(setup.west.held) == 1


def test_a_job_that_waits_to_be_placed_again_is_cancelled(setup):
    run = begun_run(setup, most_postponements=0, place_again=True)
    setup.west.others_quicker = 1
    setup.west.on_claim = lambda claim, allocation: setattr(setup.west, "others", 8)
    job = setup.submit(6, 6, run=run)
    setup.until(lambda: EventKind.GIVEN_BACK in setup.kinds(run))
    assert setup.broker.job(job).state is JobState.QUEUED
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)
    assert setup.nothing_is_held


def test_a_late_event_of_an_earlier_try_does_not_end_the_next(setup):
    run = begun_run(setup)
    setup.east.others_quicker = 1
    job = setup.submit(8, request="fixed", clusters=("east",), run=run)
    setup.until_state(job, JobState.STARTING)
    setup.until(lambda: setup.east.programs)
    for claim, allocation in ((f"{run}-{job}.1-east", "east1"), (f"{run}-{job}.2-east", "of-another-testbed")):
        setup.east.report(AllocationEventKind.ENDED, claim, allocation)
    setup.east.programs[-1].say(event="started", host_moment_s=time.time(), host_late_s=0.0)
    setup.east.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)


def test_what_an_earlier_testbed_of_that_name_claimed_is_no_claim_of_ours(setup):
    """A head's events are read from their beginning, those of other allocations of the same names among them."""
    setup.east.holds_back = True
    job = setup.submit(8, request="fixed", clusters=("east",))
    setup.until(lambda: setup.east.held)
    for kind in AllocationEventKind:
        setup.east.report(kind, f"0-{job}.1-east", "old")
    assert setup.broker.job(job).state is JobState.CLAIMING
    setup.east.report(AllocationEventKind.CLAIMED, f"0-{job}.1-east", "east1")
    setup.until_state(job, JobState.STARTING)


def test_a_job_that_waits_for_its_next_try_is_cancelled_at_once(setup):
    run = begun_run(setup, dilation=1.0)
    setup.west.others_quicker = 1
    job = setup.submit(6, 6, run=run)
    setup.until(lambda: failed_claims(setup, run))
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)
    assert setup.broker.job(job).reason == "Cancelled while it was claiming."
    assert setup.nothing_is_held


def test_a_claim_whose_answer_was_lost_is_released_by_its_name(setup):
    def lose_the_answer(claim, allocation):
        raise ClusterUnreachable("Cluster 'west' stopped answering.")

    setup.west.on_claim = lose_the_answer
    job = setup.submit(6, 6)
    setup.until_state(job, JobState.FAILED)
    assert setup.west.claims == [f"0-{job}.1-west"]
    setup.until(lambda: setup.nothing_is_held)


def test_an_allocation_that_is_ended_while_the_job_runs_fails_it_with_the_cluster_s_name(setup):
    job = setup.submit(6, 6)
    setup.started(job, setup.east)
    setup.west.release(next(iter(setup.west.held)))
    setup.east.programs[-1].end(137, "srun: error: task killed")
    setup.until_state(job, JobState.FAILED)
    assert setup.broker.job(job).reason == "The allocation in cluster 'west' ended while the job ran (exit code 137)."
    assert setup.nothing_is_held


def test_a_job_that_runs_longer_than_its_limit_is_failed_and_released(setup):
    run = begun_run(setup)
    job = setup.submit(8, run=run, run_time_limit_s=300)
    setup.until_state(job, JobState.FAILED)
    assert setup.broker.job(job).reason == "The run-time limit was reached."
    assert setup.nothing_is_held


def test_a_claim_s_name_tells_its_job_whatever_the_cluster_is_called():
    assert job_label(claim_name("3-17", 2, "fs0.das-2")) == "3-17"
