"""A job as a stream of jobs carries it: when it arrives, what it asks for, and how long it would run in one cluster.

Workloads make such streams, the simulator consumes them one job at a time, so that a stream of ten million jobs never
stands in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from emulator.model.compilation import mypyc_attr
from emulator.model.request import JobRequest


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class StreamJob:
    """A job of a stream; streams are in order of arrival.

    `service_s` is the execution time in a single cluster; what spreading over several adds is the runtime model's to
    say. `queue` is the index of the queue it is submitted to (its home cluster), None where there is but one queue.
    Nobody changes one once it is made; simulations make millions of them, so the constructor is written out.
    """

    id: int
    arrival_s: float
    service_s: float
    request: JobRequest
    queue: int | None
    application: str

    def __init__(
        self,
        id: int,
        arrival_s: float,
        service_s: float,
        request: JobRequest,
        queue: int | None = None,
        application: str = "",
    ) -> None:
        self.id = id
        self.arrival_s = arrival_s
        self.service_s = service_s
        self.request = request
        self.queue = queue
        self.application = application
