"""A queue of waiting jobs in which only the head is tried, with the number of its failed tries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, final

from emulator.policies.protocols import WaitingJob
from emulator.policies.queues.snapshot_codec import recalled, remembered

KEPT_GAPS: Final = 512
"""Minimum number of empty places at the front before the list is compacted; they must also be more than half of it."""


@final
class JobQueue:
    """Waiting jobs in order of arrival.

    The queue is a list and the index of its head. Compiled, this is faster than a deque; interpreted, hardly slower.
    """

    __slots__ = ("_head", "_jobs", "failed_tries")

    def __init__(self) -> None:
        self._jobs: list[WaitingJob | None] = []
        self._head: int = 0
        self.failed_tries: int = 0

    @property
    def waiting(self) -> int:
        """The number of waiting jobs."""
        return len(self._jobs) - self._head

    def append(self, job: WaitingJob) -> None:
        """Add a job at the tail."""
        self._jobs.append(job)

    def head(self) -> WaitingJob:
        """Return the job at the head; the queue must not be empty."""
        job = self._jobs[self._head]
        assert job is not None
        return job

    def leave(self) -> None:
        """Remove the head."""
        self.failed_tries = 0
        self._jobs[self._head] = None
        self._head += 1
        if self._head == len(self._jobs):
            self._jobs.clear()
            self._head = 0
        elif self._head > KEPT_GAPS and 2 * self._head > len(self._jobs):
            del self._jobs[: self._head]
            self._head = 0

    def withdraw(self, job_id: int) -> bool:
        """Remove a job if it is in this queue, and return whether it was."""
        for place in range(self._head, len(self._jobs)):
            job = self._jobs[place]
            if job is not None and job.id == job_id:
                if place == self._head:
                    self.leave()
                else:
                    del self._jobs[place]
                return True
        return False

    def jobs(self) -> Iterator[WaitingJob]:
        """Return an iterator over the waiting jobs, head first."""
        return iter([job for job in self._jobs[self._head :] if job is not None])

    def snapshot(self) -> dict[str, Any]:
        """Return the queue as plain values."""
        return {"jobs": [remembered(job) for job in self.jobs()], "failed_tries": self.failed_tries}

    @staticmethod
    def restored(snapshot: dict[str, Any]) -> JobQueue:
        """Return the queue that `snapshot` describes."""
        queue = JobQueue()
        for record in snapshot["jobs"]:
            queue.append(recalled(record))
        queue.failed_tries = snapshot["failed_tries"]
        return queue
