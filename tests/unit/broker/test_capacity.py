"""What a run finds to have come free without a departure of its own, and what it has considered before."""

from __future__ import annotations

from types import SimpleNamespace

from emulator.broker import capacity
from emulator.broker.capacity import FIRST_INTERVAL_HOST_S, LONGEST_INTERVAL_HOST_S, CapacityPoller
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.decisions import NOBODY, Decision
from emulator.policies.protocols import Arrival, Departure, SchedulingEvent, Start, WaitingJob
from emulator.policies.state import SystemState

ARRIVAL = Arrival(WaitingJob(1, JobRequest(RequestKind.NON_FIXED, (4,))))
DEPARTURE = Departure(2, Placement((Component(0, 4),)))


def decision(event: SchedulingEvent, *idle: int, waiting: int = 1, started: int = 0) -> Decision:
    """A decision after which so many jobs wait; one may have `started` on so many processors of the first cluster."""
    starts = (Start(1, Placement((Component(0, started),))),) if started else ()
    return Decision(0, 0.0, event, idle, starts, waiting)


def poller_after(*decisions: Decision, is_scanned: bool = False) -> CapacityPoller:
    poller = CapacityPoller()
    for each in decisions:
        poller.note_decision(each, is_scanned=is_scanned)
    return poller


def freed(poller: CapacityPoller, *idle: int) -> Departure | None:
    return poller.find_freed(SystemState((16,) * len(idle), tuple(idle)))


def test_freed_processors_are_a_synthetic_departure():
    poller = poller_after(decision(ARRIVAL, 2, 3))
    assert freed(poller, 2, 3) is None
    assert freed(poller, 1, 8) == Departure(NOBODY, Placement((Component(1, 5),)))


def test_processors_that_a_start_took_have_not_come_free_when_they_are_missing_for_a_while():
    poller = poller_after(decision(DEPARTURE, 8, 0, started=4))
    assert freed(poller, 0, 0) is None
    assert freed(poller, 4, 0) is None
    assert freed(poller, 5, 0) is not None


def test_an_arrival_does_not_hide_what_came_free_from_those_who_waited_before():
    """Under local schedulers an arrival has its own queue tried only."""
    poller = poller_after(decision(ARRIVAL, 0, 0), decision(ARRIVAL, 8, 0, waiting=2))
    assert freed(poller, 8, 0) is not None
    assert freed(poller_after(decision(ARRIVAL, 0, 0), decision(DEPARTURE, 8, 0)), 8, 0) is None


def test_no_poll_is_due_without_waiting_jobs_or_with_a_scanned_queue():
    assert poller_after(decision(ARRIVAL, 0, 0, waiting=0)).host_until_due_s() is None
    assert poller_after(decision(ARRIVAL, 0, 0), is_scanned=True).host_until_due_s() is None
    assert CapacityPoller().host_until_due_s() is None


def test_polls_come_at_longer_intervals_until_something_changes(monkeypatch):
    monkeypatch.setattr(capacity, "time", SimpleNamespace(monotonic=lambda: 0.0))
    poller = poller_after(decision(ARRIVAL, 0, 0))
    assert 0 < (poller.host_until_due_s() or 0) <= FIRST_INTERVAL_HOST_S
    for _ in range(10):
        assert freed(poller, 0, 0) is None
    assert FIRST_INTERVAL_HOST_S < (poller.host_until_due_s() or 0) <= LONGEST_INTERVAL_HOST_S
    poller.poll_soon()
    assert 0 < (poller.host_until_due_s() or 0) <= FIRST_INTERVAL_HOST_S
