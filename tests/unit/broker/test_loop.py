"""The broker's one thread: whoever asked it gets an answer or an error, also when it stops."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from emulator.broker import loop as loop_module
from emulator.broker.loop import Loop
from emulator.model.errors import TestbedNotUp

WITHIN_HOST_S = 60.0


def opened() -> Loop:
    loop = Loop(lambda: None, lambda: None)
    loop.open()
    return loop


def test_a_call_is_answered_or_raises_what_its_work_raised():
    loop = opened()
    assert loop.call(lambda: 7) == 7
    with pytest.raises(TimeoutError, match="of the work itself"):
        loop.call(lambda: (_ for _ in ()).throw(TimeoutError("of the work itself")))
    loop.close()


def test_what_was_asked_before_the_end_is_answered_and_what_comes_later_is_refused(monkeypatch):
    monkeypatch.setattr(loop_module, "ANSWER_POLL_HOST_S", 0.05)
    loop = opened()
    begun, go_on = threading.Event(), threading.Event()
    with ThreadPoolExecutor() as askers:
        asked = askers.submit(loop.call, lambda: (begun.set(), go_on.wait(WITHIN_HOST_S))[1])
        assert begun.wait(WITHIN_HOST_S)
        closing = askers.submit(loop.close)
        go_on.set()
        assert asked.result(WITHIN_HOST_S) is True
        closing.result(WITHIN_HOST_S)
        with pytest.raises(TestbedNotUp, match="broker is stopping"):
            askers.submit(loop.call, lambda: 7).result(WITHIN_HOST_S)


def test_one_who_waits_for_work_that_does_not_end_is_told_that_the_loop_stops(monkeypatch):
    monkeypatch.setattr(loop_module, "ANSWER_POLL_HOST_S", 0.05)
    monkeypatch.setattr(loop_module, "JOIN_TIMEOUT_HOST_S", 0.1)
    loop = opened()
    begun, go_on = threading.Event(), threading.Event()
    with ThreadPoolExecutor() as askers:
        asked = askers.submit(loop.call, lambda: (begun.set(), go_on.wait(WITHIN_HOST_S)))
        assert begun.wait(WITHIN_HOST_S)
        loop.close()
        with pytest.raises(TestbedNotUp):
            asked.result(WITHIN_HOST_S)
        go_on.set()
