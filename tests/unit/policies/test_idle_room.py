"""The index of idle processors: every answer is that of looking at all clusters."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.placement import Component
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import Scanning
from emulator.model.stream import StreamJob
from emulator.policies.factory import accepting_fixed, discipline_generator, discipline_scanned
from emulator.policies.idle_room import INDEXED_FROM, IdleRoom
from emulator.policies.registry import placement_policy
from emulator.policies.state import SystemState
from emulator.simulator import simulate

KINDS = {"wf": RequestKind.NON_FIXED, "wf-distinct": RequestKind.UNORDERED, "fcm": RequestKind.FLEXIBLE}


@pytest.mark.parametrize("name", KINDS)
@given(st.data())
def test_policies_place_as_without_it(name, data):
    idle = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=20))
    size = (10,) * len(idle)
    room, plain = IdleRoom(idle), SystemState(size, tuple(idle))
    indexed = SystemState(size, None, room=room)
    policy = accepting_fixed(placement_policy(name), data.draw(st.sampled_from([None, 0.6])))
    for _ in range(6):
        sizes = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5)))
        request = JobRequest(KINDS[name], (sum(sizes),) if name == "fcm" else sizes)
        if data.draw(st.booleans()):
            clusters = tuple(data.draw(st.integers(0, len(idle) - 1)) for _ in sizes)
            request = JobRequest(RequestKind.FIXED, sizes, clusters)
        placement = policy.place(request, plain)
        assert policy.place(request, indexed) == placement
        if placement is not None and data.draw(st.booleans()):
            plain, indexed = plain.after(placement), indexed.after(placement)
        assert (indexed.total_idle, indexed) == (plain.total_idle, plain)
        assert [indexed.idle_at(cluster) for cluster in range(len(idle))] == list(plain.idle)
    assert SystemState(size, None, room=room).idle == tuple(idle)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5))))
def test_changes_of_the_list_are_taken_over(idle, changes):
    room = IdleRoom(idle)
    for cluster, now in changes:
        if cluster < len(idle):
            idle[cluster] = now
            room.note_changed(cluster)
    expected = max(range(len(idle)), key=lambda cluster: (idle[cluster], -cluster))
    assert room.worst_fit((1,), (0,), (), True) == ([expected] if idle[expected] else None)
    assert room.total == sum(idle)
    assert room.worst_fit((1,), (0,), (Component(expected, idle[expected]),) * bool(idle[expected]), False) != [
        expected
    ]


@pytest.mark.parametrize(
    ("queue", "policy"), [("gs", "wf-distinct"), ("ls-do", "wf-distinct"), ("lp-gf", "wf-distinct"),
                          ("placement", "wf"), ("placement", "fcm"), ("easy", "wf")]
)  # fmt: skip
def test_a_simulation_of_many_clusters_decides_as_without_it(queue, policy):
    clusters, numbers = [8] * (INDEXED_FROM + 5), numpy.random.default_rng(1)
    again, made, rng = discipline_scanned(queue, Scanning()), placement_policy(policy), discipline_generator(0)
    decided = 0

    def decide_again(time_s, event, answers, idle):
        nonlocal decided
        state = SystemState(tuple(clusters), idle, time_s)
        if queue != "easy":
            assert list(again.decide(event, state, made, rng)) == list(answers)
        decided += 1

    jobs = []
    for number in range(400):
        sizes = tuple(int(size) for size in numbers.integers(1, 9, size=int(numbers.integers(1, 5))))
        request = JobRequest(RequestKind.UNORDERED if policy == "wf-distinct" else RequestKind.NON_FIXED, sizes,
                             estimate_s=60.0)  # fmt: skip
        jobs.append(StreamJob(number, 2.0 * number, float(numbers.uniform(5, 60)), request, number % len(clusters)))
    finished = simulate(jobs, clusters=clusters, queue=queue, policy=policy, log=decide_again, keep_jobs=True).finished
    unlogged = simulate(jobs, clusters=clusters, queue=queue, policy=policy, keep_jobs=True).finished
    assert (len(finished), finished) == (400, unlogged)
    assert decided >= 800
