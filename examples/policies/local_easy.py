"""EASY backfilling in each cluster's own queue: a later job may start if it does not delay the first of its queue.

The discipline `easy` has one queue for all clusters. Here every job has one component, and runs in the cluster to whose
queue it was submitted. On one cluster both are the same. Jobs need estimates: those of the log, or --estimate-factor.

    testbed simulate log.swf --queue examples/policies/local_easy.py:LocalEasy --topology four-by-32
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.random import Generator

from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement
from emulator.policies.placement.fixed import fixed_request, place_where_named
from emulator.policies.protocols import Arrival, PlacementPolicy, SchedulingEvent, Start, WaitingJob, Withdrawal
from emulator.policies.queues.estimated_jobs import estimate_s_of
from emulator.policies.queues.planned_idle import ExpectedEnd, PlannedIdle, expected_ends
from emulator.policies.queues.snapshot_codec import recalled, remembered
from emulator.policies.state import SystemState


class LocalEasy:
    """The discipline: it keeps all jobs in order of arrival, and looks at those of one cluster at a time."""

    has_local_queues_only = True
    places_singles_at_home = True
    needs_running_jobs = True

    def __init__(self) -> None:
        self._jobs: list[WaitingJob] = []

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start]:
        """Return the starts that `event` makes possible, cluster by cluster."""
        if isinstance(event, Arrival):
            self._jobs.append(event.job)
        elif isinstance(event, Withdrawal):
            self._jobs = [job for job in self._jobs if job.id != event.job_id]
        found = [
            start
            for home in sorted({job.queue for job in self._jobs if job.queue is not None})
            for start in _starts([job for job in self._jobs if job.queue == home], home, state, policy)
        ]
        started = {start.job_id for start in found}
        self._jobs = [job for job in self._jobs if job.id not in started]
        return found

    def could_start(self, job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> bool:
        """Return whether `job` would start in `state` if it were the only one."""
        if job.queue is None or not job.request.single_component:
            raise InvalidInput(f"Job {job.id}: this discipline takes jobs of one component, each with its queue.")
        estimate_s_of(job)
        return _placed(job, state, policy) is not None

    def next_scan_s(self) -> float | None:
        """Return None: events alone let jobs start."""
        return None

    def waiting(self) -> list[int]:
        """Return the identities of the waiting jobs."""
        return [job.id for job in self._jobs]

    def snapshot(self) -> dict[str, Any]:
        """Return the waiting jobs as plain values."""
        return {"jobs": [remembered(job) for job in self._jobs]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the jobs that `snapshot` describes."""
        self._jobs = [recalled(job) for job in snapshot["jobs"]]


def _starts(queue: list[WaitingJob], home: int, state: SystemState, policy: PlacementPolicy) -> list[Start]:
    """Return the starts in one cluster: of the first jobs as long as they fit, and of those that delay none of them."""
    starts: list[Start] = []
    ends = expected_ends(state.surroundings.running, state.time_s)
    while queue and (placement := _placed(queue[0], state, policy)) is not None:
        job = queue.pop(0)
        starts.append(Start(job.id, placement))
        ends.append(ExpectedEnd(state.time_s + estimate_s_of(job), placement))
        state = state.after(placement)
    if len(queue) < 2:
        return starts
    begins_s, spare = _reservation(queue[0], home, PlannedIdle(state, ends), state, policy)
    for job in queue[1:]:
        ends_in_time = state.time_s + estimate_s_of(job) <= begins_s
        usable = state if ends_in_time else _with_idle(state, home, min(spare, state.idle[home]))
        placement = _placed(job, usable, policy)
        if placement is None:
            continue
        starts.append(Start(job.id, placement))
        state = state.after(placement)
        if not ends_in_time:
            spare -= placement.processors
    return starts


def _reservation(
    first: WaitingJob, home: int, plan: PlannedIdle, state: SystemState, policy: PlacementPolicy
) -> tuple[float, int]:
    """Return when the first job is expected to start, and how many processors are idle beside it then."""
    for time_s, idle in list(zip(plan.times_s, plan.idle, strict=True))[1:]:
        placement = _placed(first, _with_idle(state, home, idle[home]), policy)
        if placement is not None:
            return time_s, idle[home] - placement.processors
    return float("inf"), state.idle[home]


def _with_idle(state: SystemState, home: int, processors: int) -> SystemState:
    idle = list(state.idle)
    idle[home] = processors
    return state.with_idle(tuple(idle))


def _placed(job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> Placement | None:
    """Return the placement of a job in the cluster of its queue, or None; the policy keeps quotas and whole nodes."""
    home = 0 if job.queue is None else job.queue
    return place_where_named(fixed_request(job.request.processors, home, job.request.file), state, policy)
