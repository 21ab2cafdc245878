"""SJF and LJF: one queue in order of the users' estimates; all jobs wait until the first of them fits.

SJF tries the job with the shortest estimated execution time first, LJF the one with the longest; jobs with equal
estimates keep their order of arrival. Nothing runs ahead of the first job (`backfilling` does that). FCFS, first come,
first served, is the same without estimates, and that is GS (`global_scheduler`).
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import insort
from collections.abc import Sequence
from typing import Any

from emulator.policies.protocols import PlacementPolicy, Start, WaitingJob
from emulator.policies.queues.estimate_queue import EstimateQueue, place
from emulator.policies.queues.estimated_jobs import estimate_s_of
from emulator.policies.queues.snapshot_codec import recalled, remembered
from emulator.policies.state import SystemState


class OneQueue(EstimateQueue):
    """One queue of jobs with estimates; all jobs wait until the first of them fits.

    A discipline overrides `_rank`, by which jobs are ordered.
    """

    def __init__(self) -> None:
        self._jobs: list[WaitingJob] = []
        self._tries: dict[int, int] = {}

    def waiting(self) -> Sequence[int]:
        """Return the identities of the waiting jobs, in the order in which they are tried."""
        return [job.id for job in self._jobs]

    def snapshot(self) -> dict[str, Any]:
        """Return the waiting jobs and their tries as plain values."""
        return {"jobs": [remembered(job) | {"tries": self._tries[job.id]} for job in self._jobs]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        self._jobs = [recalled(job) for job in snapshot["jobs"]]
        self._tries = {job["id"]: job["tries"] for job in snapshot["jobs"]}

    @abstractmethod
    def _rank(self, job: WaitingJob) -> float:
        """Return the number by which the queue is ordered; jobs of the same rank keep their order of arrival."""

    def _add(self, job: WaitingJob) -> None:
        estimate_s_of(job)
        insort(self._jobs, job, key=self._rank)
        self._tries[job.id] = 0

    def _remove(self, job_id: int) -> None:
        self._jobs = [job for job in self._jobs if job.id != job_id]
        self._tries.pop(job_id, None)

    def _try_jobs(self, state: SystemState, policy: PlacementPolicy) -> Sequence[Start]:
        """Return the starts of the waiting jobs, from the first on until one does not fit."""
        starts: list[Start] = []
        for job in self._jobs:
            placement = place(job, state, policy)
            self._tries[job.id] = self._tries[job.id] + 1
            if placement is None:
                break
            starts.append(Start(job.id, placement, self._tries.pop(job.id)))
            state = state.after(placement)
        del self._jobs[: len(starts)]
        return starts


class ShortestJobFirst(OneQueue):
    """SJF: the job with the shortest estimate is next."""

    def _rank(self, job: WaitingJob) -> float:
        return estimate_s_of(job)


class LongestJobFirst(OneQueue):
    """LJF: the job with the longest estimate is next."""

    def _rank(self, job: WaitingJob) -> float:
        return -estimate_s_of(job)
