"""A job of a simulation: the next one of a stream, between its arrival and its departure, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, final

from emulator.model.compilation import mypyc_attr
from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement
from emulator.model.stream import StreamJob
from emulator.simulator.possible_jobs import JobForm, check_times

NO_QUEUE: Final = -1
NEVER: Final = math.inf


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class SimulatedJob:
    """A job between its arrival and its departure; it holds its processors for `release_s` after its end."""

    __slots__ = (
        "additional_s",
        "application",
        "arrival_s",
        "claimed_s",
        "claiming_tries",
        "execution_s",
        "finish_s",
        "form",
        "id",
        "number",
        "placed_s",
        "placement",
        "planned_s",
        "queue",
        "reached_limit",
        "release_s",
        "sequence",
        "service_s",
        "start_s",
        "tries",
    )

    def __init__(
        self, number: int, id: int, arrival_s: float, service_s: float, form: JobForm, queue: int, application: str
    ) -> None:
        self.number = number
        self.id = id
        self.arrival_s = arrival_s
        self.service_s = service_s
        self.form = form
        self.queue = queue
        self.application = application
        self.sequence: int = 0
        self.tries: int = 0
        self.placed_s: float = 0.0
        self.planned_s: float = 0.0
        self.claimed_s: float = 0.0
        self.claiming_tries: int = 1
        self.additional_s: float = 0.0
        self.execution_s: float = 0.0
        self.release_s: float = 0.0
        self.start_s: float = 0.0
        self.finish_s: float = NEVER
        self.reached_limit: bool = False
        self.placement: Placement | None = None

    def end_at(self, finish_s: float, limit_s: float) -> bool:
        """Let a job that has a start end at `finish_s`, or after `limit_s` if that is earlier.

        Return whether its end moved.
        """
        latest_s = self.start_s + limit_s
        before_s = self.finish_s
        self.reached_limit = finish_s > latest_s
        self.finish_s = latest_s if self.reached_limit else finish_s
        return self.finish_s != before_s

    def net_share(self) -> float:
        """Return the service time over the execution time; for a job at its limit, over that without a limit."""
        execution_s = self.finish_s - self.start_s
        if self.reached_limit:
            execution_s = max(execution_s, self.execution_s)
        return 1.0 if execution_s <= 0.0 else self.service_s / execution_s

    def __lt__(self, other: SimulatedJob) -> bool:
        # The heap compares jobs only if end and sequence number are equal, which means that both are the same job.
        return False


def next_job(jobs: Iterator[StreamJob], earliest_s: float) -> StreamJob | None:
    """Return the next job of a stream, which may not arrive before `earliest_s`; None at its end.

    Raises:
        InvalidInput: if it does, or one of its times is impossible.
    """
    job = next(jobs, None)
    if job is None:
        return None
    arrival_s = job.arrival_s
    service_s = job.service_s
    if not (earliest_s <= arrival_s < NEVER and 0.0 <= service_s < NEVER):
        check_times(job)
        raise InvalidInput(
            f"Job {job.id}: arrival_s: {arrival_s!r} lies before {earliest_s!r}, the arrival of the job before it."
        )
    return job


class FinishedJob(NamedTuple):
    """A job that ended: its emulated timestamps, and the cluster of each component in the order of its placement.

    `transfer_s` is the estimated time of its file transfer, `additional_s` by how much failed claims postponed it.
    Its processors were released at `released_s`. A job with `reached_limit` did not finish: it was ended at the
    run-time limit.
    """

    id: int
    arrival_s: float
    placed_s: float
    start_s: float
    finish_s: float
    service_s: float
    components: tuple[int, ...]
    clusters: tuple[int, ...]
    queue: int | None
    application: str
    tries: int
    claimed_s: float
    claiming_tries: int
    transfer_s: float
    additional_s: float
    released_s: float
    reached_limit: bool = False


class GivenUpJob(NamedTuple):
    """A job that the queue gave up, or that gave up claiming: when, why, and after how many placement tries."""

    id: int
    given_up_s: float
    reason: str
    tries: int


def finished_job(job: SimulatedJob, placement: Placement, released_s: float) -> FinishedJob:
    """Return what is kept of a job that has ended at `placement`, which was released at `released_s`."""
    components: Any = placement.components
    return FinishedJob(
        job.id,
        job.arrival_s,
        job.placed_s,
        job.start_s,
        job.finish_s,
        job.service_s,
        tuple([component.processors for component in components]),
        tuple([component.cluster for component in components]),
        None if job.queue == NO_QUEUE else job.queue,
        job.application,
        job.tries,
        job.claimed_s,
        job.claiming_tries,
        placement.transfer_s,
        job.additional_s,
        released_s,
        job.reached_limit,
    )
