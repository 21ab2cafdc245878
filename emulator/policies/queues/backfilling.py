"""EASY and conservative backfilling: later jobs may start first if, by the estimates, they delay no earlier job.

Both are the usual disciplines of parallel machines, here with a placement policy that chooses the clusters. Jobs are
considered in order of arrival, and the estimates are those of the users (`JobRequest.estimate_s`). A running job's
estimated end is its start plus its estimate.

EASY reserves for the first job only. Its reservation is the earliest estimated end of a running job at which the policy
places it, on the processors that are idle then. Of the other jobs, one starts if the policy places it now and it ends
by that time. It also starts if the policy places it on the *spare* processors, those that are idle now and that the
reservation leaves idle. On one cluster this is EASY as it is known.

Conservative backfilling plans every job: each gets the earliest time at which the policy places it on processors that
stay idle for as long as the job is estimated to run, beside the running jobs and all jobs that arrived before it. The
jobs whose time has come start. The plan is made anew at each event, so a job moves ahead when others end early.
"""

from __future__ import annotations

import math
from typing import ClassVar, Final, NamedTuple

from emulator.policies.protocols import PlacementPolicy, Start, WaitingJob
from emulator.policies.queues.by_estimate import OneQueue, estimate_s_of, place
from emulator.policies.queues.planned_idle import ExpectedEnd, PlannedIdle, expected_ends
from emulator.policies.state import SystemState

NOW: Final = 0
"""The step of a plan that begins now."""


class Reservation(NamedTuple):
    """The time at which the first job is expected to start, and the processors that are idle beside it then."""

    time_s: float
    spare: tuple[int, ...]


class EasyBackfilling(OneQueue):
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


class ConservativeBackfilling(OneQueue):
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
