"""A job's timeline as the broker follows it: the events that rank 0 reports, and the barriers at start and finish.

The broker reads the events from rank 0's standard output, one JSON document a line. Their timestamps are those of the
broker's wall clock, because the broker compares them with timestamps of its own.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from apps.application import JobContext


def report_event(event: str, **values: object) -> None:
    """Write one event as a line of JSON on standard output and flush it."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


def broker_now_s(job: JobContext) -> float:
    """Return what the broker's wall clock shows, by this rank's own and what is known of their difference."""
    return time.time() - job.setting.clock_ahead_s(job.communicator.rank)


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
    start = np.array([host_start_at_s or 0.0, host_wait_s(host_start_at_s, host_start_within_s, broker_now_s(job))])
    job.collectives.broadcast(start)
    time.sleep(host_wait_s(start[0], start[1], broker_now_s(job)))
    job.messenger.begin_now()
    (host_ready_at_s,) = job.collectives.all_reduce(np.array([broker_now_s(job)]), "max")
    if job.communicator.rank == 0:
        host_late_s = 0.0 if host_start_at_s is None else max(0.0, float(host_ready_at_s) - host_start_at_s)
        report_event(
            "started", host_moment_s=broker_now_s(job), host_late_s=host_late_s, processes=job.communicator.size
        )


def pass_finish_barrier(job: JobContext) -> None:
    """Wait for every rank; report `finished` with the timestamp at which the last one arrived."""
    gc.enable()
    (host_moment_s,) = job.collectives.all_reduce(np.array([broker_now_s(job)]), "max")
    if job.communicator.rank == 0:
        report_event("finished", host_moment_s=float(host_moment_s))
