"""Jobs of a stream: arrival time, request, and execution time in one cluster.

Workloads generate streams and the simulator consumes them one job at a time, so that a stream of ten million jobs is
never held in memory.
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

    `service_s` is the execution time in a single cluster; the runtime model adds the cost of spreading over several.
    `queue` is the index of the queue that receives the job (its home cluster), None if there is only one queue.
    Simulations make millions of these values, so the constructor is written out. Treat them as immutable.
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
