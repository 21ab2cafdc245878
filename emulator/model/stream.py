"""A job as a stream of jobs carries it: when it arrives, what it asks for, and how long it would run in one cluster.

Workloads make such streams, the simulator consumes them one job at a time, so that a stream of ten million jobs never
stands in memory.
"""

from __future__ import annotations

from typing import NamedTuple

from emulator.model.request import JobRequest


class StreamJob(NamedTuple):
    """A job of a stream; streams are in order of arrival.

    `service_s` is the execution time in a single cluster; what spreading over several adds is the runtime model's to
    say. `queue` is the index of the queue it is submitted to (its home cluster), None where there is but one queue.
    A tuple rather than a dataclass, because simulations make millions of them.
    """

    id: int
    arrival_s: float
    service_s: float
    request: JobRequest
    queue: int | None = None
    application: str = ""
