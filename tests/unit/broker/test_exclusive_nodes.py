"""Exclusive nodes under the broker: what is claimed, what is started, and decisions that are made again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.broker.state.journal import Journal
from emulator.model.errors import ImpossibleRequest
from emulator.model.job import JobState
from emulator.model.views import EventKind
from emulator.policies.decisions import recorded_decision
from emulator.policies.factory import deciders
from emulator.policies.replay import replay
from tests.unit.broker.broker_setup import TOPOLOGY, BrokerSetup, begin_fast_run, finish_all, kill, recorded_request
from tests.unit.broker.own_policies import BEST_FIT, SMALLEST_FIRST


class ExclusiveSetup(BrokerSetup):
    """A broker over two scripted clusters of four dual-processor nodes, which are exclusive."""

    stated = f"{TOPOLOGY}nodes: exclusive\n"


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[ExclusiveSetup]:
    setup = ExclusiveSetup(tmp_path)
    yield setup
    setup.close()


def held(setup: BrokerSetup) -> list[list[int]]:
    return [[size for _, size in cluster.held.values()] for cluster in (setup.east, setup.west)]


def differences(setup: BrokerSetup, run: int, together: int = 2):
    request = recorded_request(setup, run)
    made = deciders(
        request.queue, request.policy, request.scanning, request.seed, request.sources, request.quota, together
    )
    events = [event for event in setup.journal.read(run, 0) if event.kind is EventKind.DECISION]
    return replay([recorded_decision(event.detail) for event in events], made, [8, 8]).differences


def test_whole_nodes_are_claimed_and_as_many_ranks_are_started_as_were_asked_for(setup: ExclusiveSetup) -> None:
    job = setup.submit(3, 2, request="fixed", clusters=("east", "west"))
    setup.until_state(job, JobState.STARTING)
    setup.until(lambda: setup.east.scripts)
    assert held(setup) == [[4], [2]]
    words = shlex.split(setup.east.scripts[-1], comments=True)
    assert "--components=3,2" in words
    assert words[words.index("-H") + 1] == "east:3,west:2"
    assert words[words.index("-n") + 1] == "5"
    view = setup.broker.job(job)
    assert [part.processors for part in view.components] == [4, 2]
    finish_all(setup, [job])
    assert setup.nothing_is_held


def test_a_plain_program_runs_once_for_each_processor_asked_for(setup: ExclusiveSetup) -> None:
    job = setup.submit(3, kind="plain", application="plain", command=("true",), request="fixed", clusters=("east",))
    setup.until_state(job, JobState.STARTING)
    setup.until(lambda: setup.east.scripts)
    assert held(setup) == [[4], []]
    assert "TESTBED_COMPONENTS=3 " in setup.east.scripts[-1]
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)


def test_components_that_hold_more_than_a_cluster_are_refused(setup: ExclusiveSetup) -> None:
    with pytest.raises(ImpossibleRequest, match=r"\[5, 3\] can never be placed .* in whole nodes of 2\."):
        setup.submit(5, 3, request="fixed", clusters=("east", "east"))


def test_a_flexible_job_of_7_holds_8_and_runs_7(setup: ExclusiveSetup) -> None:
    setup.east.others = 4
    run = begin_fast_run(setup, policy="fcm")
    setup.read_clusters()
    first = setup.submit(7, request="flexible", run=run)
    setup.until_state(first, JobState.STARTING)
    assert held(setup) == [[], [8]]
    second = setup.submit(3, request="flexible", run=run)
    setup.until_state(second, JobState.STARTING)
    assert held(setup) == [[4], [8]]
    finish_all(setup, [first, second])
    assert differences(setup, run) == ()


@pytest.mark.parametrize(
    ("source", "stated"), [(BEST_FIT, {"policy": "mine.py:Mine"}), (SMALLEST_FIRST, {"queue": "mine.py:Mine"})]
)
def test_a_policy_of_one_s_own_places_whole_nodes_and_is_replayed(
    setup: ExclusiveSetup, source: str, stated: dict[str, str]
) -> None:
    run = begin_fast_run(setup, sources={"mine.py": source}, **stated)
    jobs = [setup.submit(*components, run=run) for components in ((7,), (5,), (3, 3), (1,))]
    finish_all(setup, jobs)
    assert [setup.broker.job(job).state for job in jobs] == [JobState.FINISHED] * 4
    parts = [part.processors for job in jobs for part in setup.broker.job(job).components]
    assert parts == [8, 6, 4, 4, 2]
    assert differences(setup, run) == ()
    assert differences(setup, run, together=1) != ()
    setup.broker.end_run(run)


def test_a_broker_that_comes_back_claims_the_same_nodes_for_the_same_ranks(tmp_path: Path) -> None:
    setup = ExclusiveSetup(tmp_path)
    setup.east.holds_back = True
    job = setup.submit(3, 2, request="fixed", clusters=("east", "west"))
    setup.until(lambda: setup.east.claims and setup.west.claims)
    kill(setup)
    again = ExclusiveSetup(tmp_path, Journal(tmp_path / "journal"))
    try:
        again.until_state(job, JobState.STARTING)
        again.until(lambda: again.east.scripts)
        assert held(again) == [[4], [2]]
        assert " -n 5 " in again.east.scripts[-1]
    finally:
        again.close()
