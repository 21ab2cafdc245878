"""SJF and LJF: one queue in order of the users' estimates; all jobs wait until the first of them fits.

SJF tries the job with the shortest estimated execution time first, LJF the one with the longest; jobs with equal
estimates keep their order of arrival. Nothing runs ahead of the first job (`backfilling` does that). FCFS, first come,
first served, is the same without estimates, and that is GS (`global_scheduler`).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Any

from numpy.random import Generator

from emulator.model.placement import Placement
from emulator.policies.placement.fixed import place_where_named
from emulator.policies.protocols import (
    Arrival,
    Departure,
    PlacementPolicy,
    Reject,
    SchedulingEvent,
    Start,
    WaitingJob,
    Withdrawal,
)
from emulator.policies.queues.estimated_jobs import estimate_s_of
from emulator.policies.queues.snapshot_codec import recalled, remembered
from emulator.policies.state import SystemState


class OneQueue:
    """One queue of jobs with estimates; all jobs wait until the first of them fits.

    A discipline overrides `_rank`, by which jobs are ordered.
    """

    def __init__(self) -> None:
        self._jobs: list[WaitingJob] = []
        self._tries: dict[int, int] = {}

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Return the starts that `event` makes possible.

        Raises:
            InvalidInput: if an arriving job has no estimate.
        """
        if isinstance(event, Arrival):
            self._add(event.job)
        elif isinstance(event, Withdrawal):
            self._jobs = [job for job in self._jobs if job.id != event.job_id]
            self._tries.pop(event.job_id, None)
        elif not isinstance(event, Departure):
            return []
        starts = self._starts(state, policy) if self._jobs else []
        del self._jobs[: len(starts)]
        return starts

    def next_scan_s(self) -> float | None:
        """Return None, because this discipline acts only at arrivals, departures and withdrawals."""
        return None

    def waiting(self) -> Sequence[int]:
        """Return the identities of the waiting jobs, in the order in which they are tried."""
        return [job.id for job in self._jobs]

    def could_start(self, job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> bool:
        """Return whether `job` would start in `state` if it were the only job.

        Raises:
            InvalidInput: if the job has no estimate.
        """
        estimate_s_of(job)
        return place(job, state, policy) is not None

    def snapshot(self) -> dict[str, Any]:
        """Return the waiting jobs and their tries as plain values."""
        return {"jobs": [remembered(job) | {"tries": self._tries[job.id]} for job in self._jobs]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        self._jobs = [recalled(job) for job in snapshot["jobs"]]
        self._tries = {job["id"]: job["tries"] for job in snapshot["jobs"]}

    def _rank(self, job: WaitingJob) -> float:
        """Return the number by which the queue is ordered; jobs of the same rank keep their order of arrival."""
        return 0.0

    def _starts(self, state: SystemState, policy: PlacementPolicy) -> list[Start]:
        """Return the starts of the waiting jobs, from the first on until one does not fit."""
        starts: list[Start] = []
        for job in self._jobs:
            placement = place(job, state, policy)
            self._note_try(job)
            if placement is None:
                break
            starts.append(self._start(job, placement))
            state = state.after(placement)
        return starts

    def _add(self, job: WaitingJob) -> None:
        estimate_s_of(job)
        insort(self._jobs, job, key=self._rank)
        self._tries[job.id] = 0

    def _note_try(self, job: WaitingJob) -> None:
        self._tries[job.id] = self._tries[job.id] + 1

    def _start(self, job: WaitingJob, placement: Placement) -> Start:
        return Start(job.id, placement, self._tries.pop(job.id))


class ShortestJobFirst(OneQueue):
    """SJF: the job with the shortest estimate is next."""

    def _rank(self, job: WaitingJob) -> float:
        return estimate_s_of(job)


class LongestJobFirst(OneQueue):
    """LJF: the job with the longest estimate is next."""

    def _rank(self, job: WaitingJob) -> float:
        return -estimate_s_of(job)


def place(job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> Placement | None:
    """Return the policy's placement of `job` in `state`, or None; a fixed request goes where it says."""
    request = job.request
    return place_where_named(request, state, policy) if request.clusters else policy.place(request, state)
