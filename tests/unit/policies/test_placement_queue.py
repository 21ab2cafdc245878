"""The placement queue: a try at submission, then scans from head to tail."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.errors import UnknownName
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import Scanning
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.protocols import Arrival, Departure, Reject, Scan, Start, WaitingJob, Withdrawal
from emulator.policies.queues.placement_queue import PlacementQueue
from emulator.policies.registry import placement_policy, queue_discipline
from emulator.policies.state import SystemState

RNG = numpy.random.default_rng(0)


def state_at(time_s: float, *idle: int) -> SystemState:
    return SystemState((16,) * len(idle), tuple(idle), time_s)


def job(number: int, *components: int) -> WaitingJob:
    return WaitingJob(number, JobRequest(RequestKind.NON_FIXED, components))


def decide(queue, event, state):
    return list(queue.decide(event, state, WorstFit(), RNG))


def test_a_job_that_fits_starts_at_its_submission():
    queue = PlacementQueue()
    (start,) = decide(queue, Arrival(job(1, 8)), state_at(0, 16, 16))
    assert isinstance(start, Start)
    assert (start.job_id, start.tries) == (1, 1)
    assert queue.next_scan_s() is None


def test_a_job_that_does_not_fit_waits_for_the_scan_one_interval_later():
    queue = PlacementQueue(scan_interval_s=4)
    assert decide(queue, Arrival(job(1, 8)), state_at(10, 4, 4)) == []
    assert (list(queue.waiting()), queue.next_scan_s()) == ([1], 14)
    (start,) = decide(queue, Scan(), state_at(14, 8, 4))
    assert (start.job_id, start.tries) == (1, 2)


def test_a_scan_tries_every_job_head_first_on_what_the_earlier_ones_left():
    queue = PlacementQueue()
    for number, size in enumerate((10, 6, 6, 4), start=1):
        decide(queue, Arrival(job(number, size)), state_at(0, 0, 0))
    starts = decide(queue, Scan(), state_at(4, 9, 7))
    assert [start.job_id for start in starts] == [2, 3]
    assert list(queue.waiting()) == [1, 4]
    assert queue.next_scan_s() == 8


def test_a_departure_has_every_job_tried_at_once_if_it_is_to_and_moves_no_scan():
    for at_departures, started in ((True, [1, 3]), (False, [])):
        queue = PlacementQueue(scan_interval_s=4, scans_at_departures=at_departures)
        for number, size in enumerate((6, 6, 4), start=1):
            decide(queue, Arrival(job(number, size)), state_at(0, 0, 0))
        departure = Departure(9, Placement((Component(0, 9), Component(1, 5))))
        assert [start.job_id for start in decide(queue, departure, state_at(1, 9, 5))] == started
        assert queue.next_scan_s() == 4


def test_an_arrival_does_not_wait_for_others_and_does_not_move_the_scan():
    queue = PlacementQueue(scan_interval_s=4)
    decide(queue, Arrival(job(1, 16)), state_at(0, 4, 4))
    (start,) = decide(queue, Arrival(job(2, 4)), state_at(3, 4, 4))
    assert start.job_id == 2
    assert queue.next_scan_s() == 4


def test_a_job_tried_more_often_than_the_threshold_is_given_up():
    queue = PlacementQueue(tries_threshold=2)
    assert decide(queue, Arrival(job(1, 8)), state_at(0, 0)) == []
    assert decide(queue, Scan(), state_at(4, 0)) == []
    (reject,) = decide(queue, Scan(), state_at(8, 0))
    assert isinstance(reject, Reject)
    assert (reject.job_id, reject.tries) == (1, 3)
    assert list(queue.waiting()) == []


def test_a_withdrawn_job_is_not_tried_again():
    queue = PlacementQueue()
    decide(queue, Arrival(job(1, 8)), state_at(0, 0))
    decide(queue, Withdrawal(1), state_at(1, 16))
    assert decide(queue, Scan(), state_at(4, 16)) == []
    assert queue.next_scan_s() is None


@given(st.lists(st.integers(1, 20), max_size=8), st.lists(st.integers(0, 16), min_size=1, max_size=4))
def test_a_restored_queue_decides_as_the_one_it_was_taken_from(sizes, idle):
    queue = PlacementQueue(scan_interval_s=4)
    for number, size in enumerate(sizes):
        decide(queue, Arrival(job(number, size)), state_at(number, *(0 for _ in idle)))
    twin = PlacementQueue(scan_interval_s=4)
    twin.restore(queue.snapshot())
    assert decide(queue, Scan(), state_at(50, *idle)) == decide(twin, Scan(), state_at(50, *idle))
    assert queue.snapshot() == twin.snapshot()


def test_tries_are_counted_for_jobs_that_wait_and_no_others():
    queue = PlacementQueue()
    for number, size in enumerate((12, 4, 12), start=1):
        decide(queue, Arrival(job(number, size)), state_at(0, 0))
    (start,) = decide(queue, Scan(), state_at(4, 8))
    assert (start.job_id, start.tries) == (2, 2)
    decide(queue, Arrival(job(4, 8)), state_at(5, 0))
    assert queue.tries() == {1: 2, 3: 2, 4: 1}


SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=3)
POLICIES = {
    "wf": RequestKind.NON_FIXED,
    "wf-distinct": RequestKind.UNORDERED,
    "cm": RequestKind.NON_FIXED,
    "fcm": RequestKind.FLEXIBLE,
    "cf": RequestKind.NON_FIXED,
}


@pytest.mark.parametrize("name", POLICIES)
@given(st.lists(SIZES, max_size=12), st.lists(st.integers(0, 16), min_size=1, max_size=4))
def test_a_scan_decides_as_one_that_asks_the_policy_about_every_job(name, requests, idle):
    policy, queue = placement_policy(name), PlacementQueue()
    jobs = {}
    for number, sizes in enumerate(requests):
        components = (sum(sizes),) if name == "fcm" else tuple(sizes)
        jobs[number] = WaitingJob(number, JobRequest(POLICIES[name], components))
        queue.decide(Arrival(jobs[number]), state_at(0, *(0 for _ in idle)), policy, RNG)
    state, expected = state_at(4, *idle), []
    for number, waiting in jobs.items():
        placement = policy.place(waiting.request, state)
        if placement is not None:
            expected.append(Start(number, placement, 2))
            state = state.after(placement)
    assert list(queue.decide(Scan(), state_at(4, *idle), policy, RNG)) == expected


def test_names_that_nothing_carries_are_answered_with_those_that_exist():
    with pytest.raises(UnknownName, match=r"no policy 'worst' \(known: by-kind, cf, cm, fcm, normal, normal-alone,"):
        placement_policy("worst")
    with pytest.raises(UnknownName, match=r"no queue 'lifo' \(known: backfill, best-fit, conservative, easy,"):
        queue_discipline("lifo", Scanning())
