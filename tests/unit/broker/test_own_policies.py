"""Own policies in a live run: they decide, replay makes the very decisions again, and their faults end a run."""

from __future__ import annotations

import json
import re

import pytest
from fastapi.testclient import TestClient

from emulator.broker.http.api import create_app
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.job import JobState
from emulator.model.scheduling import LARGEST_SOURCE_BYTES
from emulator.model.views import EventKind, RunRequest
from emulator.policies.factory import deciders
from emulator.policies.replay import replay
from tests.unit.broker.broker_setup import BrokerSetup, begin_fast_run, finish_all, recorded_decisions, recorded_request
from tests.unit.broker.own_policies import BEST_FIT, SHORTEST_AHEAD, SMALLEST_FIRST, deciding, placing

NAME = "mine.py:Mine"
OWN_POLICY = {"policy": NAME}
OWN_QUEUE = {"queue": NAME, "policy": "wf"}


@pytest.fixture
def setup(tmp_path):
    setup = BrokerSetup(tmp_path)
    yield setup
    setup.close()


def under(setup: BrokerSetup, source: str, **stated) -> int:
    return begin_fast_run(setup, sources={"mine.py": source}, **stated)


def failure_of(setup: BrokerSetup, run: int) -> str:
    said = [event.detail["reason"] for event in setup.journal.read(run, 0) if event.kind is EventKind.POLICY_FAILED]
    assert len(said) == 1
    return said[0]


def assert_still_serves(setup: BrokerSetup, run: int) -> None:
    """The broker goes on: the run ends, and another one's job starts and ends."""
    setup.broker.end_run(run)
    assert setup.nothing_is_held
    after = begin_fast_run(setup)
    finish_all(setup, [setup.submit(4, run=after)])
    setup.broker.end_run(after)


@pytest.mark.parametrize(
    ("source", "stated"),
    [(BEST_FIT, OWN_POLICY), (BEST_FIT, {**OWN_POLICY, "queue": "gs"}), (SMALLEST_FIRST, OWN_QUEUE)],
)
def test_decisions_are_made_again_from_the_request_alone(setup, source, stated):
    run = under(setup, source, **stated)
    jobs = [setup.submit(*components, run=run) for components in ((8,), (6,), (4, 4), (2,), (7, 1))]
    finish_all(setup, jobs)
    request = recorded_request(setup, run)
    assert request.sources == {"mine.py": source}
    again = deciders(request.queue, request.policy, request.scanning, request.seed, request.sources)
    done = replay(recorded_decisions(setup, run), again, [8, 8])
    # Jobs that arrive while the clusters are read are decided on together.
    assert done.decisions > len(jobs)
    assert done.differences == ()


def test_a_policy_that_asks_for_them_sees_the_running_jobs_with_their_estimated_ends(setup):
    run = under(setup, SHORTEST_AHEAD, **OWN_POLICY)
    later = setup.submit(2, run=run, request="fixed", clusters=("east",), run_time_limit_s=900.0)
    sooner = setup.submit(2, run=run, request="fixed", clusters=("west",), run_time_limit_s=100.0)
    for job in (later, sooner):
        setup.until_state(job, JobState.STARTING)
    job = setup.submit(3, run=run)
    setup.until_state(job, JobState.STARTING)
    assert [part.cluster for part in setup.broker.job(job).components] == ["west"]
    finish_all(setup, [later, sooner, job])


@pytest.mark.parametrize(
    ("source", "stated", "sentence"),
    [
        (placing("return 1 / 0"), OWN_POLICY, r"place raised ZeroDivisionError: .* \(mine\.py, line 14\)"),
        (placing("raise SystemExit"), OWN_POLICY, "place raised SystemExit"),
        (placing("return 3"), OWN_POLICY, "place raised TypeError"),
        (placing("return Placement((Component(0, 99),))"), OWN_POLICY, "99 processors"),
        (placing("return Placement((Component(9, 2),))"), OWN_POLICY, "cluster 9"),
        (deciding(decide="return 1 / 0"), OWN_QUEUE, "decide raised ZeroDivisionError"),
        (
            deciding(decide="return [Start(77, Placement((Component(0, 2),)))]"),
            OWN_QUEUE,
            "job 77, which does not wait",
        ),
        (deciding(decide="return [Start(0, None)]"), OWN_QUEUE, "decide raised TypeError"),
        (deciding(decide="return None"), OWN_QUEUE, "decide raised TypeError"),
        (
            deciding(decide="return [Start(event.job.id, Placement((Component(0, 9),)))]"),
            OWN_QUEUE,
            "9 processors of job",
        ),
        (
            deciding(decide="self._jobs.append(event.job)\n        return []", waiting="return 1 / 0"),
            OWN_QUEUE,
            "waiting raised",
        ),
        (
            deciding(decide="self._jobs.append(event.job)\n        return []", next_scan_s="return 1 / 0"),
            OWN_QUEUE,
            "next_scan_s raised",
        ),
        (
            deciding(decide="self._jobs += getattr(event, 'job', None),\n        return []", next_scan_s="return 0.0"),
            OWN_QUEUE,
            "must move on",
        ),
    ],
)
def test_a_fault_fails_what_waits_in_one_sentence_and_the_broker_goes_on(setup, source, stated, sentence):
    run = under(setup, source, **stated)
    setup.submit(2, run=run)
    later = setup.submit(2, run=run)
    setup.until_state(later, JobState.FAILED)
    said = setup.broker.job(later).reason
    assert said == failure_of(setup, run)
    assert re.search(sentence, said)
    assert "\n" not in said
    assert setup.broker.queue() == []
    assert_still_serves(setup, run)


def test_a_scan_that_fails_on_the_loops_own_wake_fails_what_waits(setup):
    first_then_fail = (
        "if isinstance(event, Arrival):\n            self._jobs.append(event.job)\n            return []\n"
        "        return 1 / 0"
    )
    scanning = deciding(
        decide=first_then_fail,
        next_scan_s="return 1.0",
    )
    run = under(setup, scanning, **OWN_QUEUE)
    job = setup.submit(2, run=run)
    setup.until_state(job, JobState.FAILED)
    assert "decide raised ZeroDivisionError" in failure_of(setup, run)
    assert_still_serves(setup, run)


def test_a_far_scan_does_not_stop_the_loop(setup):
    far = deciding(decide="self._jobs.append(event.job)\n        return []", next_scan_s="return 1e300")
    run = under(setup, far, **OWN_QUEUE)
    job = setup.submit(2, run=run)
    assert setup.broker.cancel(job).state is JobState.CANCELLED
    assert setup.broker.job(job).state is JobState.CANCELLED


def test_jobs_that_run_when_the_policy_fails_end_as_they_would(setup):
    run = under(setup, placing("return 1 / 0"), **OWN_POLICY)
    first = setup.submit(2, run=run)
    setup.started(first, setup.east)
    second = setup.submit(2, run=run)
    setup.until_state(second, JobState.FAILED)
    setup.east.programs[-1].finish()
    setup.until_state(first, JobState.FINISHED)
    assert setup.nothing_is_held


def test_a_discipline_that_states_a_queue_per_cluster_has_each_job_name_one(setup):
    source = SMALLEST_FIRST.replace("class Mine:\n", "class Mine:\n    has_local_queues_only = True\n")
    run = under(setup, source, **OWN_QUEUE)
    with pytest.raises(InvalidInput, match="has a queue per cluster, so name the one"):
        setup.submit(2, run=run)
    finish_all(setup, [setup.submit(2, run=run, queue="east")])


def test_a_question_whether_a_job_could_start_that_fails_refuses_the_job(setup):
    source = SMALLEST_FIRST + "\n    def could_start(self, job, state, policy):\n        return 1 / 0\n"
    run = under(setup, source, **OWN_QUEUE)
    with pytest.raises(InvalidInput, match="could_start raised ZeroDivisionError"):
        setup.submit(2, run=run)
    assert_still_serves(setup, run)


@pytest.mark.parametrize(
    ("stated", "error", "sentence"),
    [
        ({"policy": "mine.py:Mine"}, UnknownName, "no live policy 'mine.py:Mine'"),
        ({"policy": "/etc/passwd.py:Mine"}, UnknownName, "no live policy"),
        ({"policy": "mine.py:Yours", "sources": {"mine.py": BEST_FIT}}, InvalidInput, "no class 'Yours'"),
        ({"queue": "mine.py:Mine", "sources": {"mine.py": BEST_FIT}}, InvalidInput, "lacks decide"),
        ({"policy": "mine.py:Mine", "sources": {"mine.py": "exit()"}}, InvalidInput, "cannot be loaded: SystemExit"),
    ],
)
def test_what_cannot_be_used_takes_no_hold_of_the_testbed(setup, stated, error, sentence):
    with pytest.raises(error, match=sentence):
        setup.broker.begin_run(RunRequest(name="r", **stated))
    assert setup.broker.current_run() is None


@pytest.mark.parametrize(
    "sources",
    [
        {"../mine.py": ""},
        {"mine.txt": ""},
        {"mine.py": "#" * (LARGEST_SOURCE_BYTES + 1)},
        {"mine.py": "é" * (LARGEST_SOURCE_BYTES // 2 + 1)},
        {f"{number}.py": "" for number in range(9)},
        {"mine.py": BEST_FIT, "other.py": "\ud800"},
        {"mine.py": 3},
        "mine.py",
        {"mine.py": "class Mine: ..."},
    ],
)
def test_over_http_what_cannot_be_meant_is_a_422(setup, sources):
    client = TestClient(create_app(setup.broker, setup.journal, "secret"), raise_server_exceptions=False)
    body = {"name": "r", "policy": NAME, "sources": sources}
    answer = client.post("/v1/runs", content=json.dumps(body), headers={"Authorization": "Bearer secret"})
    assert answer.status_code == 422
    assert answer.json()["error"].endswith(".")
    assert setup.broker.current_run() is None
