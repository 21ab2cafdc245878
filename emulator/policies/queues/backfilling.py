"""EASY and conservative backfilling: later jobs may start first if, by the estimates, they delay no earlier job.

Both are the usual disciplines of parallel machines, here with a placement policy that chooses the clusters. Jobs are
considered in order of arrival, and the estimates are those of the users (`JobRequest.estimate_s`). A running job's
estimated end is its start plus its estimate.

EASY reserves for the first job only. Its reservation is the earliest estimated end of a running job at which the policy
places it, on the processors that are idle then. Another job starts if the policy places it now and it ends by that
time. It also starts if the policy places it on the *spare* processors, those that are idle now and that the reservation
leaves idle. On one cluster this is EASY as it is known.

Conservative backfilling plans every job: each gets the earliest time at which the policy places it on processors that
stay idle for as long as the job is estimated to run, beside the running jobs and all jobs that arrived before it. The
jobs whose time has come start. The plan is made anew at each event, so a job moves ahead when others end early.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, ClassVar, Final, NamedTuple

from numpy.random import Generator

from emulator.policies.protocols import PlacementPolicy, Reject, SchedulingEvent, Start, WaitingJob
from emulator.policies.queues.estimate_queue import EstimateQueue, place
from emulator.policies.queues.estimated_jobs import EstimatedJob, EstimatedJobs, EstimateGroup
from emulator.policies.queues.planned_idle import ExpectedEnd, PlannedIdle, expected_ends
from emulator.policies.state import SystemState

NOW: Final = 0
"""The step of a plan that begins now."""


class Reservation(NamedTuple):
    """The time at which the first job is expected to start, and the processors that are idle beside it then."""

    time_s: float
    spare: tuple[int, ...]


class Backfilling(EstimateQueue):
    """A queue in order of arrival, in which each event tries every job; a discipline overrides `_starts`."""

    needs_running_jobs: ClassVar[bool] = True

    def __init__(self) -> None:
        self._queue = EstimatedJobs()

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Return the starts that `event` makes possible.

        Raises:
            InvalidInput: if an arriving job has no estimate.
        """
        self._queue.note_policy(policy)
        return super().decide(event, state, policy, rng)

    def waiting(self) -> Sequence[int]:
        """Return the identities of the waiting jobs, in the order in which they are tried."""
        return list(self._queue.jobs)

    def snapshot(self) -> dict[str, Any]:
        """Return the waiting jobs and their tries as plain values."""
        return self._queue.snapshot()

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        self._queue = EstimatedJobs()
        self._queue.restore(snapshot)

    def _add(self, job: WaitingJob) -> None:
        self._queue.add(job)

    def _remove(self, job_id: int) -> None:
        self._queue.remove(job_id)

    def _try_jobs(self, state: SystemState, policy: PlacementPolicy) -> Sequence[Start]:
        if not self._queue.jobs:
            return []
        self._queue.passes += 1
        return self._starts(state, policy)

    @abstractmethod
    def _starts(self, state: SystemState, policy: PlacementPolicy) -> list[Start]:
        """Return the starts of waiting jobs, which wait no longer; each of them has been tried once more."""


class EasyBackfilling(Backfilling):
    """EASY: a later job may start first if it does not delay the first job.

    Only jobs that could start are considered: those of groups that need no more processors than are idle.
    """

    def _starts(self, state: SystemState, policy: PlacementPolicy) -> list[Start]:
        starts: list[Start] = []
        added: list[ExpectedEnd] = []
        queue = self._queue
        while queue.jobs:
            queued = next(iter(queue.jobs.values()))
            placement = None
            if queued.group.processors <= state.total_idle:
                placement = place(queued.job, state, policy)
            if placement is None:
                break
            starts.append(Start(queued.job.id, placement, queue.tries(queued)))
            added.append(ExpectedEnd(state.time_s + queued.estimate_s, placement))
            queue.remove(queued.job.id)
            state = state.after(placement)
        if len(queue.jobs) < 2 or not any(True for _ in queue.up_to(state.total_idle)):
            return starts
        ends = expected_ends(state.surroundings.running, state.time_s) + added
        first = next(iter(queue.jobs.values()))
        return starts + self._backfilled(first, _reservation(first.job, state, ends, policy), state, policy)

    def _backfilled(
        self, first: EstimatedJob, reservation: Reservation, state: SystemState, policy: PlacementPolicy
    ) -> list[Start]:
        starts: list[Start] = []
        queue = self._queue
        spare = reservation.spare
        beside = state.with_idle(_less_of(state.idle, spare))
        # In order of arrival: the first job of each group that ends in time, and the first one that does not.
        tried = [(group, in_time) for group in queue.up_to(state.total_idle) for in_time in (True, False)]
        coming = _coming(tried, first.sequence, state.time_s, reservation.time_s)
        tried = []
        while coming:
            sequence, in_time, queued = heappop(coming)
            group = queued.group
            tried.append((group, in_time))
            usable = state if in_time else beside
            if group.processors > usable.total_idle:
                continue
            placement = place(queued.job, usable, policy)
            if placement is None:
                continue
            starts.append(Start(queued.job.id, placement, queue.tries(queued)))
            queue.remove(queued.job.id)
            state = state.after(placement)
            if not in_time:
                spare = state.with_idle(spare).after(placement).idle
            beside = state.with_idle(_less_of(state.idle, spare))
            # In the new state, the later jobs of the groups that were tried in the old one are tried.
            for again in _coming(tried, sequence, state.time_s, reservation.time_s):
                heappush(coming, again)
            tried = []
        return starts


class ConservativeBackfilling(Backfilling):
    """Conservative backfilling: a later job may start first if it delays no job that arrived before it.

    The plan ends with the last job that could start now: those after it cannot change what starts.
    """

    def _starts(self, state: SystemState, policy: PlacementPolicy) -> list[Start]:
        queue = self._queue
        starts: list[Start] = []
        last = queue.last_up_to(state.total_idle)
        if last < 0:
            return starts
        plan = PlannedIdle(state, expected_ends(state.surroundings.running, state.time_s))
        for queued in list(queue.jobs.values()):
            if queued.sequence > last:
                break
            start = self._planned(queued, plan, state, policy)
            if start is not None:
                starts.append(start)
                queue.remove(queued.job.id)
                state = state.after(start.placement)
                last = queue.last_up_to(state.total_idle)
        return starts

    def _planned(
        self, queued: EstimatedJob, plan: PlannedIdle, state: SystemState, policy: PlacementPolicy
    ) -> Start | None:
        """Plan a job at its first possible step; return its start if that is now."""
        processors, estimate_s = queued.group.processors, queued.estimate_s
        step = NOW
        while step < len(plan.times_s):
            short = plan.last_short(step, estimate_s, processors)
            if short >= step:
                step = short + 1
                continue
            placement = place(queued.job, state.with_idle(plan.least_idle(step, estimate_s)), policy)
            if placement is None:
                step += 1
                continue
            plan.take(step, estimate_s, placement)
            return Start(queued.job.id, placement, self._queue.tries(queued)) if step == NOW else None
        return None


def _coming(
    groups: Sequence[tuple[EstimateGroup, bool]], sequence: int, now_s: float, by_s: float
) -> list[tuple[int, bool, EstimatedJob]]:
    """Return, as a heap, the first job after `sequence` of each group that ends in time, or that does not."""
    found: list[tuple[int, bool, EstimatedJob]] = []
    for group, in_time in groups:
        queued = group.first_after(sequence, now_s, by_s, in_time)
        if queued is not None:
            heappush(found, (queued.sequence, in_time, queued))
    return found


def _reservation(job: WaitingJob, state: SystemState, ends: list[ExpectedEnd], policy: PlacementPolicy) -> Reservation:
    """Return the earliest step of the expected ends at which the policy places `job`."""
    plan = PlannedIdle(state, ends)
    processors = job.request.processors
    for step in range(1, len(plan.times_s)):
        if plan.totals[step] < processors:
            continue
        then = state.with_idle(tuple(plan.idle[step]))
        placement = place(job, then, policy)
        if placement is not None:
            return Reservation(plan.times_s[step], then.after(placement).idle)
    return Reservation(math.inf, state.idle)


def _less_of(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """Return the smaller number of each cluster."""
    return tuple([min(pair) for pair in zip(first, second, strict=True)])
