"""What a run finds to have come free without a departure of its own, and what it has considered before."""

from __future__ import annotations

from emulator.broker.looking import FIRST_LOOK_HOST_S, LONGEST_WAIT_HOST_S, Looking
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.decisions import NOBODY, Decision
from emulator.policies.protocols import Arrival, Departure, SchedulingEvent, Start, WaitingJob
from emulator.policies.state import ClusterState, SystemState

ARRIVAL = Arrival(WaitingJob(1, JobRequest(RequestKind.NON_FIXED, (4,))))
DEPARTURE = Departure(2, Placement((Component(0, 4),)))


def decision(event: SchedulingEvent, *idle: int, waiting: int = 1, started: int = 0) -> Decision:
    """A decision after which so many jobs wait; one may have `started` on so many processors of the first cluster."""
    starts = (Start(1, Placement((Component(0, started),))),) if started else ()
    return Decision(0, 0.0, event, idle, starts, waiting)


def looked(*decisions: Decision, is_scanned: bool = False) -> Looking:
    looking = Looking()
    for each in decisions:
        looking.note(each, is_scanned=is_scanned)
    return looking


def freed(looking: Looking, *idle: int) -> Departure | None:
    return looking.freed(SystemState(tuple(ClusterState(16, free) for free in idle)))


def test_what_came_free_is_the_departure_of_a_job_of_nobody_s():
    looking = looked(decision(ARRIVAL, 2, 3))
    assert freed(looking, 2, 3) is None
    assert freed(looking, 1, 8) == Departure(NOBODY, Placement((Component(1, 5),)))


def test_processors_that_a_start_took_have_not_come_free_when_they_are_missing_for_a_while():
    looking = looked(decision(DEPARTURE, 8, 0, started=4))
    assert freed(looking, 0, 0) is None
    assert freed(looking, 4, 0) is None
    assert freed(looking, 5, 0) is not None


def test_an_arrival_does_not_hide_what_came_free_from_those_who_waited_before():
    """Under local schedulers an arrival has its own queue tried only."""
    looking = looked(decision(ARRIVAL, 0, 0), decision(ARRIVAL, 8, 0, waiting=2))
    assert freed(looking, 8, 0) is not None
    assert freed(looked(decision(ARRIVAL, 0, 0), decision(DEPARTURE, 8, 0)), 8, 0) is None


def test_nobody_looks_where_nobody_waits_or_the_queue_is_scanned():
    assert looked(decision(ARRIVAL, 0, 0, waiting=0)).host_until_due_s() is None
    assert looked(decision(ARRIVAL, 0, 0), is_scanned=True).host_until_due_s() is None
    assert Looking().host_until_due_s() is None


def test_looks_come_ever_later_until_something_settles():
    looking = looked(decision(ARRIVAL, 0, 0))
    assert 0 < (looking.host_until_due_s() or 0) <= FIRST_LOOK_HOST_S
    for _ in range(10):
        assert freed(looking, 0, 0) is None
    assert FIRST_LOOK_HOST_S < (looking.host_until_due_s() or 0) <= LONGEST_WAIT_HOST_S
    looking.soon()
    assert 0 < (looking.host_until_due_s() or 0) <= FIRST_LOOK_HOST_S
