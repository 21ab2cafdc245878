"""Every discipline and policy through the broker, over simulated local managers; what it records can be made again."""

from __future__ import annotations

import sqlite3
import threading

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from emulator.broker.http.api import create_app
from emulator.broker.jobs.launch import LaunchSpecBuilder
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.job import JobSpecification, JobState
from emulator.model.views import EventKind, RunRequest, Submission
from emulator.policies.decisions import NOBODY
from emulator.policies.factory import Deciders, deciders
from emulator.policies.names import SINGLE_CLUSTER
from emulator.policies.protocols import Arrival
from emulator.policies.queues.placement_queue import PlacementQueue
from emulator.policies.registry import PLACEMENT_POLICIES, QUEUE_DISCIPLINES, SCANNING_DISCIPLINES
from emulator.policies.replay import replay
from tests.unit.broker.broker_setup import (
    BrokerSetup,
    BrokerSetupWithFiles,
    begin_fast_run,
    finish_all,
    recorded_decisions,
    recorded_request,
)

DISCIPLINES = [name for name in QUEUE_DISCIPLINES if name != SINGLE_CLUSTER]
POLICIES = list(PLACEMENT_POLICIES)
LOCAL = [name for name in DISCIPLINES if name[:2] in ("ls", "gp", "lp")]
"""Disciplines with a queue per cluster."""
ESTIMATING = ("sjf", "ljf", "easy", "conservative")
"""Disciplines that need the users' estimates."""
EVENT_DRIVEN = [name for name in DISCIPLINES if name not in SCANNING_DISCIPLINES]
KIND_OF = {"wf-distinct": "unordered", "fcm": "flexible"}


def replayed(setup: BrokerSetup, run: int, request: RunRequest):
    made = deciders(request.queue, request.policy, request.scanning, request.seed, quota=request.quota)
    return replay(recorded_decisions(setup, run), made, [8, 8])


@pytest.mark.parametrize("queue", DISCIPLINES)
def test_every_discipline_runs_all_its_jobs_and_can_be_replayed(setup, queue):
    run = begin_fast_run(setup, queue=queue, policy="wf-distinct", seed=7)
    jobs = []
    for number in range(6):
        at = {"queue": ("east", "west")[number % 2]} if queue in LOCAL else {}
        at |= {"run_time_limit_s": 1000.0 + number} if queue in ESTIMATING else {}
        sizes = (6,) if number % 3 else (5, 5)
        jobs.append(setup.submit(*sizes, run=run, request="unordered", **at))
    finish_all(setup, jobs)
    assert [setup.broker.job(job).state for job in jobs] == [JobState.FINISHED] * 6
    assert setup.nothing_is_held
    setup.broker.end_run(run)  # nothing is decided from now on
    found = replayed(setup, run, recorded_request(setup, run))
    assert (found.differences, found.decisions) == ((), len(recorded_decisions(setup, run)))


def test_a_discipline_that_plans_sees_the_estimated_ends_of_the_jobs_that_run(setup):
    run = begin_fast_run(setup, queue="easy", policy="wf-distinct")
    first = setup.submit(6, 6, run=run, request="unordered", run_time_limit_s=500.0)
    setup.until_state(first, JobState.STARTING)
    setup.submit(8, run=run, request="unordered", run_time_limit_s=900.0)
    setup.until(lambda: len(recorded_decisions(setup, run)) == 2)
    begun, later = recorded_decisions(setup, run)
    assert begun.surroundings.running == ()
    (running,) = later.surroundings.running
    assert (running.id, running.estimated_end_s - running.started_s) == (first, 500.0)
    assert replayed(setup, run, recorded_request(setup, run)).differences == ()


def test_a_job_without_a_run_time_limit_is_refused_where_estimates_are_needed(setup):
    run = begin_fast_run(setup, queue="easy", policy="wf-distinct")
    with pytest.raises(InvalidInput, match=r"estimate_s: .*run_time_limit_s"):
        setup.submit(6, run=run, request="unordered")


def test_what_was_decided_before_a_defect_happens_and_the_run_fails_in_a_sentence(setup, monkeypatch):
    """Both jobs are decided on at one reading: the first is placed, the second meets the defect."""
    decide = Deciders.decide

    def decide_or_fail(self, event, state):
        if isinstance(event, Arrival) and event.job.request.processors == 3:
            raise KeyError("a defect")
        return decide(self, event, state)

    monkeypatch.setattr(Deciders, "decide", decide_or_fail)
    run, together = begin_fast_run(setup), threading.Event()
    setup.broker._loop.post(together.wait)
    asked = [
        setup.broker.submit_async(
            Submission(specification=JobSpecification(application="poisson", components=(size,)), run=run)
        )
        for size in (2, 3)
    ]
    together.set()
    first, second = (each.result().id for each in asked)
    setup.until_state(second, JobState.FAILED)
    finish_all(setup, [first])
    assert setup.broker.job(first).state is JobState.FINISHED
    reason = setup.broker.job(second).reason
    assert reason.startswith("Queue 'placement' with policy 'wf' raised KeyError ('a defect'), a defect of the testbed")
    assert setup.kinds(run).count(EventKind.POLICY_FAILED) == 1
    assert [answer.job_id for each in recorded_decisions(setup, run) for answer in each.answers] == [first]
    setup.broker.end_run(run)
    assert setup.nothing_is_held


def raise_a_defect():
    raise ZeroDivisionError("a defect")


@pytest.mark.parametrize(
    ("answer", "said"), [(raise_a_defect, "ZeroDivisionError (a defect)"), (lambda: "soon", "TypeError")]
)
def test_a_defect_in_the_question_for_the_next_scan_fails_the_run_in_a_sentence(setup, monkeypatch, answer, said):
    setup.east.others = setup.west.others = 8
    run = begin_fast_run(setup)
    job = setup.submit(4, run=run)
    setup.until(lambda: recorded_decisions(setup, run))
    monkeypatch.setattr(PlacementQueue, "next_scan_s", lambda self: answer())
    setup.until_state(job, JobState.FAILED)
    reason = setup.broker.job(job).reason
    assert reason.startswith("Queue 'placement' with policy 'wf' raised ")
    assert said in reason
    assert "a defect of the testbed" in reason
    assert setup.kinds(run).count(EventKind.POLICY_FAILED) == 1
    setup.broker.end_run(run)
    monkeypatch.undo()
    setup.east.others = 0
    after = begin_fast_run(setup)
    finish_all(setup, [setup.submit(4, run=after)])


def test_a_defect_in_the_question_for_the_waiting_jobs_fails_the_run_in_a_sentence(tmp_path, monkeypatch):
    setup = BrokerSetupWithFiles(tmp_path)
    setup.east.others = setup.west.others = 8
    setup.register("input")
    run = setup.begin()
    other, reader = setup.submit(4, run=run), setup.submit(4, run=run, file="input")
    setup.until(lambda: len(setup.broker.queue()) == 2 and recorded_decisions(setup, run))
    monkeypatch.setattr(PlacementQueue, "waiting", lambda self: raise_a_defect())
    setup.broker._loop.call(lambda: setup.broker._replicas.catalogue.remove("input"))
    setup.submit(4, run=run)
    setup.until_state(other, JobState.FAILED)
    assert "raised ZeroDivisionError (a defect), a defect of the testbed" in setup.broker.job(other).reason
    assert setup.broker.job(reader).state is JobState.FAILED
    assert setup.kinds(run).count(EventKind.POLICY_FAILED) == 1
    setup.broker.end_run(run)
    setup.close()


def test_what_was_decided_and_cannot_be_carried_out_fails_the_run_in_a_sentence(setup, monkeypatch):
    monkeypatch.setattr("emulator.broker.scheduling.decision_record", lambda decision: raise_a_defect())
    run = begin_fast_run(setup)
    job = setup.submit(4, run=run)
    setup.until_state(job, JobState.FAILED)
    assert "raised ZeroDivisionError (a defect), a defect of the testbed" in setup.broker.job(job).reason
    assert setup.kinds(run).count(EventKind.POLICY_FAILED) == 1
    setup.broker.end_run(run)
    assert setup.nothing_is_held


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_places_the_kinds_it_takes(setup, policy):
    run = begin_fast_run(setup, policy=policy)
    sizes = (10,) if policy == "fcm" else (5, 5)
    job = setup.submit(*sizes, run=run, request=KIND_OF.get(policy, "non-fixed"))
    fixed = setup.submit(3, run=run, request="fixed", clusters=("west",))
    finish_all(setup, [job, fixed])
    assert sum(part.processors for part in setup.broker.job(job).components) == 10
    assert [part.cluster for part in setup.broker.job(fixed).components] == ["west"]
    assert replayed(setup, run, recorded_request(setup, run)).differences == ()


@pytest.mark.parametrize(
    ("kind", "sizes", "more"),
    [
        ("fixed", (4, 4), {"clusters": ("west", "east")}),
        ("non-fixed", (4, 4), {}),
        ("unordered", (4, 4), {}),
        ("total", (8,), {}),
        ("flexible", (12,), {"least_component": 4, "most_components": 2}),
        ("flexible", (12,), {"splits": ((8, 4), (6, 6))}),
    ],
)
def test_jobs_outside_of_runs_take_every_kind_of_request(setup, kind, sizes, more):
    job = setup.submit(*sizes, request=kind, **more)
    setup.until_state(job, JobState.STARTING)
    assert sum(part.processors for part in setup.broker.job(job).components) == sum(sizes)


@pytest.mark.parametrize("queue", LOCAL)
def test_a_single_component_job_runs_at_the_cluster_whose_queue_it_was_submitted_to(setup, queue):
    run = begin_fast_run(setup, queue=queue, policy="wf-distinct")
    job = setup.submit(3, run=run, request="unordered", queue="west")
    setup.until_state(job, JobState.STARTING)
    assert [part.cluster for part in setup.broker.job(job).components] == ["west"]
    with pytest.raises(InvalidInput, match=r"queue: '.*' has a queue per cluster, so name the one .* \(east, west\)"):
        setup.submit(3, run=run, request="unordered")


def test_a_job_that_could_never_start_is_refused_and_blocks_nobody(setup):
    run = begin_fast_run(setup, queue="gs", policy="wf-distinct")
    with pytest.raises(ImpossibleRequest, match="can never be placed"):
        setup.submit(5, 4, 4, run=run, request="unordered")
    job = setup.submit(5, 4, run=run, request="unordered")
    setup.until_state(job, JobState.STARTING)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"components": [5, 4, 4], "request": "unordered"}, "components: [5, 4, 4] can never be placed"),
        ({"components": [12], "request": "flexible", "splits": [[9, 3]]}, "can never be placed"),
        ({"components": [12], "request": "flexible", "splits": [[7, 4]]}, "splits: [7, 4] does not divide the total"),
        ({"components": [12], "request": "flexible", "splits": [[]]}, "splits.0"),
        ({"components": [12], "request": "flexible", "splits": {"a": 1}}, "splits"),
        ({"components": [12], "request": "flexible", "most_components": "two"}, "most_components"),
        ({"components": [8], "least_component": 2}, "least_component: a non-fixed request states its components"),
        ({"components": [8], "queue": "east; rm -rf /"}, "queue"),
        ({"components": [8], "queue": "east"}, "queue: 'placement' has one queue for all jobs"),
    ],
)
def test_a_request_that_cannot_be_meant_is_answered_with_422_and_the_field(setup, body, said):
    headers = {"authorization": "Bearer right"}
    client = TestClient(create_app(setup.broker, setup.journal, "right"), headers=headers)
    answer = client.post("/v1/jobs", json={"specification": {"application": "poisson", **body}})
    assert answer.status_code == 422
    assert said in answer.json()["error"]
    assert setup.broker.jobs(None) == []


def test_rules_are_the_run_s_and_refuse_at_submission(setup):
    run = begin_fast_run(setup, rules={"coallocation": "rco", "total_limit": 9})
    with pytest.raises(InvalidInput, match="the rule rco admits components of at most 4 processors, half a cluster"):
        setup.submit(6, run=run)
    with pytest.raises(InvalidInput, match="12 processors exceed the limit of 9 for a job"):
        setup.submit(4, 4, 4, run=run)
    assert setup.submit(4, 4, run=run)


def test_a_job_is_given_up_after_its_tries(setup):
    run = begin_fast_run(setup, scan_interval_s=1, tries_threshold=2)
    first = setup.submit(8, 8, run=run)
    setup.until_state(first, JobState.STARTING)
    second = setup.submit(8, run=run)
    setup.until_state(second, JobState.FAILED)
    view = setup.broker.job(second)
    assert (view.placement_tries, view.reason) == (3, "Given up: not placed in 3 placement tries.")


def test_a_run_keeps_within_its_quota_and_replays_within_it(setup):
    run = begin_fast_run(setup, quota=0.5)
    with pytest.raises(ImpossibleRequest, match=r"can never be placed on clusters of \[8, 8\] .* a quota of 0\.5"):
        setup.submit(5, run=run)
    jobs = [setup.submit(4, run=run) for _ in range(2)]
    for job in jobs:
        setup.until_state(job, JobState.STARTING)
    decided = len(recorded_decisions(setup, run))
    jobs.append(setup.submit(4, run=run))
    setup.until(lambda: len(recorded_decisions(setup, run)) > decided)
    assert setup.broker.job(jobs[2]).state is JobState.QUEUED
    finish_all(setup, jobs)
    request = recorded_request(setup, run)
    assert request.quota == 0.5
    assert replayed(setup, run, request).differences == ()
    assert replayed(setup, run, request.model_copy(update={"quota": None})).differences != ()


@pytest.mark.parametrize("quota", [0, 1.01, float("nan")])
def test_a_quota_that_is_no_share_is_no_request(quota):
    with pytest.raises(ValidationError, match="quota"):
        RunRequest(name="r", quota=quota)


def test_a_departure_has_the_queue_scanned_at_once_if_it_is_to(setup):
    run = begin_fast_run(setup, dilation=1, scan_interval_s=3600, scans_at_departures=True)
    first = setup.submit(8, 8, run=run)
    setup.started(first, setup.east)
    second = setup.submit(8, run=run)
    setup.until(lambda: len(recorded_decisions(setup, run)) == 2)
    setup.east.programs[-1].finish()
    setup.until_state(second, JobState.STARTING)


@pytest.mark.parametrize("queue", EVENT_DRIVEN)
def test_processors_counted_twice_while_a_claim_is_under_way_are_found_once_it_has_settled(setup, queue):
    """The local manager has given what its event does not yet say: four of eight processors seem to be missing."""
    run = begin_fast_run(setup, queue=queue, policy="wf-distinct")
    at = {"queue": "east"} if queue in LOCAL else {}
    at |= {"run_time_limit_s": 1000.0} if queue in ESTIMATING else {}
    fixed = {"request": "fixed", "clusters": ("east",), "run": run, **at}
    setup.east.holds_back = True
    first = setup.submit(4, **fixed)
    setup.until(lambda: setup.east.held)
    second = setup.submit(4, **fixed)
    setup.until(lambda: len(recorded_decisions(setup, run)) >= 2)
    assert setup.broker.job(second).state is JobState.QUEUED
    setup.east.report_all()
    setup.until_state(first, JobState.STARTING)
    setup.until(lambda: len(setup.east.held) == 2)
    assert any(getattr(decision.event, "job_id", None) == NOBODY for decision in recorded_decisions(setup, run))
    assert replayed(setup, run, recorded_request(setup, run)).differences == ()


@pytest.mark.parametrize("queue", EVENT_DRIVEN)
def test_a_job_starts_when_other_users_leave_though_no_job_of_ours_departs(setup, queue):
    setup.east.others = setup.west.others = 8
    run = begin_fast_run(setup, queue=queue, policy="wf-distinct")
    at = {"queue": "east"} if queue in LOCAL else {}
    at |= {"run_time_limit_s": 1000.0} if queue in ESTIMATING else {}
    job = setup.submit(4, run=run, request="unordered", **at)
    setup.until(lambda: recorded_decisions(setup, run))
    assert setup.broker.job(job).state is JobState.QUEUED
    setup.east.others = 0
    setup.until_state(job, JobState.STARTING)


def test_the_first_decision_and_one_in_a_thousand_hold_what_was_remembered(setup):
    run = begin_fast_run(setup, queue="lp-rd", policy="wf-distinct")
    setup.submit(4, 4, run=run, request="unordered")
    setup.submit(4, 4, run=run, request="unordered")
    setup.until(lambda: len(recorded_decisions(setup, run)) == 2)
    first, second = recorded_decisions(setup, run)
    assert first.snapshot is not None
    assert second.snapshot is None


def test_a_job_that_cannot_be_launched_fails_and_no_other_with_it(setup, monkeypatch):
    specs = setup.broker._scheduling.supervisor._specs
    build = specs.build

    def failing(run, job):
        if job.id == 2:
            raise sqlite3.OperationalError("disk full")
        return build(run, job)

    monkeypatch.setattr(specs, "build", failing)
    run = setup.broker.begin_run(RunRequest(name="r", queue="gs", policy="wf-distinct", paced_middleware=False)).id
    setup.broker.start_run(run)
    all_of_it = setup.submit(8, 8, run=run, request="unordered")
    setup.until_state(all_of_it, JobState.STARTING)
    failed, other, waits = (setup.submit(size, run=run, request="unordered") for size in (8, 8, 8))
    setup.broker.cancel(all_of_it)
    setup.until_state(failed, JobState.FAILED)
    assert setup.broker.job(failed).reason == "The broker could not launch the job (OperationalError('disk full'))."
    setup.until_state(other, JobState.STARTING)
    setup.until_state(waits, JobState.STARTING)


@pytest.mark.parametrize(("policy", "kind", "sizes"), [("fcm", "flexible", (12,)), ("wf", "non-fixed", (8, 4))])
def test_the_middleware_s_overhead_counts_the_components_as_placed(setup, monkeypatch, policy, kind, sizes):
    """A flexible request states one component, whatever it is split into."""
    built, build = [], LaunchSpecBuilder.build

    def noted(builder, run, job):
        built.append(build(builder, run, job))
        return built[-1]

    monkeypatch.setattr(LaunchSpecBuilder, "build", noted)
    run = begin_fast_run(setup, policy=policy, paced_middleware=True)
    setup.submit(*sizes, run=run, request=kind)
    setup.until(lambda: built)
    assert len(built[0].placement.components) == 2
    assert built[0].overhead_s == 5 + 2 * 1
