"""What placements learn is part of every later state of their run: as in a simulation, and after a restart."""

from __future__ import annotations

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.job import JobState
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.policies.factory import deciders
from emulator.policies.protocols import Arrival, SchedulingEvent, Withdrawal
from emulator.policies.registry import placement_policy
from emulator.policies.replay import replay
from emulator.simulator import simulate
from tests.unit.broker.broker_setup import BrokerSetup, begin_fast_run, kill, recorded_decisions, recorded_request
from tests.unit.broker.faulty_journal import FaultyJournal
from tests.unit.broker.own_policies import HEAD

NAME = "mine.py:Mine"
IN_TURN = (
    HEAD
    + """

class Mine:
    accepts = frozenset({RequestKind.NON_FIXED})

    def place(self, request, state):
        # Each cluster in turn: every placement learns its number.
        number = len(state.surroundings.history)
        if state.idle[number % 2] < request.processors:
            return None
        return Placement((Component(number % 2, request.processors),), learned=frozenset({(0, number)}))
"""
)
TOO_MUCH = IN_TURN.replace("frozenset({(0, number)})", "frozenset((0, each) for each in range(100_001))")
LEARNED_TOO_MUCH = "The policy has learned too much: with 100001 pairs the history is longer than 100000."


@pytest.fixture
def setup(tmp_path):
    setup = BrokerSetup(tmp_path)
    yield setup
    setup.close()


def under(setup: BrokerSetup, source: str = IN_TURN, **stated) -> int:
    return begin_fast_run(setup, policy=NAME, sources={"mine.py": source}, **stated)


def placed(setup: BrokerSetup, run: int) -> str:
    """Submit a job, and return the cluster that it was placed on."""
    job = setup.submit(2, run=run)
    setup.until_state(job, JobState.STARTING)
    return setup.broker.job(job).components[0].cluster


def learned(placements: int) -> frozenset[tuple[int, int]]:
    return frozenset((0, number) for number in range(placements))


def seen_by_placements(setup: BrokerSetup, run: int) -> list[frozenset[tuple[int, int]]]:
    """The history that each decision which placed a job was made on."""
    return [decision.surroundings.history for decision in recorded_decisions(setup, run) if decision.answers]


def made_on(setup: BrokerSetup, run: int) -> dict[SchedulingEvent, frozenset[tuple[int, int]]]:
    """The history that the decision on each event was made on."""
    return {decision.event: decision.surroundings.history for decision in recorded_decisions(setup, run)}


class Noting:
    """The policy, which notes the history it is shown by the timestamp of the decision."""

    def __init__(self, source: str) -> None:
        self._policy = placement_policy(NAME, {"mine.py": source})
        self.accepts = self._policy.accepts
        self.seen: dict[float, frozenset[tuple[int, int]]] = {}

    def place(self, request, state):
        self.seen[state.time_s] = state.surroundings.history
        return self._policy.place(request, state)


def stream(jobs: int) -> list[StreamJob]:
    request = JobRequest(RequestKind.NON_FIXED, (2,))
    return [StreamJob(number, 10.0 * number, 100.0, request) for number in range(1, jobs + 1)]


def test_a_decision_is_made_on_what_the_ones_before_learned_live_as_simulated(setup):
    run = under(setup)
    assert [placed(setup, run) for _ in range(3)] == ["east", "west", "east"]
    live = seen_by_placements(setup, run)
    assert live == [learned(0), learned(1), learned(2)]
    policy = Noting(IN_TURN)
    result = simulate(stream(3), clusters=[8, 8], policy=policy, keep_jobs=True)
    assert [policy.seen[10.0], policy.seen[20.0], policy.seen[30.0]] == live
    assert [job.clusters for job in result.finished] == [(0,), (1,), (0,)]


@pytest.mark.parametrize("snapshot_every", [1000, 2])
def test_what_was_learned_outlives_the_broker(tmp_path, monkeypatch, snapshot_every):
    monkeypatch.setattr("emulator.broker.decision.SNAPSHOT_EVERY", snapshot_every)
    setup = BrokerSetup(tmp_path)
    run = under(setup)
    for _ in range(3):
        placed(setup, run)
    kill(setup)
    again = BrokerSetup(tmp_path)
    again.until(lambda: not again.broker.is_recovering())
    assert placed(again, run) == "west"
    assert seen_by_placements(again, run) == [learned(placements) for placements in range(4)]
    request = recorded_request(again, run)
    made = deciders(request.queue, request.policy, request.scanning, request.seed, request.sources)
    assert replay(recorded_decisions(again, run), made, [8, 8]).differences == ()
    again.close()


def test_what_a_decision_learned_that_was_not_recorded_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr("emulator.broker.state.changes.RETRY_HOST_S", 0.02)
    setup = BrokerSetup(tmp_path, journal=FaultyJournal(tmp_path / "journal"))
    run = under(setup, queue="gs")
    setup.east.others = 8
    first = setup.submit(2, run=run)
    setup.until(lambda: recorded_decisions(setup, run))
    setup.journal.fail("INSERT")
    setup.east.others = 0
    setup.until(setup.broker.fault)
    setup.journal.heal()
    setup.until_state(first, JobState.STARTING)
    assert placed(setup, run) == "west"
    assert seen_by_placements(setup, run) == [learned(0), learned(1)]
    setup.close()


def test_a_withdrawal_is_decided_on_with_what_was_learned(setup):
    run = under(setup, queue="gs")
    placed(setup, run)
    setup.west.others = 8
    waiting = setup.submit(2, run=run)
    setup.until(lambda: any(isinstance(event, Arrival) and event.job.id == waiting for event in made_on(setup, run)))
    setup.broker.cancel(waiting)
    setup.until(lambda: Withdrawal(waiting) in made_on(setup, run))
    assert made_on(setup, run)[Withdrawal(waiting)] == learned(1)


def test_a_policy_that_learns_without_end_is_stopped_in_a_sentence_live_as_simulated(setup):
    run = under(setup, TOO_MUCH)
    job = setup.submit(2, run=run)
    setup.until_state(job, JobState.FAILED)
    assert setup.broker.job(job).reason == LEARNED_TOO_MUCH
    with pytest.raises(InvalidInput, match=LEARNED_TOO_MUCH):
        simulate(stream(1), clusters=[8, 8], policy=Noting(TOO_MUCH))
