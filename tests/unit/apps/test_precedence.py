"""Ranks that iterate get a core before ranks that start or end."""

from __future__ import annotations

import ctypes
import os
import platform
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.precedence import SchedulingAttributes, at_low_priority, take_short_slices, take_usual_slices

LOWEST = 19
SHORT_NS = 100_000
SLICES_SINCE = (6, 12)
SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}


def own_priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def slice_ns() -> int:
    """Return this thread's time slice; 0 on a kernel that has none of its own for a thread."""
    found = SchedulingAttributes()
    number = SCHED_GETATTR[platform.machine()]
    assert ctypes.CDLL(None).syscall(number, 0, ctypes.byref(found), ctypes.sizeof(found), 0) == 0
    return int(found.slice_ns)


def in_a_new_thread(work: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


def test_the_work_has_the_lowest_priority_and_what_follows_the_usual_one() -> None:
    before = own_priority()
    assert at_low_priority(own_priority) == LOWEST
    assert own_priority() == before


def test_threads_that_the_work_starts_keep_its_priority() -> None:
    found: list[int] = []
    at_low_priority(lambda: in_a_new_thread(lambda: found.append(own_priority())))
    assert found == [LOWEST]


@pytest.mark.parametrize("error", [ValueError("wrong"), SystemExit(2), KeyboardInterrupt()])
def test_what_the_work_raises_is_raised(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        at_low_priority(fail)
    assert raised.value is error


def test_short_slices_are_those_of_this_thread_until_it_takes_usual_ones() -> None:
    kernel = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])

    def take_both() -> None:
        usual = slice_ns()
        take_short_slices()
        assert slice_ns() == (SHORT_NS if kernel >= SLICES_SINCE else usual)
        assert own_priority() == priority
        take_usual_slices()
        assert slice_ns() == usual

    priority = own_priority()
    in_a_new_thread(take_both)
