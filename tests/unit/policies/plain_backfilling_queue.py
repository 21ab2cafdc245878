"""EASY and conservative backfilling read plainly, for tests: each event asks the policy about every waiting job."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from typing import Any, ClassVar, Final, NamedTuple

from numpy.random import Generator

from emulator.model.placement import Placement
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
from emulator.policies.queues.estimate_queue import place
from emulator.policies.queues.estimated_jobs import estimate_s_of
from emulator.policies.queues.planned_idle import ExpectedEnd, PlannedIdle, expected_ends
from emulator.policies.queues.snapshot_codec import recalled, remembered
from emulator.policies.state import SystemState


class OneQueue:
    """One queue of jobs with estimates; all jobs wait until the first of them fits.

    A discipline overrides `_rank`, by which jobs are ordered, or `_starts`, which decides what starts.
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
        if starts:
            started = {start.job_id for start in starts}
            self._jobs = [job for job in self._jobs if job.id not in started]
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


NOW: Final = 0
"""The step of a plan that begins now."""


class Reservation(NamedTuple):
    """The time at which the first job is expected to start, and the processors that are idle beside it then."""

    time_s: float
    spare: tuple[int, ...]


class PlainEasy(OneQueue):
    """EASY: a later job may start first if it does not delay the first job."""

    needs_running_jobs: ClassVar[bool] = True

    def _starts(self, state: SystemState, policy: PlacementPolicy) -> list[Start]:
        starts = super()._starts(state, policy)
        if len(self._jobs) - len(starts) < 2:
            return starts
        ends = expected_ends(state.surroundings.running, state.time_s)
        for job, start in zip(self._jobs, starts, strict=False):
            ends.append(ExpectedEnd(state.time_s + estimate_s_of(job), start.placement))
            state = state.after(start.placement)
        reservation = _reservation(self._jobs[len(starts)], state, ends, policy)
        return starts + self._backfilled(self._jobs[len(starts) + 1 :], reservation, state, policy)

    def _backfilled(
        self, jobs: list[WaitingJob], reservation: Reservation, state: SystemState, policy: PlacementPolicy
    ) -> list[Start]:
        starts: list[Start] = []
        spare = reservation.spare
        for job in jobs:
            ends_before = state.time_s + estimate_s_of(job) <= reservation.time_s
            usable = state if ends_before else state.with_idle(_less_of(state.idle, spare))
            placement = place(job, usable, policy)
            self._note_try(job)
            if placement is not None:
                starts.append(self._start(job, placement))
                state = state.after(placement)
                if not ends_before:
                    spare = state.with_idle(spare).after(placement).idle
        return starts


class PlainConservative(OneQueue):
    """Conservative backfilling: a later job may start first if it delays no job that arrived before it."""

    needs_running_jobs: ClassVar[bool] = True

    def _starts(self, state: SystemState, policy: PlacementPolicy) -> list[Start]:
        starts: list[Start] = []
        plan = PlannedIdle(state, expected_ends(state.surroundings.running, state.time_s))
        for job in self._jobs:
            estimate_s = estimate_s_of(job)
            self._note_try(job)
            for step in range(len(plan.times_s)):
                placement = place(job, state.with_idle(plan.least_idle(step, estimate_s)), policy)
                if placement is None:
                    continue
                plan.take(step, estimate_s, placement)
                if step == NOW:
                    starts.append(self._start(job, placement))
                    state = state.after(placement)
                break
        return starts


def _reservation(job: WaitingJob, state: SystemState, ends: list[ExpectedEnd], policy: PlacementPolicy) -> Reservation:
    """Return the earliest step of the expected ends at which the policy places `job`."""
    plan = PlannedIdle(state, ends)
    for step in range(1, len(plan.times_s)):
        then = state.with_idle(tuple(plan.idle[step]))
        placement = place(job, then, policy)
        if placement is not None:
            return Reservation(plan.times_s[step], then.after(placement).idle)
    return Reservation(math.inf, state.idle)


def _less_of(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """Return the smaller number of each cluster."""
    return tuple([min(pair) for pair in zip(first, second, strict=True)])
