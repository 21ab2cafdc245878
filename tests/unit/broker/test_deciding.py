"""Every discipline and policy through the broker, over simulated local managers; what it records can be made again."""

from __future__ import annotations

import json
import sqlite3

import pytest
from fastapi.testclient import TestClient

from emulator.broker.api import application
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.job import JobState
from emulator.model.views import EventKind, RunRequest
from emulator.policies.deciding import SIMULATED_ONLY, deciders
from emulator.policies.decisions import NOBODY, recorded_decision
from emulator.policies.registry import PLACEMENT_POLICIES, QUEUE_DISCIPLINES, SCANNING_DISCIPLINES
from emulator.policies.replaying import replay
from tests.unit.broker.test_broker import House

DISCIPLINES = [name for name in QUEUE_DISCIPLINES if name not in SIMULATED_ONLY]
POLICIES = [name for name in PLACEMENT_POLICIES if name not in SIMULATED_ONLY]
LOCAL = [name for name in DISCIPLINES if name[:2] in ("ls", "gp", "lp")]
"""Disciplines with a queue per cluster."""
EVENT_DRIVEN = [name for name in DISCIPLINES if name not in SCANNING_DISCIPLINES]
KIND_OF = {"wf-distinct": "unordered", "fcm": "flexible"}


def begun(house: House, **asked) -> int:
    """A run in which an emulated second takes little time."""
    request = RunRequest(**({"name": "r", "dilation": 0.02, "paced_middleware": False} | asked))
    run = house.broker.begin_run(request).id
    house.broker.start_run(run)
    return run


def decisions_of(house: House, run: int):
    events = [event for event in house.journal.read(run, 0) if event.kind is EventKind.DECISION]
    return [recorded_decision(json.loads(json.dumps(event.detail))) for event in events]


def replayed(house: House, run: int, request: RunRequest):
    made = deciders(request.queue, request.policy, request.scanning, request.seed)
    return replay(decisions_of(house, run), made, [8, 8])


def request_of(house: House, run: int) -> RunRequest:
    started = next(event for event in house.journal.read(run, 0) if event.kind is EventKind.RUN_STARTED)
    return RunRequest.model_validate(started.detail["request"])


def finish_all(house: House, jobs: list[int]) -> None:
    """Let each job end as soon as it has begun."""
    done: set[int] = set()

    def all_ended() -> bool:
        for cluster in (house.east, house.west):
            for program in cluster.programs:
                if id(program) not in done:
                    done.add(id(program))
                    program.finish()
        return all(house.broker.job(job).state.final for job in jobs)

    house.until(all_ended)


@pytest.mark.parametrize("queue", DISCIPLINES)
def test_every_discipline_runs_all_its_jobs_and_can_be_replayed(house, queue):
    run = begun(house, queue=queue, policy="wf-distinct", seed=7)
    jobs = []
    for number in range(6):
        at = {"queue": ("east", "west")[number % 2]} if queue in LOCAL else {}
        sizes = (6,) if number % 3 else (5, 5)
        jobs.append(house.submit(*sizes, run=run, request="unordered", **at))
    finish_all(house, jobs)
    assert [house.broker.job(job).state for job in jobs] == [JobState.FINISHED] * 6
    assert house.nothing_is_held
    found = replayed(house, run, request_of(house, run))
    assert (found.differences, found.decisions) == ((), len(decisions_of(house, run)))


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_places_the_kinds_it_takes(house, policy):
    run = begun(house, policy=policy)
    sizes = (10,) if policy == "fcm" else (5, 5)
    job = house.submit(*sizes, run=run, request=KIND_OF.get(policy, "non-fixed"))
    fixed = house.submit(3, run=run, request="fixed", clusters=("west",))
    finish_all(house, [job, fixed])
    assert sum(part.processors for part in house.broker.job(job).components) == 10
    assert [part.cluster for part in house.broker.job(fixed).components] == ["west"]
    assert replayed(house, run, request_of(house, run)).differences == ()


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
def test_jobs_outside_of_runs_take_every_kind_of_request(house, kind, sizes, more):
    job = house.submit(*sizes, request=kind, **more)
    house.until_state(job, JobState.STARTING)
    assert sum(part.processors for part in house.broker.job(job).components) == sum(sizes)


@pytest.mark.parametrize("queue", LOCAL)
def test_a_single_component_job_runs_at_the_cluster_whose_queue_it_was_submitted_to(house, queue):
    run = begun(house, queue=queue, policy="wf-distinct")
    job = house.submit(3, run=run, request="unordered", queue="west")
    house.until_state(job, JobState.STARTING)
    assert [part.cluster for part in house.broker.job(job).components] == ["west"]
    with pytest.raises(InvalidInput, match=r"queue: '.*' has a queue per cluster, so name the one .* \(east, west\)"):
        house.submit(3, run=run, request="unordered")


def test_a_job_that_could_never_start_is_refused_and_blocks_nobody(house):
    run = begun(house, queue="gs", policy="wf-distinct")
    with pytest.raises(ImpossibleRequest, match="can never be placed"):
        house.submit(5, 4, 4, run=run, request="unordered")
    job = house.submit(5, 4, run=run, request="unordered")
    house.until_state(job, JobState.STARTING)


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
def test_a_request_that_cannot_be_meant_is_answered_with_422_and_the_field(house, body, said):
    headers = {"authorization": "Bearer right"}
    client = TestClient(application(house.broker, house.journal, "right"), headers=headers)
    answer = client.post("/v1/jobs", json={"specification": {"application": "poisson", **body}})
    assert answer.status_code == 422
    assert said in answer.json()["error"]
    assert house.broker.jobs(None) == []


def test_rules_are_the_run_s_and_refuse_at_submission(house):
    run = begun(house, rules={"coallocation": "rco", "total_limit": 9})
    with pytest.raises(InvalidInput, match="the rule rco admits components of at most 4 processors, half a cluster"):
        house.submit(6, run=run)
    with pytest.raises(InvalidInput, match="12 processors exceed the limit of 9 for a job"):
        house.submit(4, 4, 4, run=run)
    assert house.submit(4, 4, run=run)


def test_a_job_is_given_up_after_its_tries(house):
    run = begun(house, scan_interval_s=1, tries_threshold=2)
    first = house.submit(8, 8, run=run)
    house.until_state(first, JobState.STARTING)
    second = house.submit(8, run=run)
    house.until_state(second, JobState.FAILED)
    view = house.broker.job(second)
    assert (view.placement_tries, view.reason) == (3, "Given up: not placed in 3 placement tries.")


def test_a_departure_has_the_queue_scanned_at_once_if_it_is_to(house):
    run = begun(house, dilation=1, scan_interval_s=3600, scans_at_departures=True)
    first = house.submit(8, 8, run=run)
    house.started(first, house.east)
    second = house.submit(8, run=run)
    house.until(lambda: len(decisions_of(house, run)) == 2)
    house.east.programs[-1].finish()
    house.until_state(second, JobState.STARTING)


@pytest.mark.parametrize("queue", EVENT_DRIVEN)
def test_processors_counted_twice_while_a_claim_is_under_way_are_found_once_it_has_settled(house, queue):
    """The local manager has given what its event does not yet say: four of eight processors seem to be missing."""
    run = begun(house, queue=queue, policy="wf-distinct")
    at = {"queue": "east"} if queue in LOCAL else {}
    fixed = {"request": "fixed", "clusters": ("east",), "run": run, **at}
    house.east.holds_back = True
    first = house.submit(4, **fixed)
    house.until(lambda: house.east.held)
    second = house.submit(4, **fixed)
    house.until(lambda: len(decisions_of(house, run)) >= 2)
    assert house.broker.job(second).state is JobState.QUEUED
    house.east.tell_all()
    house.until_state(first, JobState.STARTING)
    house.until(lambda: len(house.east.held) == 2)
    assert any(getattr(decision.event, "job_id", None) == NOBODY for decision in decisions_of(house, run))
    assert replayed(house, run, request_of(house, run)).differences == ()


@pytest.mark.parametrize("queue", EVENT_DRIVEN)
def test_a_job_starts_when_other_users_leave_though_no_job_of_ours_departs(house, queue):
    house.east.others = house.west.others = 8
    run = begun(house, queue=queue, policy="wf-distinct")
    at = {"queue": "east"} if queue in LOCAL else {}
    job = house.submit(4, run=run, request="unordered", **at)
    house.until(lambda: decisions_of(house, run))
    assert house.broker.job(job).state is JobState.QUEUED
    house.east.others = 0
    house.until_state(job, JobState.STARTING)


def test_the_first_decision_and_one_in_a_thousand_hold_what_was_remembered(house):
    run = begun(house, queue="lp-rd", policy="wf-distinct")
    house.submit(4, 4, run=run, request="unordered")
    house.submit(4, 4, run=run, request="unordered")
    house.until(lambda: len(decisions_of(house, run)) == 2)
    first, second = decisions_of(house, run)
    assert first.snapshot is not None
    assert second.snapshot is None


def test_a_job_whose_life_cannot_be_made_fails_and_takes_no_other_with_it(house, monkeypatch):
    errand = house.broker._scheduling._errands.errand

    def failing(run, job):
        if job.id == 2:
            raise sqlite3.OperationalError("disk full")
        return errand(run, job)

    monkeypatch.setattr(house.broker._scheduling._errands, "errand", failing)
    run = house.broker.begin_run(RunRequest(name="r", queue="gs", policy="wf-distinct", paced_middleware=False)).id
    house.broker.start_run(run)
    all_of_it = house.submit(8, 8, run=run, request="unordered")
    house.until_state(all_of_it, JobState.STARTING)
    failed, other, waits = (house.submit(size, run=run, request="unordered") for size in (8, 8, 8))
    house.broker.cancel(all_of_it)
    house.until_state(failed, JobState.FAILED)
    assert house.broker.job(failed).reason == "The broker could not begin it (OperationalError('disk full'))."
    house.until_state(other, JobState.STARTING)
    house.until_state(waits, JobState.STARTING)
