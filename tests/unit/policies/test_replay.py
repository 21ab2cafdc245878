"""Decisions as records: whatever was decided can be made again from its record, and a tampered record shows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.model.errors import InvalidInput
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import Scanning
from emulator.policies.decisions import Decision, decision_record, recorded_decision
from emulator.policies.factory import Deciders, deciders
from emulator.policies.protocols import Arrival, Departure, Reject, Scan, Start, WaitingJob, Withdrawal
from emulator.policies.registry import QUEUE_DISCIPLINES
from emulator.policies.replay import replay
from emulator.policies.state import FileState, RunningJob, Surroundings

PROCESSORS = (16, 16, 16)
SCANNING = Scanning(interval_s=2.0, tries_threshold=4)

queues = st.sampled_from(sorted(QUEUE_DISCIPLINES))
steps = st.lists(
    st.tuples(st.sampled_from(["arrival", "departure", "withdrawal", "scan"]), st.integers(0, 2**16)), max_size=60
)


def made(queue: str, seed: int) -> Deciders:
    return deciders(queue, "wf-distinct", SCANNING if queue.startswith("placement") else Scanning(), seed)


class Driver:
    """A system without time of its own: it decides as told, and keeps the processors."""

    def __init__(self, queue: str, seed: int, snapshot_every: int) -> None:
        self.deciders = made(queue, seed)
        self.snapshot_every = snapshot_every
        self.idle = list(PROCESSORS)
        self.held: dict[int, Placement] = {}
        self.running: dict[int, RunningJob] = {}
        self.decisions: list[Decision] = []
        self.jobs = 0

    def step(self, kind: str, number: int) -> None:
        event = self._event(kind, number)
        if event is None:
            return
        count = len(self.decisions)
        snapshot = json.loads(json.dumps(self.deciders.snapshot())) if count % self.snapshot_every == 0 else None
        time_s = count * 0.7
        around = Surroundings(running=tuple(self.running.values()))
        decision = Decision(count, time_s, event, tuple(self.idle), (), 0, around, snapshot)
        answers = tuple(self.deciders.decide(event, decision.state(PROCESSORS)))
        for answer in answers:
            if isinstance(answer, Start):
                self._move(answer.placement, -1)
                self.held[answer.job_id] = answer.placement
                self.running[answer.job_id] = RunningJob(answer.job_id, answer.placement, time_s, time_s + 3)
        waiting = len(self.deciders.discipline.waiting())
        self.decisions.append(replace(decision, answers=answers, waiting=waiting))

    def _event(self, kind: str, number: int):
        waiting = list(self.deciders.discipline.waiting())
        if kind == "arrival":
            self.jobs += 1
            sizes = ((number % 16 + 1,), (number % 9 + 1, 5), (4, 4, 4))[number % 3]
            return Arrival(
                WaitingJob(
                    self.jobs, JobRequest(RequestKind.UNORDERED, sizes, estimate_s=float(number % 8)), number % 3
                )
            )
        if kind == "departure" and self.held:
            job = sorted(self.held)[number % len(self.held)]
            placement = self.held.pop(job)
            del self.running[job]
            self._move(placement, 1)
            return Departure(job, placement)
        if kind == "withdrawal" and waiting:
            return Withdrawal(waiting[number % len(waiting)])
        return Scan() if kind == "scan" else None

    def _move(self, placement: Placement, sign: int) -> None:
        for cluster, size in placement.by_cluster().items():
            self.idle[cluster] += sign * size


def through_json(decisions: list[Decision]) -> list[Decision]:
    return [recorded_decision(json.loads(json.dumps(decision_record(decision)))) for decision in decisions]


def driven(queue: str, steps: list[tuple[str, int]], seed: int = 0, snapshot_every: int = 1000) -> list[Decision]:
    driver = Driver(queue, seed, snapshot_every)
    for kind, number in steps:
        driver.step(kind, number)
    return through_json(driver.decisions)


@given(queues, steps, st.integers(0, 2**63 - 1), st.integers(1, 20))
@settings(deadline=None)
def test_whatever_was_decided_is_decided_again(queue, steps, seed, snapshot_every):
    decisions = driven(queue, steps, seed, snapshot_every)
    found = replay(decisions, made(queue, seed), PROCESSORS)
    assert (found.decisions, found.differences) == (len(decisions), ())


ARRIVALS = [("arrival", number) for number in (1, 4, 7, 10, 13, 16, 19, 22)]


@pytest.mark.parametrize("queue", sorted(QUEUE_DISCIPLINES))
@pytest.mark.parametrize("tampered", ["idle", "answers", "waiting", "event", "snapshot"])
def test_a_tampered_record_differs(queue, tampered):
    decisions = driven(queue, ARRIVALS, snapshot_every=2)
    at = next(number for number, decision in enumerate(decisions) if number % 2 == 0 and number and decision.answers)
    changed = {
        "idle": {"idle": (0, 0, 0)},
        "answers": {"answers": ()},
        "waiting": {"waiting": decisions[at].waiting + 1},
        "event": {"event": Scan()},
        "snapshot": {"snapshot": made(queue, 1).snapshot()},
    }
    decisions[at] = replace(decisions[at], **changed[tampered])
    found = replay(decisions, made(queue, 0), PROCESSORS)
    assert found.differences[0].number == at


def test_another_seed_tosses_other_coins_and_the_record_says_so():
    steps = [("arrival", number) for number in range(40)] + [("departure", number) for number in range(20)]
    decisions = [replace(decision, snapshot=None) for decision in driven("ls-rd", steps, seed=1)]
    assert replay(decisions, made("ls-rd", 1), PROCESSORS).differences == ()
    assert any(replay(decisions, made("ls-rd", seed), PROCESSORS).differences for seed in range(2, 10))


def test_replay_begins_where_a_process_began_to_record():
    """A broker that came back records what it remembers with its first decision, whatever was recorded before."""
    driver = Driver("gs", 0, 1000)
    for kind, number in ARRIVALS:
        driver.step(kind, number)
    snapshot = json.loads(json.dumps(driver.deciders.snapshot()))
    driver.step("departure", 0)
    come_back = replace(driver.decisions[-1], number=0, snapshot=snapshot)
    assert replay(through_json([come_back]), made("gs", 0), PROCESSORS).differences == ()


def test_a_decision_keeps_files_nodes_and_what_was_learned():
    placement = Placement((Component(1, 4, (0, 2)),), (2,), 8.5, frozenset({(1, 2)}))
    surroundings = Surroundings({"f": FileState((2,), 1e9)}, {(2, 1): 1.25e8}, frozenset({(0, 2)}))
    event = Arrival(WaitingJob(3, JobRequest(RequestKind.NON_FIXED, (4,), file="f", estimate_s=60.0), 1))
    answers = (Start(3, placement, 2), Reject(4, "not placed in 3 placement tries", 3))
    decision = Decision(0, 0.1, event, (0, 4, 2), answers, 1, surroundings, {"a": None})
    assert through_json([decision]) == [decision]
    assert decision.history_after == {(0, 2), (1, 2)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"event": {"kind": "wonder"}}, "names an event 'wonder'"),
        ({"idle": None}, "is not what it should be"),
        ({"answers": [{"kind": "start", "job": 1, "tries": 1}]}, "lacks 'placement'"),
    ],
)
def test_what_is_no_record_is_refused(change, said):
    record = decision_record(Decision(0, 0.0, Scan(), (1,), (), 0))
    with pytest.raises(InvalidInput, match=said):
        recorded_decision(record | change)
