"""Pacing: a compute phase lasts as long as the emulated processor would need for it.

A `ProcessorProfile` says what a grid point costs the emulated processor; a `Pacer` turns such a cost into host time
once per kind of phase and then, after the phase's real work, sleeps until the phase's end. It never spins: waiting
must cost the host nothing, because other ranks need its cores. A phase that ends later than its tolerance is counted
as late.

A phase ends when the emulated processor would have finished, and the next begins there, whenever the rank itself wakes
up: so lateness does not add up if the next phase's sleep can make up for it. A rank may even run ahead of the host's
clock by a lead, because its messages are paced or do not leave early (``apps/kernels/messages.pyx``): lateness of the
host up to the lead then delays no other rank.
"""

from __future__ import annotations

import ctypes
import math
import os
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from emulator.model.clock import Dilation, host_tolerance_s
from emulator.model.errors import InvalidInput
from emulator.model.point_costs import MemoryCosts, PointCosts
from emulator.model.units import NANOSECONDS_PER_SECOND, nanoseconds, seconds_from_nanoseconds

OVERSHOOT_EDGES_HOST_S = tuple(25e-6 * 2 ** (step / 2) for step in range(26))
"""The edges between classes of overshoots: from a quarter of the smallest tolerance to a seventh of a second."""
_OVERSHOOT_EDGES_NS = [nanoseconds(edge_s) for edge_s in OVERSHOOT_EDGES_HOST_S]

# Waking a core that has idled, and many ranks at once, takes tenths of a millisecond: so a long sleep ends this much
# early, and a short one, from which all return faster, follows it.
_EARLY_HOST_NS = 500_000
_LONG_SLEEP_HOST_NS = 2_000_000

_CLOCK_MONOTONIC = 1
_TIMER_ABSTIME = 1
_PR_SET_TIMERSLACK = 29
_SHORTEST_TIMER_SLACK_NS = 1


_MEMORY_FORM = "WAYS:FIRST_LEVEL_BYTES:SHARED_SHARE:LONG_ROW_NS, such as 8:16384:0.2:30"


@dataclass(frozen=True, slots=True)
class ProcessorProfile:
    """The cost of one grid-point update on the emulated processor, in emulated nanoseconds.

    Without a memory the working set of a phase is 8 bytes for each of its points (the measurement study's count); it is
    in cache if it is not larger than `cache_bytes`.

    Raises:
        InvalidInput: if a cost is not positive or the cache's size is negative.
    """

    in_cache_ns_per_point: float
    out_of_cache_ns_per_point: float
    cache_bytes: int
    memory: MemoryCosts | None = None

    def __post_init__(self) -> None:
        for cost in (self.in_cache_ns_per_point, self.out_of_cache_ns_per_point):
            if not 0 < cost < float("inf"):
                raise InvalidInput(f"A processor's cost per grid point must be positive nanoseconds, not {cost!r}.")
        if self.cache_bytes < 0:
            raise InvalidInput(f"A processor's cache must not have a negative size, but has {self.cache_bytes} bytes.")

    @property
    def costs(self) -> PointCosts:
        """The same as the costs of a point."""
        return PointCosts(self.in_cache_ns_per_point, self.out_of_cache_ns_per_point, self.cache_bytes, self.memory)


def parse_memory(text: str) -> MemoryCosts:
    """Parse `WAYS:FIRST_LEVEL_BYTES:SHARED_SHARE:LONG_ROW_NS`, as on a command line.

    Raises:
        InvalidInput: if the text has another form, or a value is out of range.
    """
    try:
        ways, first_level_bytes, shared_share, long_row_ns = text.split(":")
        memory = MemoryCosts(int(ways), int(first_level_bytes), float(shared_share), float(long_row_ns))
    except ValueError:
        raise InvalidInput(f"A memory is stated as {_MEMORY_FORM}, not {text!r}.") from None
    shares = (memory.shared_share, memory.long_row_ns_per_point)
    if memory.cache_ways < 1 or memory.first_level_bytes < 1 or not all(0 <= share < math.inf for share in shares):
        raise InvalidInput(f"A memory is stated as {_MEMORY_FORM}, not {text!r}.")
    return memory


@dataclass(frozen=True, slots=True)
class Phase:
    """A kind of compute phase, in host nanoseconds: how long it lasts and how late its end may be."""

    host_duration_ns: int
    host_tolerance_ns: int


@dataclass(slots=True)
class PhaseCount:
    """The number of ended phases, the number of late ones, and by how much those were late (host seconds).

    `overshoots` counts phases by how far past their ends they ended, within the tolerance or not, in the classes
    between `OVERSHOOT_EDGES_HOST_S`. `host_wait_ns` is how long phases waited for a processor that others had.
    """

    phases: int = 0
    late_phases: int = 0
    host_lateness_sum_s: float = 0.0
    host_lateness_max_s: float = 0.0
    overshoots: list[int] = field(default_factory=lambda: [0] * (len(OVERSHOOT_EDGES_HOST_S) + 1))
    host_wait_ns: int = 0

    def add(self, phase: Phase, host_late_ns: int) -> None:
        """Count a phase that ended `host_late_ns` after its end."""
        self.phases += 1
        self.overshoots[bisect_right(_OVERSHOOT_EDGES_NS, host_late_ns)] += 1
        if host_late_ns > phase.host_tolerance_ns:
            self.late_phases += 1
            host_late_s = seconds_from_nanoseconds(host_late_ns)
            self.host_lateness_sum_s += host_late_s
            self.host_lateness_max_s = max(self.host_lateness_max_s, host_late_s)


class Pacer(Protocol):
    """The interface that makes compute phases last; `count` has the late ones.

    `host_lead_ns` is how far a rank may run ahead of the host's clock, 0 unless the rank's messages allow it.
    """

    count: PhaseCount
    host_lead_ns: int

    def phase(self, emulated_s: float) -> Phase:
        """Make a kind of phase that lasts `emulated_s`; make it once, use it for each such phase."""
        ...

    def begin(self, phase: Phase, host_started_ns: int) -> None:
        """Note that a phase begins, before its real work; a phase that is only finished begins there."""
        ...

    def finish(self, phase: Phase, host_started_ns: int) -> int:
        """Wait for the end of a phase that began at `host_started_ns`; return its end (both of `monotonic_ns`)."""
        ...


def dilated_phase(dilation: Dilation, emulated_s: float) -> Phase:
    """Return a phase of `emulated_s`; its tolerance is `host_tolerance_s`."""
    host_s = dilation.host_duration_s(emulated_s)
    return Phase(nanoseconds(host_s), nanoseconds(host_tolerance_s(host_s)))


class DilatedPacer:
    """A pacer to emulated time: a phase ends after its length times the dilation.

    `sleep_until` sleeps until a timestamp of the host's monotonic clock.
    """

    def __init__(self, dilation: Dilation, sleep_until: Callable[[int], None] | None = None) -> None:
        self.count = PhaseCount()
        self.host_lead_ns = 0
        self._dilation = dilation
        self._sleep_until = sleep_until or HostSleep()

    def phase(self, emulated_s: float) -> Phase:
        """Make a phase of `emulated_s`; its tolerance is `host_tolerance_s`."""
        return dilated_phase(self._dilation, emulated_s)

    def begin(self, phase: Phase, host_started_ns: int) -> None:
        """Do nothing: a processor of the rank's own is there."""

    def finish(self, phase: Phase, host_started_ns: int) -> int:
        """Sleep until the phase's end, less the lead, and count the phase; return its end's timestamp."""
        host_end_ns = host_started_ns + phase.host_duration_ns
        host_now_ns = time.monotonic_ns()
        host_wake_ns = host_end_ns - self.host_lead_ns
        if host_now_ns < host_wake_ns:
            if self.host_lead_ns == 0 and host_wake_ns - host_now_ns > _LONG_SLEEP_HOST_NS:
                self._sleep_until(host_wake_ns - _EARLY_HOST_NS)
            self._sleep_until(host_wake_ns)
            host_now_ns = time.monotonic_ns()
        self.count.add(phase, max(0, host_now_ns - host_end_ns))
        return host_end_ns


class NativePacer:
    """A pacer that lets phases take the host's own time: nothing is ever late."""

    def __init__(self) -> None:
        self.count = PhaseCount()
        self.host_lead_ns = 0

    def phase(self, emulated_s: float) -> Phase:
        """Make a phase of no set length."""
        return Phase(0, 0)

    def begin(self, phase: Phase, host_started_ns: int) -> None:
        """Do nothing."""

    def finish(self, phase: Phase, host_started_ns: int) -> int:
        """Count the phase and return the present timestamp."""
        self.count.phases += 1
        return time.monotonic_ns()


def make_timers_exact() -> None:
    """Make this process's sleeps end when they are due, and not up to 50 us later together with others'.

    Each sleep then programs a timer: worth its price only if a late end delays a message.

    Raises:
        OSError: if the kernel refuses.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(_SHORTEST_TIMER_SLACK_NS), 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class _TimeSpecification(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class HostSleep:
    """A sleep until a timestamp of the host's monotonic clock, in one system call with an absolute deadline.

    A relative sleep would add the time for which the rank is preempted between reading the clock and going to sleep.
    """

    def __init__(self) -> None:
        make_timers_exact()
        self._timestamp = _TimeSpecification()
        self._timestamp_pointer = ctypes.byref(self._timestamp)
        self._clock_nanosleep = ctypes.CDLL(None).clock_nanosleep
        self._clock = ctypes.c_int(_CLOCK_MONOTONIC)
        self._absolute = ctypes.c_int(_TIMER_ABSTIME)

    def __call__(self, host_timestamp_ns: int) -> None:
        timestamp = self._timestamp
        timestamp.seconds, timestamp.nanoseconds = divmod(host_timestamp_ns, NANOSECONDS_PER_SECOND)
        self._clock_nanosleep(self._clock, self._absolute, self._timestamp_pointer, None)
