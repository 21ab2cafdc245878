"""A job's timeline as its ranks see it: the start barrier, the events that rank 0 reports, and the phases' clocks.

The broker reads the events from rank 0's standard output, one JSON document a line. Their moments are the host's wall
clock, because the broker compares them with moments of its own; durations within a job are monotonic.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpi4py import MPI


def report_event(event: str, **values: object) -> None:
    """Writes one event as a line of JSON on standard output, at once."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


def pass_start_barrier(communicator: MPI.Comm, host_start_at_s: float | None) -> None:
    """Waits until every rank is ready and, if one is given, until a moment of rank 0's wall clock; reports `started`.

    The ranks sleep until that moment and do not wait in MPI, which would keep the host's cores busy. Middleware that is
    slower than its emulated overhead shows as `host_late_s`: how far past the moment the last rank was ready.
    """
    communicator.Barrier()
    host_now_s = time.time()
    host_late_s = 0.0 if host_start_at_s is None else max(0.0, host_now_s - host_start_at_s)
    host_remaining_s = 0.0 if host_start_at_s is None else max(0.0, host_start_at_s - host_now_s)
    time.sleep(communicator.bcast(host_remaining_s, root=0))
    communicator.Barrier()
    if communicator.rank == 0:
        report_event("started", host_moment_s=time.time(), host_late_s=host_late_s, processes=communicator.size)


def pass_finish_barrier(communicator: MPI.Comm) -> None:
    """Waits for every rank; reports `finished` with the moment at which the last one came."""
    host_moments_s = communicator.gather(time.time(), root=0)
    if host_moments_s is not None:
        report_event("finished", host_moment_s=max(host_moments_s))


@dataclass(slots=True)
class HostTimes:
    """Where one rank's loop spent its time, in host nanoseconds; the kernel's CPU time as sampled.

    `host_critical_lateness_s` adds up, over the iterations, how far the latest of all ranks was past its phase's end.
    """

    iterations_ns: list[int]
    compute_ns: int = 0
    exchange_ns: int = 0
    reduction_ns: int = 0
    loop_ns: int = 0
    cpu_ns: int = 0
    kernel_cpu_ns: float = 0.0
    host_critical_lateness_s: float = 0.0
