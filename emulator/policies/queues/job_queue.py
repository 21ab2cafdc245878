"""A queue of waiting jobs of which only the head is ever tried, and the count of the head's tries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, final

from emulator.policies.protocols import WaitingJob
from emulator.policies.queues.remembering import recalled, remembered

KEPT_GAPS: Final = 512
"""Places of departed jobs that are kept at the front before the rest moves up, and at most half of all places."""


@final
class JobQueue:
    """Waiting jobs in order of arrival.

    A list and the place of its head: compiled, that is cheaper than a deque, and interpreted hardly dearer.
    """

    __slots__ = ("_head", "_jobs", "failed_tries")

    def __init__(self) -> None:
        self._jobs: list[WaitingJob | None] = []
        self._head: int = 0
        self.failed_tries: int = 0

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._jobs) - self._head

    def append(self, job: WaitingJob) -> None:
        """A job joins the tail."""
        self._jobs.append(job)

    def head(self) -> WaitingJob:
        """The job at the head of a queue that is not empty."""
        job = self._jobs[self._head]
        assert job is not None
        return job

    def leave(self) -> None:
        """The head leaves."""
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
        """Take a job out if it waits here; whether it did."""
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
        """The waiting jobs, head first."""
        return iter([job for job in self._jobs[self._head :] if job is not None])

    def snapshot(self) -> dict[str, Any]:
        """The jobs as plain values."""
        return {"jobs": [remembered(job) for job in self.jobs()], "failed_tries": self.failed_tries}

    @staticmethod
    def restored(snapshot: dict[str, Any]) -> JobQueue:
        """The queue that `snapshot` describes."""
        queue = JobQueue()
        for record in snapshot["jobs"]:
            queue.append(recalled(record))
        queue.failed_tries = snapshot["failed_tries"]
        return queue
