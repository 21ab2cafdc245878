"""Which process gets a core first: a rank that iterates, before ranks that start or end.

A rank that iterates wakes often, computes for a moment and sleeps again. The ranks of a job that starts compute for
seconds, on every core. If all had the same right to a core, one that wakes would often wait for its turn.

So whatever comes before and after the iterations is done in a thread of low priority. A process may always lower the
priority of a thread, but may raise it again only with a right that not every container has. The thread that iterates
is therefore another one, whose priority is never lowered. It also asks for short time slices: Linux 6.12 and newer
then lets it run soon after it wakes. Neither changes anything while a core is idle.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_LOWEST_PRIORITY = 19
_SHORT_SLICE_HOST_NS = 100_000
_USUAL_SLICE = 0
_SCHED_OTHER = 0
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}

_Result = TypeVar("_Result")


class SchedulingAttributes(ctypes.Structure):
    """The kernel's `struct sched_attr`; see sched_setattr(2)."""

    _fields_ = (
        ("size_bytes", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("slice_ns", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_uint64),
        ("period_ns", ctypes.c_uint64),
    )


def at_low_priority(work: Callable[[], _Result]) -> _Result:
    """Do `work` in this process's thread of the lowest priority, and wait for it; return or raise what it does.

    It is always the same thread, since MPI must be ended by the one that initialised it. Threads that the work starts
    keep the priority.
    """
    return _thread_of_low_priority().submit(work).result()


def take_short_slices() -> None:
    """Let this thread run soon after it wakes, for a short time at once, if the kernel can."""
    _take_slices(_SHORT_SLICE_HOST_NS)


def take_usual_slices() -> None:
    """Undo `take_short_slices`."""
    _take_slices(_USUAL_SLICE)


@functools.cache
def _thread_of_low_priority() -> ThreadPoolExecutor:
    # In Linux this lowers the priority of the calling thread alone.
    return ThreadPoolExecutor(1, initializer=os.setpriority, initargs=(os.PRIO_PROCESS, 0, _LOWEST_PRIORITY))


def _take_slices(host_ns: int) -> None:
    """Ask for time slices; an older kernel ignores it, and a sandbox may refuse it."""
    number = _SCHED_SETATTR.get(platform.machine())
    if number is None:
        return
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    size_bytes = ctypes.sizeof(SchedulingAttributes)
    wanted = SchedulingAttributes(size_bytes=size_bytes, policy=_SCHED_OTHER, nice=nice, slice_ns=host_ns)
    ctypes.CDLL(None).syscall(number, 0, ctypes.byref(wanted), 0)
