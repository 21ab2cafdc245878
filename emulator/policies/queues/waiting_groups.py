"""Waiting jobs in order of submission, grouped by equal requests, so that a scan asks a policy only what it must.

A policy's answer depends on the request and the state alone. Jobs with equal requests therefore get the same answer in
the same state, and a request that was not placed is not placed in the same state again. No policy can place a job with
more processors than are idle in all clusters together. `WaitingGroups` uses nothing else of a policy, so its answers
are those of trying every job, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import final

from emulator.model.placement import Placement
from emulator.model.request import JobRequest
from emulator.policies.placement.fixed import place_where_named
from emulator.policies.protocols import PlacementPolicy, WaitingJob
from emulator.policies.state import Surroundings, SystemState
from emulator.policies.traits import traits_of_placement


@final
class QueuedJob:
    """A waiting job, its place in the order of submission, and its group.

    `tries_offset` plus the passes over the queue (`WaitingGroups.passes`) gives its placement tries.
    """

    __slots__ = ("group", "job", "sequence", "tries_offset")

    def __init__(self, job: WaitingJob, sequence: int, tries_offset: int, group: RequestGroup) -> None:
        self.job = job
        self.sequence = sequence
        self.tries_offset = tries_offset
        self.group = group


@final
class RequestGroup:
    """The waiting jobs with one request, in order of submission, and the state in which it was last not placed."""

    __slots__ = ("failed_conditions", "failed_idle", "jobs", "processors", "request")

    def __init__(self, request: JobRequest) -> None:
        self.request = request
        self.processors: int = request.processors
        self.jobs: list[QueuedJob] = []
        self.failed_idle: tuple[int, ...] = ()
        self.failed_conditions: int = -1

    def place_after(self, sequence: int) -> int:
        """Return the place in `jobs` of the first job after `sequence`; their number if there is none."""
        low = 0
        high = len(self.jobs)
        while low < high:
            middle = (low + high) // 2
            if self.jobs[middle].sequence > sequence:
                high = middle
            else:
                low = middle + 1
        return low


@final
class WaitingGroups:
    """The waiting jobs of a placement queue, and the tries of all of them.

    `passes` counts the tries of the whole queue. `conditions` numbers all that the policy's answers depend on beside
    the idle processors: the policy itself, the surroundings and, unless the policy ignores it, the time. A group is
    found by the identity of its own request, which it keeps, and else by that request's size and value.
    """

    __slots__ = (
        "_by_identity",
        "_by_processors",
        "_conditions",
        "_ignores_time",
        "_offsets",
        "_policy",
        "_sequence",
        "_settled_conditions",
        "_settled_idle",
        "_surroundings",
        "jobs",
        "passes",
    )

    def __init__(self) -> None:
        self.jobs: dict[int, QueuedJob] = {}
        self.passes: int = 0
        self._by_processors: dict[int, dict[JobRequest, RequestGroup]] = {}
        self._by_identity: dict[int, RequestGroup] = {}
        self._offsets: int = 0
        self._sequence: int = 0
        self._conditions: int = 0
        self._ignores_time: bool = False
        self._policy: PlacementPolicy | None = None
        self._surroundings: Surroundings | None = None
        self._settled_idle: tuple[int, ...] = ()
        self._settled_conditions: int = -1

    @property
    def tries_of_all(self) -> int:
        """The sum of the tries of all waiting jobs."""
        return self._offsets + self.passes * len(self.jobs)

    def tries(self, queued: QueuedJob) -> int:
        """Return the placement tries of a waiting job."""
        return queued.tries_offset + self.passes

    def add(self, job: WaitingJob, tries: int) -> QueuedJob:
        """Add a job at the tail that has been tried `tries` times."""
        group = self._by_identity.get(id(job.request))
        if group is None:
            group = self._group_of(job.request)
        queued = QueuedJob(job, self._sequence, tries - self.passes, group)
        self._sequence += 1
        self._offsets += queued.tries_offset
        self.jobs[job.id] = queued
        group.jobs.append(queued)
        return queued

    def _group_of(self, request: JobRequest) -> RequestGroup:
        """Return the group of all requests that equal `request`; most jobs share the very object, and need no look."""
        of_size = self._by_processors.setdefault(request.processors, {})
        group = of_size.get(request)
        if group is None:
            group = RequestGroup(request)
            of_size[request] = group
            self._by_identity[id(request)] = group
        return group

    def remove(self, job_id: int) -> None:
        """Remove a job, if it waits."""
        queued = self.jobs.pop(job_id, None)
        if queued is None:
            return
        group = queued.group
        self._offsets -= queued.tries_offset
        del group.jobs[group.place_after(queued.sequence) - 1]
        if not group.jobs:
            del self._by_processors[group.processors][group.request]
            del self._by_identity[id(group.request)]

    def try_one(self, queued: QueuedJob, state: SystemState, policy: PlacementPolicy) -> Placement | None:
        """Return the placement of a waiting job in `state`, or None."""
        self._note_conditions(state, policy, True)
        placement = self._placement(queued.group, state, policy)
        if placement is None and state.idle != self._settled_idle:
            self._settled_conditions = -1
        return placement

    def try_all(self, state: SystemState, policy: PlacementPolicy) -> list[tuple[QueuedJob, Placement]]:
        """Count a try of every job, and return those that start, in order, each with its placement.

        They are no longer among the waiting jobs.
        """
        self.passes += 1
        self._note_conditions(state, policy, True)
        if self.is_settled(state.idle):
            return []
        starts = self._starts(state, policy)
        if not starts:
            self._settled_idle = state.idle
            self._settled_conditions = self._conditions
        return starts

    def is_settled(self, idle: tuple[int, ...]) -> bool:
        """Return whether every waiting job failed its try with these processors idle, and nothing else has changed."""
        return self._settled_conditions == self._conditions and self._settled_idle == idle

    def stays_settled(self, idle: tuple[int, ...]) -> bool:
        """Return whether the queue is settled and stays so while nothing but the time changes."""
        return self._ignores_time and self.is_settled(idle)

    def _starts(self, state: SystemState, policy: PlacementPolicy) -> list[tuple[QueuedJob, Placement]]:
        starts: list[tuple[QueuedJob, Placement]] = []
        free = state.total_idle
        next_jobs = [(group.jobs[0].sequence, group.jobs[0]) for group in self._up_to(free)]
        heapify(next_jobs)
        failed: list[RequestGroup] = []
        while next_jobs:
            sequence, queued = heappop(next_jobs)
            group = queued.group
            if group.processors > free:
                continue
            placement = self._placement(group, state, policy)
            failed.append(group)
            if placement is None:
                continue
            starts.append((queued, placement))
            self.remove(queued.job.id)
            state = state.after(placement)
            self._note_conditions(state, policy, False)
            free -= group.processors
            # In the new state, the later jobs of the groups that were tried in this pass are tried.
            for tried in failed:
                place = tried.place_after(sequence)
                if place < len(tried.jobs) and tried.processors <= free:
                    heappush(next_jobs, (tried.jobs[place].sequence, tried.jobs[place]))
            failed = []
        return starts

    def _up_to(self, processors: int) -> Iterator[RequestGroup]:
        return iter(
            [group for size, of_size in self._by_processors.items() if size <= processors for group in of_size.values()]
        )

    def _placement(self, group: RequestGroup, state: SystemState, policy: PlacementPolicy) -> Placement | None:
        if group.failed_conditions == self._conditions and group.failed_idle == state.idle:
            return None
        request = group.request
        placement = place_where_named(request, state, policy) if request.clusters else policy.place(request, state)
        if placement is None:
            group.failed_idle = state.idle
            group.failed_conditions = self._conditions
        return placement

    def _note_conditions(self, state: SystemState, policy: PlacementPolicy, at_event: bool) -> None:
        """Number the conditions anew if they differ from those of the last try; `at_event`, time has passed."""
        surroundings = state.surroundings
        same = policy is self._policy and (surroundings is self._surroundings or surroundings == self._surroundings)
        if same and (self._ignores_time or not at_event):
            return
        if policy is not self._policy:
            self._ignores_time = traits_of_placement(policy).ignores_time
        self._policy = policy
        self._surroundings = surroundings
        self._conditions += 1
