"""A job's timeline as the broker follows it: the events that rank 0 reports, and the barriers at start and finish.

The broker reads the events from rank 0's standard output, one JSON document a line. Their timestamps are those of the
broker's wall clock, because the broker compares them with timestamps of its own.

Inside the loop timestamps are of a machine's monotonic clock. Where a job has ranks on several machines, those that are
compared are taken to the first rank's clock, by way of the wall clocks, as exactly as these agree.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from emulator.model.units import nanoseconds

if TYPE_CHECKING:
    from apps.application import JobContext

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_BOOT_DIGITS: Final = 12
_READINGS: Final = 5

MachineClock = tuple[float, float]
"""A number of a machine's start, and by how many nanoseconds the broker's clock is ahead of its monotonic clock."""


def report_event(event: str, **values: object) -> None:
    """Write one event as a line of JSON on standard output and flush it."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


def broker_now_s(job: JobContext) -> float:
    """Return what the broker's wall clock shows, by this rank's own and what is known of their difference."""
    return time.time() - job.setting.clock_ahead_s(job.communicator.rank)


def machine_clock(clock_ahead_s: float) -> MachineClock:
    """Return the clock of this rank's machine, whose wall clock is `clock_ahead_s` ahead of the broker's.

    Machines whose number cannot be read are taken for one.
    """
    try:
        machine = int(_BOOT.read_text(encoding="ascii").replace("-", "")[:_BOOT_DIGITS], 16)
    except (OSError, ValueError):
        machine = 0
    return float(machine), float(_wall_ahead_ns() - nanoseconds(clock_ahead_s))


def _wall_ahead_ns() -> int:
    """Return how far the wall clock is ahead of the monotonic one: of some readings, the one made in least time."""
    readings: list[tuple[int, int]] = []
    for _ in range(_READINGS):
        before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
    return min(readings)[1]


def to_first_clock_ns(own: MachineClock, first: MachineClock) -> int:
    """Return what is to be added to timestamps of one machine's monotonic clock to have them on the first rank's."""
    return 0 if own[0] == first[0] else round(own[1] - first[1])


def host_wait_s(host_start_at_s: float | None, host_start_within_s: float | None, host_now_s: float) -> float:
    """Return how long to wait for the start, which is at most the given time; not at all if no start is given."""
    if host_start_at_s is None:
        return 0.0
    wait_s = max(0.0, host_start_at_s - host_now_s)
    return wait_s if host_start_within_s is None else min(wait_s, host_start_within_s)


def pass_start_barrier(
    job: JobContext, host_start_at_s: float | None, host_start_within_s: float | None = None
) -> None:
    """Wait until every rank is ready and, if one is given, until a timestamp of the broker's clock; report `started`.

    The ranks sleep until that timestamp and do not wait in MPI, which would keep the host's cores busy. Middleware that
    is slower than its emulated overhead, or a rank that stands still, shows as `host_late_s`: how long after the
    timestamp the last rank was ready. No garbage is collected from here on, because that would disturb a phase.
    """
    gc.collect()
    gc.disable()
    job.collectives.barrier()
    clock = machine_clock(job.setting.clock_ahead_s(job.communicator.rank))
    wait_s = host_wait_s(host_start_at_s, host_start_within_s, broker_now_s(job))
    start = np.array([host_start_at_s or 0.0, wait_s, *clock])
    job.collectives.broadcast(start)
    time.sleep(host_wait_s(start[0], start[1], broker_now_s(job)))
    job.messenger.begin_now()
    job.messenger.to_first_clock_ns = to_first_clock_ns(clock, (float(start[2]), float(start[3])))
    (host_ready_at_s,) = job.collectives.all_reduce(np.array([broker_now_s(job)]), "max")
    job.messenger.enter_network()
    if job.communicator.rank == 0:
        host_late_s = 0.0 if host_start_at_s is None else max(0.0, float(host_ready_at_s) - host_start_at_s)
        report_event(
            "started", host_moment_s=broker_now_s(job), host_late_s=host_late_s, processes=job.communicator.size
        )


def pass_finish_barrier(job: JobContext) -> None:
    """Wait for every rank; report `finished` with the timestamp at which the last one arrived."""
    gc.enable()
    job.messenger.leave_network()
    (host_moment_s,) = job.collectives.all_reduce(np.array([broker_now_s(job)]), "max")
    if job.communicator.rank == 0:
        report_event("finished", host_moment_s=float(host_moment_s))
