"""The announcement of a job's start to programs that were started before it was known."""

import threading
import time

import pytest

from emulator.broker.jobs.announcement import StartAnnouncement, line_of
from emulator.model.errors import TransferFailed
from tests.unit.broker.scripted_cluster import ScriptedProgram

SOON_HOST_S = 10


class Awaited:
    """A start that becomes known when the test says so."""

    def __init__(self) -> None:
        self._known = threading.Event()
        self._answer: float | Exception | None = None

    def __call__(self) -> float | None:
        self._known.wait()
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def becomes(self, answer: float | Exception | None) -> None:
        self._answer = answer
        self._known.set()


def test_programs_hear_of_the_start_when_it_is_known_and_those_that_come_later_at_once():
    awaited, early, late = Awaited(), ScriptedProgram(), ScriptedProgram()
    announcement = StartAnnouncement(awaited)
    announcement.begin()
    announcement.add(early)
    assert early.heard.empty()
    host_start_s = time.time() + 100
    awaited.becomes(host_start_s)
    start_s, wait_s = map(float, early.heard.get(timeout=SOON_HOST_S).split())
    assert start_s == pytest.approx(host_start_s, abs=1e-5)
    assert 0 < wait_s <= 100
    announcement.add(late)
    assert late.host_start_timestamp_s() == start_s
    assert announcement.host_start_timestamp_s == host_start_s
    announcement.check()


@pytest.mark.parametrize("failure", [TransferFailed("It did not come."), ZeroDivisionError()])
def test_programs_of_a_job_that_cannot_start_are_closed_and_the_reason_is_raised(failure):
    awaited, early, late = Awaited(), ScriptedProgram(), ScriptedProgram()
    announcement = StartAnnouncement(awaited)
    announcement.add(early)
    announcement.begin()
    awaited.becomes(failure)
    assert list(early.lines()) == []
    announcement.add(late)
    assert late.has_ended
    assert early.heard.empty()
    with pytest.raises(type(failure)):
        announcement.check()


def test_a_start_that_is_past_or_has_no_time_is_waited_for_no_longer():
    assert line_of(None) == "0.000000 0.000000\n"
    assert line_of(12.5) == "12.500000 0.000000\n"
