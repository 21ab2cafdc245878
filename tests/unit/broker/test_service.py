"""The broker's promises: all components or none, the timeline from the events, everything released whatever happens."""

import sqlite3
import time

import pytest

from emulator.broker.service import Broker
from emulator.model import clock
from emulator.model.errors import (
    ClusterUnreachable,
    ImpossibleRequest,
    InvalidInput,
    TestbedBusy,
    TestbedNotUp,
    UnknownName,
)
from emulator.model.job import JobSpecification, JobState
from emulator.model.views import EventKind, RunRequest, Submission
from tests.unit.broker.broker_setup import BrokerSetup, recorded_decisions


def test_a_job_goes_from_submission_to_release_and_its_times_follow_one_another(setup):
    job = setup.submit(6, 6)
    setup.started(job, setup.east)
    assert {len(setup.east.held), len(setup.west.held)} == {1}
    setup.east.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)
    view = setup.broker.job(job)
    timestamps = [view.submitted_s, view.placed_s, view.claimed_s, view.started_s, view.finished_s, view.released_s]
    assert timestamps == sorted(timestamps)
    assert (view.overhead_late_s, view.result, view.exit_code) == (0.25, {"runtime_s": 1.0}, 0)
    assert [component.cluster for component in view.components] == ["east", "west"]
    assert setup.nothing_is_held
    assert setup.kinds() == [
        EventKind.SUBMITTED,
        EventKind.PLACED,
        EventKind.COMPONENT_CLAIMED,
        EventKind.COMPONENT_CLAIMED,
        EventKind.CLAIMED,
        EventKind.STARTED,
        EventKind.FINISHED,
    ]


def test_the_ranks_start_is_paced_to_base_plus_one_second_per_component(setup):
    job = setup.submit(6, 6)
    setup.started(job, setup.east)
    script = setup.east.scripts[-1]
    start_at = setup.east.programs[-1].host_start_timestamp_s()
    origin = setup.broker._registry.default_run.clock.host_origin_s
    assert start_at == pytest.approx(origin + setup.broker.job(job).placed_s + 7, abs=0.001)
    assert "-H east:6,west:6 -n 12" in script
    assert "--components=6,6" in script


def test_components_on_one_cluster_share_an_allocation(setup):
    job = setup.submit(4, 3, request="fixed", clusters=("west", "west"))
    setup.started(job, setup.west)
    assert next(iter(setup.west.held.values()))[1] == 7
    assert "-H west:7 -n 7" in setup.west.scripts[-1]
    assert "--components=7" in setup.west.scripts[-1]


def test_when_one_cluster_refuses_every_other_claim_is_released(setup):
    setup.west.refuses = True
    job = setup.submit(6, 6)
    setup.until_state(job, JobState.FAILED)
    assert "refused 6 processors" in setup.broker.job(job).reason
    assert setup.nothing_is_held


def test_no_rank_starts_before_all_components_hold_their_processors(setup):
    setup.west.holds_back = True
    job = setup.submit(6, 6)
    setup.until(lambda: setup.west.held)
    time.sleep(0.05)
    assert setup.broker.job(job).state is JobState.CLAIMING
    assert setup.east.scripts == []
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)
    assert setup.nothing_is_held


def test_processors_asked_for_but_not_given_are_not_placed_on_again(setup):
    setup.east.holds_back = setup.west.holds_back = True
    setup.submit(8)
    second = setup.submit(8)
    third = setup.submit(8)
    setup.until(lambda: setup.broker.job(second).state is JobState.CLAIMING)
    setup.until(lambda: len(recorded_decisions(setup, 0)) >= 3)
    assert setup.broker.job(third).state is JobState.QUEUED


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.CLAIMING, JobState.STARTING, JobState.RUNNING])
def test_a_job_can_be_cancelled_in_every_state_and_leaves_nothing(setup, state):
    if state is JobState.QUEUED:
        setup.east.silent = setup.west.silent = True
    setup.east.holds_back = state is JobState.CLAIMING
    job = setup.submit(8)
    if state is JobState.RUNNING:
        setup.started(job, setup.east)
    setup.until_state(job, state)
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)
    assert state.value in setup.broker.job(job).reason
    assert setup.nothing_is_held


def test_a_job_whose_ranks_fail_is_failed_with_the_application_s_own_sentence(setup):
    job = setup.submit(8)
    setup.started(job, setup.east)
    setup.east.programs[-1].say(event="failed", reason="--grid must be at least 1 point along a side, not 0.")
    setup.east.programs[-1].end(3, "mpirun noise")
    setup.until_state(job, JobState.FAILED)
    view = setup.broker.job(job)
    assert (view.reason, view.exit_code) == ("--grid must be at least 1 point along a side, not 0.", 3)
    assert setup.nothing_is_held


def test_losing_a_cluster_fails_the_jobs_on_it_and_no_others(setup):
    on_west = setup.submit(4, request="fixed", clusters=("west",))
    setup.started(on_west, setup.west)
    on_east = setup.submit(4, request="fixed", clusters=("east",))
    setup.started(on_east, setup.east)
    setup.west.fall_silent()
    setup.until_state(on_west, JobState.FAILED)
    assert "'west' stopped answering" in setup.broker.job(on_west).reason
    assert EventKind.CLUSTER_LOST in setup.kinds()
    setup.east.programs[-1].finish()
    setup.until_state(on_east, JobState.FINISHED)


@pytest.mark.parametrize(
    "failure", [ClusterUnreachable("It stopped answering."), sqlite3.OperationalError("disk full")]
)
def test_a_cluster_that_could_not_be_swept_when_it_was_found_is_found_later(tmp_path, failure):
    class Unswept(BrokerSetup):
        def make_broker(self, *arguments) -> Broker:
            self.west.sweeps_failing = [failure, failure]
            return super().make_broker(*arguments)

    setup = Unswept(tmp_path)
    assert setup.west.sweeps_failing == []
    setup.started(setup.submit(6, 6), setup.east)
    setup.close()


def test_a_waiting_job_starts_at_the_scan_after_room_appears(setup):
    run = setup.broker.begin_run(RunRequest(name="fast", dilation=0.05)).id
    setup.broker.start_run(run)
    first = setup.submit(8, 8, run=run)
    setup.started(first, setup.east)
    second = setup.submit(8, run=run)
    setup.until(lambda: any(entry.placement_tries for entry in setup.broker.queue()))
    setup.east.programs[-1].finish()
    setup.until_state(second, JobState.STARTING)
    view = setup.broker.job(second)
    assert view.placement_tries >= 2
    assert view.placed_s >= setup.broker.job(first).finished_s


def test_one_run_holds_the_testbed_and_the_default_run_waits(setup):
    run = setup.broker.begin_run(RunRequest(name="first", dilation=2))
    with pytest.raises(TestbedBusy, match="Run 1 \\(first\\) holds the testbed"):
        setup.broker.begin_run(RunRequest(name="second"))
    with pytest.raises(TestbedBusy):
        setup.submit(4)
    with pytest.raises(TestbedNotUp, match="preparing"):
        setup.submit(4, run=run.id)
    setup.broker.start_run(run.id)
    job = setup.submit(4, run=run.id)
    setup.until_state(job, JobState.STARTING)
    setup.broker.end_run(run.id)
    assert setup.broker.job(job).state is JobState.CANCELLED
    assert setup.nothing_is_held
    assert setup.broker.current_run() is None
    assert setup.kinds(run.id)[-1] is EventKind.RUN_ENDED


def test_to_start_a_run_twice_is_no_error_and_starts_it_once(setup):
    run = setup.broker.begin_run(RunRequest(name="r")).id
    assert setup.broker.start_run(run) == setup.broker.start_run(run)
    assert setup.kinds(run) == [EventKind.RUN_STARTED]


def test_a_run_cannot_begin_while_a_job_outside_of_runs_is_unfinished(setup):
    job = setup.submit(4)
    with pytest.raises(TestbedBusy, match="await them first, or `testbed cancel` them"):
        setup.broker.begin_run(RunRequest(name="first"))
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)
    setup.broker.begin_run(RunRequest(name="first"))


def test_a_run_s_timestamps_are_in_its_own_emulated_seconds(setup):
    run = setup.broker.begin_run(RunRequest(name="slow", dilation=0.01))
    setup.broker.start_run(run.id)
    time.sleep(0.05)
    job = setup.submit(4, run=run.id)
    assert setup.broker.job(job).submitted_s >= 5


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"application": "quake"}, UnknownName, "no application 'quake' \\(known: poisson, laplace, "),
        ({"arguments": {"dilation": 1}}, InvalidInput, "arguments.dilation"),
        ({"arguments": {"steps": 9}}, InvalidInput, "arguments.steps: poisson has no such argument"),
        ({"components": (9,)}, ImpossibleRequest, "a component of 9 processors"),
        ({"components": (6, 5, 5), "request": "unordered"}, ImpossibleRequest, "can never be placed on clusters of"),
        ({"queue": "east"}, InvalidInput, "queue: 'placement' has one queue for all jobs"),
        ({"queue": "north"}, UnknownName, "no cluster 'north'"),
    ],
)
def test_what_cannot_be_run_is_refused_at_submission(setup, more, error, said):
    specification = JobSpecification(**({"application": "poisson", "components": (8,)} | more))
    with pytest.raises(error, match=said):
        setup.broker.submit(Submission(specification=specification))
    assert setup.broker.jobs(None) == []


def test_unknown_policies_jobs_and_runs_are_named(setup):
    with pytest.raises(UnknownName, match="no live policy 'best'"):
        setup.broker.begin_run(RunRequest(name="r", policy="best"))
    with pytest.raises(UnknownName, match="no job 7"):
        setup.broker.cancel(7)
    with pytest.raises(UnknownName, match="no run 7"):
        setup.broker.start_run(7)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"queue": "sc"}, "queue: 'sc' is live only on a topology of one cluster, and here are 2"),
        ({"queue": "gs", "tries_threshold": 3}, "tries_threshold: queue 'gs' is never scanned"),
        (
            {"queue": "lifo"},
            "no live queue 'lifo' \\(known: placement, placement-adaptive, gs, ls-or, .*conservative, sc, just-first,",
        ),
    ],
)
def test_what_does_not_run_live_is_refused_with_the_reason(setup, stated, said):
    with pytest.raises(InvalidInput, match=said):
        setup.broker.begin_run(RunRequest(name="r", **stated))
    assert setup.broker.current_run() is None


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_wall_clock_that_is_set_in_mid_run_loses_and_delays_nothing(setup, monkeypatch, step_s):
    monkeypatch.setattr(clock, "_STEADY", clock._SteadyClock())
    run = setup.broker.begin_run(RunRequest(name="r", dilation=0.02)).id
    setup.broker.start_run(run)
    first = setup.submit(8, 8, run=run)
    setup.started(first, setup.east)
    second = setup.submit(8, 8, run=run)
    read = time.time
    monkeypatch.setattr(time, "time", lambda: read() + step_s)
    setup.east.programs[-1].finish()
    setup.until_state(first, JobState.FINISHED)
    setup.until_state(second, JobState.STARTING)
    views = [setup.broker.job(job) for job in (first, second)]
    assert views[1].placed_s >= views[0].finished_s >= views[0].started_s
    assert views[1].claimed_s < 1_000, "an hour is far longer than the test"
    assert setup.broker.current_run().host_origin_s == pytest.approx(time.time() - 10, abs=15)


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_timestamp_taken_before_the_wall_clock_was_set_lies_within_its_job(setup, step_s):
    job = setup.submit(8)
    setup.until_state(job, JobState.STARTING)
    setup.until(lambda: setup.east.programs or setup.west.programs)
    (program,) = setup.east.programs + setup.west.programs
    program.say(event="started", host_moment_s=time.time() + step_s, host_late_s=0.0)
    setup.until_state(job, JobState.RUNNING)
    view = setup.broker.job(job)
    assert view.claimed_s <= view.started_s < view.claimed_s + 60


def test_a_page_of_jobs_costs_the_loop_no_job_beyond_it(setup):
    jobs = [setup.submit(8, 8) for _ in range(4)]
    registry = setup.broker._registry
    assert list(setup.broker._loop.call(lambda: registry.live_views(0, after=jobs[0], limit=2))) == jobs[1:3]
    assert [view.id for view in setup.broker.jobs(0, after=jobs[0], limit=2)] == jobs[1:3]
    assert [view.id for view in setup.broker.jobs(None)] == jobs


def test_a_job_that_has_ended_leaves_the_memory_and_is_still_shown(setup):
    jobs = [setup.submit(4) for _ in range(3)]
    for job in jobs[:2]:
        setup.broker.cancel(job)
    for job in jobs[:2]:
        setup.until_state(job, JobState.CANCELLED)
    assert list(setup.broker._registry.default_run.jobs) == jobs[2:]
    assert [view.id for view in setup.broker.jobs(0)] == jobs
    assert [view.id for view in setup.broker.jobs(None, after=jobs[0], limit=1)] == jobs[1:2]
    assert setup.broker.output(jobs[0]) == ("", "")


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "started", "host_moment_s": "x", "host_late_s": 0.0}',
        '{"event": "started", "host_moment_s": NaN, "host_late_s": 0.0}',
        '{"event": "started", "host_moment_s": 1e999, "host_late_s": 0.0}',
        '{"event": "finished", "host_moment_s": null}',
        '{"event": "result", "record": "' + "x" * 2_000_000 + '"}',
        "[" * 100_000,
        "{" * 100_000,
        '{"event": "result", "record": {"name": "\\ud800"}}',
        '{"event": "failed", "reason": "half a character: \\udc80"}',
        '{"event": "result", "record": ' + '{"deep": ' * 150 + "1" + "}" * 151,
    ],
)
def test_what_ranks_write_instead_of_a_report_is_output(setup, line):
    job = setup.submit(8)
    setup.until_state(job, JobState.STARTING)
    setup.until(lambda: setup.east.programs or setup.west.programs)
    (program,) = setup.east.programs + setup.west.programs
    program.said.put(line)
    setup.until(lambda: setup.broker.output(job)[0])
    assert setup.broker.job(job).state is JobState.STARTING
    program.say(event="started", host_moment_s=time.time(), host_late_s=0.0)
    setup.until_state(job, JobState.RUNNING)
    program.finish()
    setup.until_state(job, JobState.FINISHED)


def test_a_rank_that_reports_its_start_without_end_costs_one_event(setup):
    job = setup.submit(8)
    setup.started(job, setup.east)
    for _ in range(100):
        setup.east.programs[-1].say(event="started", host_moment_s=time.time(), host_late_s=0.0)
    setup.east.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)
    assert setup.kinds().count(EventKind.STARTED) == 1
