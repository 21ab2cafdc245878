"""Waiting jobs with estimates in order of arrival, grouped by equal requests, to find the next one that ends in time.

A policy's answer depends on the request and the state alone, so jobs with equal requests get the same answer in the
same state. If a policy states that it ignores estimates, requests that differ in nothing else are equal, too. In a
group, a tree over the estimates finds the first job after a given one that is estimated to end by a timestamp, or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, final

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest
from emulator.policies.protocols import PlacementPolicy, WaitingJob
from emulator.policies.queues.snapshot_codec import recalled, remembered
from emulator.policies.traits import traits_of_placement

NOWHERE: Final = -1
NO_JOB_S: Final = math.inf
"""The least estimate where there is no job; estimates are finite."""
NO_LONG_JOB_S: Final = -1.0
"""The largest estimate where there is no job; estimates are not negative."""
LEAST_SLOTS: Final = 8


def estimate_s_of(job: WaitingJob) -> float:
    """Return the user's estimate of the execution time of `job`.

    Raises:
        InvalidInput: if the job has none.
    """
    estimate_s = job.request.estimate_s
    if estimate_s is None:
        raise InvalidInput(
            f"Job {job.id}: estimate_s: this queue needs the user's estimate of each execution time, and there is none "
            "(state run_time_limit_s in a job or a campaign, or for shared nodes time_alone_s; or simulate with "
            "--estimate-factor)."
        )
    return estimate_s


@final
class EstimatedJob:
    """A waiting job, its place in the order of arrival, its estimate, and its slot in its group.

    `tries_offset` plus the passes over the queue (`EstimatedJobs.passes`) gives its placement tries.
    """

    __slots__ = ("estimate_s", "group", "job", "sequence", "slot", "tries_offset")

    def __init__(self, job: WaitingJob, sequence: int, tries_offset: int, group: EstimateGroup) -> None:
        self.job = job
        self.sequence = sequence
        self.tries_offset = tries_offset
        self.group = group
        self.estimate_s: float = estimate_s_of(job)
        self.slot: int = 0


@final
class EstimateGroup:
    """The waiting jobs with equal requests, in order of arrival, each in a leaf of a tree over their estimates."""

    __slots__ = ("_jobs", "_least_s", "_most_s", "_slots", "count", "key", "processors")

    def __init__(self, key: JobRequest) -> None:
        self.key = key
        self.processors: int = key.processors
        self.count: int = 0
        self._slots: int = LEAST_SLOTS
        self._jobs: list[EstimatedJob | None] = []
        self._least_s: list[float] = [NO_JOB_S] * (2 * LEAST_SLOTS)
        self._most_s: list[float] = [NO_LONG_JOB_S] * (2 * LEAST_SLOTS)

    def add(self, queued: EstimatedJob) -> None:
        """Add a job that arrived after all others."""
        if len(self._jobs) == self._slots:
            self._make_room()
        self._place(queued)
        self.count += 1

    def remove(self, queued: EstimatedJob) -> None:
        """Remove a job of the group."""
        self._jobs[queued.slot] = None
        self.count -= 1
        self._set(queued.slot, NO_JOB_S, NO_LONG_JOB_S)

    def last_sequence(self) -> int:
        """Return the place in the order of arrival of the last job."""
        while self._jobs:
            last = self._jobs[-1]
            if last is not None:
                return last.sequence
            self._jobs.pop()
        return NOWHERE

    def first_after(self, sequence: int, now_s: float, by_s: float, in_time: bool) -> EstimatedJob | None:
        """Return the first job after `sequence` that, if it starts at `now_s`, is estimated to end by `by_s`.

        If not `in_time`, return the first one that is estimated to end later than that. None if there is none.
        """
        slot = self._slot_after(sequence)
        if slot >= self._slots:
            return None
        node = slot + self._slots
        while not self._holds(node, now_s, by_s, in_time):
            while node % 2 == 1:
                node //= 2
            if node == 0:
                return None
            node += 1
        while node < self._slots:
            node *= 2
            if not self._holds(node, now_s, by_s, in_time):
                node += 1
        return self._jobs[node - self._slots]

    def _holds(self, node: int, now_s: float, by_s: float, in_time: bool) -> bool:
        """Return whether a job under a node of the tree is estimated to end by a timestamp, or not to."""
        if in_time:
            least_s = self._least_s[node]
            return least_s != NO_JOB_S and now_s + least_s <= by_s
        most_s = self._most_s[node]
        return most_s != NO_LONG_JOB_S and now_s + most_s > by_s

    def _slot_after(self, sequence: int) -> int:
        """Return the first slot whose job, if it has one, arrived after `sequence`."""
        low, high = 0, len(self._jobs)
        while low < high:
            middle = (low + high) // 2
            probe = middle
            while probe < high and self._jobs[probe] is None:
                probe += 1
            found = self._jobs[probe] if probe < high else None
            if found is None or found.sequence > sequence:
                high = middle
            else:
                low = probe + 1
        return low

    def _place(self, queued: EstimatedJob) -> None:
        queued.slot = len(self._jobs)
        self._jobs.append(queued)
        self._set(queued.slot, queued.estimate_s, queued.estimate_s)

    def _set(self, slot: int, least_s: float, most_s: float) -> None:
        node = slot + self._slots
        self._least_s[node] = least_s
        self._most_s[node] = most_s
        node //= 2
        while node > 0:
            left = 2 * node
            self._least_s[node] = min(self._least_s[left], self._least_s[left + 1])
            self._most_s[node] = max(self._most_s[left], self._most_s[left + 1])
            node //= 2

    def _make_room(self) -> None:
        """Move the jobs together, and double the slots unless half of them become free."""
        waiting = [queued for queued in self._jobs if queued is not None]
        while 2 * len(waiting) > self._slots:
            self._slots *= 2
        self._jobs = []
        self._least_s = [NO_JOB_S] * (2 * self._slots)
        self._most_s = [NO_LONG_JOB_S] * (2 * self._slots)
        for queued in waiting:
            self._place(queued)


@final
class EstimatedJobs:
    """The waiting jobs of a queue in order of arrival, and the tries of all of them, which `passes` counts."""

    __slots__ = ("_groups", "_ignores_estimates", "_policy", "_sequence", "jobs", "passes")

    def __init__(self) -> None:
        self.jobs: dict[int, EstimatedJob] = {}
        self.passes: int = 0
        self._groups: dict[JobRequest, EstimateGroup] = {}
        self._ignores_estimates: bool = False
        self._policy: PlacementPolicy | None = None
        self._sequence: int = 0

    def tries(self, queued: EstimatedJob) -> int:
        """Return the placement tries of a waiting job."""
        return queued.tries_offset + self.passes

    def add(self, job: WaitingJob, tries: int = 0) -> None:
        """Add a job that arrived after all others.

        Raises:
            InvalidInput: if it has no estimate.
        """
        estimate_s_of(job)
        key = _without_estimate(job.request) if self._ignores_estimates else job.request
        group = self._groups.get(key)
        if group is None:
            group = EstimateGroup(key)
            self._groups[key] = group
        queued = EstimatedJob(job, self._sequence, tries - self.passes, group)
        self._sequence += 1
        self.jobs[job.id] = queued
        group.add(queued)

    def remove(self, job_id: int) -> None:
        """Remove a job, if it waits."""
        queued = self.jobs.pop(job_id, None)
        if queued is None:
            return
        group = queued.group
        group.remove(queued)
        if group.count == 0:
            del self._groups[group.key]

    def up_to(self, processors: int) -> Iterator[EstimateGroup]:
        """Return the groups of jobs that need at most this number of processors."""
        return iter([group for group in self._groups.values() if group.processors <= processors])

    def last_up_to(self, processors: int) -> int:
        """Return the place in the order of arrival of the last job that needs at most this number of processors."""
        last = NOWHERE
        for group in self._groups.values():
            if group.processors <= processors:
                last = max(last, group.last_sequence())
        return last

    def note_policy(self, policy: PlacementPolicy) -> None:
        """Group the jobs anew if `policy` distinguishes other requests than the policy before."""
        if policy is self._policy:
            return
        self._policy = policy
        ignores = traits_of_placement(policy).ignores_estimates
        if ignores == self._ignores_estimates:
            return
        self._ignores_estimates = ignores
        waiting = [(queued.job, self.tries(queued)) for queued in self.jobs.values()]
        self.jobs, self._groups = {}, {}
        for job, tries in waiting:
            self.add(job, tries)

    def snapshot(self) -> dict[str, Any]:
        """Return the waiting jobs and their tries as plain values."""
        return {"jobs": [remembered(queued.job) | {"tries": self.tries(queued)} for queued in self.jobs.values()]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the jobs that `snapshot` describes."""
        self.jobs, self._groups = {}, {}
        for job in snapshot["jobs"]:
            self.add(recalled(job), job["tries"])


def _without_estimate(request: JobRequest) -> JobRequest:
    return JobRequest(
        request.kind,
        request.components,
        request.clusters,
        request.least_component,
        request.most_components,
        request.splits,
        request.file,
        None,
        request.memory_bytes,
        request.processor_share,
    )
