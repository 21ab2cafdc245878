"""Visiting rounds, the common part of GS, LS, GP and LP: enabled queues are visited until all are disabled.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2. A queue is enabled or disabled, and
all queues are disabled between decisions. Scheduling runs only at a departure and at an arrival to an empty queue. At a
departure the discipline enables some non-empty queues in some order. They are visited round by round, with at most one
start per queue and round. A queue is disabled until a later departure when its head does not fit, or when its last job
starts. An arrival to an empty queue enables only that queue, unless the discipline forbids it.

A discipline overrides the methods under "Decisions of a discipline". They give the number of queues, the queue that a
job joins, the clusters on which the jobs of a queue may run, the queues that a departure enables and their order, and
the queues that join when another becomes empty. The paper does not treat withdrawals. Here the withdrawal of a head
counts as the arrival of the next job to an empty queue, so it enables only that queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from numpy.random import Generator

from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement
from emulator.policies.placement.fixed import fixed_request, place_where_named
from emulator.policies.placement.worst_fit_distinct import WorstFitDistinct
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
from emulator.policies.queues.job_queue import JobQueue
from emulator.policies.state import SystemState

ANYWHERE: Final = -1
"""The home cluster of jobs that may run on all clusters, where the placement policy chooses."""


class VisitingDiscipline:
    """Queues of waiting jobs, and the rounds in which their heads are tried.

    Its class attributes are traits, which `QueueTraits` explains.
    """

    has_local_queues: ClassVar[bool] = False
    has_local_queues_only: ClassVar[bool] = False
    places_singles_at_home: ClassVar[bool] = False

    def __init__(self) -> None:
        self._queues: list[JobQueue] = []
        self._by_index: list[int] = []
        self._clusters: int = 0

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Return the starts that `event` makes possible.

        Raises:
            InvalidInput: if an arriving job lacks the queue that this discipline needs.
        """
        if not self._queues:
            self._open_queues(len(state.processors))
        if isinstance(event, Arrival):
            return self._arrive(event.job, state, policy)
        if isinstance(event, Departure):
            return self._visit(self._enabled_at(event, rng), state, policy)
        return self._withdraw(event.job_id, state, policy) if isinstance(event, Withdrawal) else []

    def next_scan_s(self) -> float | None:
        """Return None, because this discipline acts only at arrivals and departures."""
        return None

    def waiting(self) -> Sequence[int]:
        """Return the identities of the waiting jobs, queue by queue, head first."""
        return [job.id for queue in self._queues for job in queue.jobs()]

    def could_start(self, job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> bool:
        """Return whether `job` would start in `state` if no other job were waiting.

        Raises:
            InvalidInput: if the job lacks the queue that this discipline needs.
        """
        if not self._queues:
            self._open_queues(len(state.processors))
        return self._place(job, self._queue_of(job), state, policy) is not None

    def snapshot(self) -> dict[str, Any]:
        """Return the queues and the tries of their heads as plain values."""
        return {"clusters": self._clusters, "queues": [queue.snapshot() for queue in self._queues]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        self._clusters = snapshot["clusters"]
        self._queues = [JobQueue.restored(queue) for queue in snapshot["queues"]]
        self._by_index = list(range(len(self._queues)))

    # Decisions of a discipline.

    def _number_of_queues(self, clusters: int) -> int:
        """Return the number of queues in a system of `clusters` clusters."""
        return 1

    def _queue_of(self, job: WaitingJob) -> int:
        """Return the index of the queue that a job joins."""
        return 0

    def _home_of(self, job: WaitingJob, queue: int) -> int:
        """Return the only cluster on which `job` of `queue` may run, or `ANYWHERE`."""
        return ANYWHERE

    def _enabled_at(self, departure: Departure, rng: Generator) -> list[int]:
        """Return the non-empty queues that a departure enables, in visiting order."""
        return self._non_empty(self._by_index)

    def _may_try_arrival(self, queue: int) -> bool:
        """Return whether an arrival to this empty queue enables the queue."""
        return True

    def _joining(self, emptied: int) -> list[int]:
        """Return the queues that join at the end of the round because queue `emptied` has become empty."""
        return []

    def _note_disabled(self, queue: int) -> None:
        """Note that a queue has been disabled."""

    # Common to all disciplines.

    def _open_queues(self, clusters: int) -> None:
        self._clusters = clusters
        self._queues = [JobQueue() for _ in range(self._number_of_queues(clusters))]
        self._by_index = list(range(len(self._queues)))

    def _non_empty(self, queues: list[int]) -> list[int]:
        return [queue for queue in queues if self._queues[queue].waiting]

    def _submission_queue(self, job: WaitingJob) -> int:
        """Return the index of the queue that a job was submitted to, in a system with one queue per cluster.

        Raises:
            InvalidInput: if there is no such queue.
        """
        if job.queue is None or not 0 <= job.queue < self._clusters:
            named = "names no queue" if job.queue is None else f"was submitted to queue {job.queue}"
            raise InvalidInput(
                f"Job {job.id} {named}, but there is one queue per cluster: give it one from 0 to {self._clusters - 1}."
            )
        return job.queue

    def _arrive(self, job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> Sequence[Start]:
        queue = self._queue_of(job)
        jobs = self._queues[queue]
        jobs.append(job)
        if jobs.waiting > 1 or not self._may_try_arrival(queue):
            return []
        start = self._start_head(queue, state, policy)
        self._note_disabled(queue)
        return [] if start is None else [start]

    def _visit(
        self, enabled: list[int], state: SystemState, policy: PlacementPolicy, others_join: bool = True
    ) -> Sequence[Start]:
        starts: list[Start] = []
        taken: Placement | None = None
        while enabled:
            still_enabled: list[int] = []
            # The loop appends to `enabled`, so a queue that joins is visited at the end of this round.
            for queue in enabled:
                if taken is not None:
                    state = state.after(taken)
                start = self._start_head(queue, state, policy)
                if start is None:
                    taken = None
                    self._note_disabled(queue)
                    continue
                taken = start.placement
                starts.append(start)
                if self._queues[queue].waiting:
                    still_enabled.append(queue)
                else:
                    self._note_disabled(queue)
                    if others_join:
                        enabled.extend(self._joining(queue))
            enabled = still_enabled
        return starts

    def _start_head(self, queue: int, state: SystemState, policy: PlacementPolicy) -> Start | None:
        jobs = self._queues[queue]
        job = jobs.head()
        placement = self._place(job, queue, state, policy)
        if placement is None:
            jobs.failed_tries += 1
            return None
        tries = jobs.failed_tries + 1
        jobs.leave()
        return Start(job.id, placement, tries)

    def _place(
        self, job: WaitingJob, queue: int, state: SystemState, policy: WorstFitDistinct | PlacementPolicy
    ) -> Placement | None:
        # `WorstFitDistinct`, the policy of all published studies, is in the type because mypyc calls it faster so.
        request = job.request
        home = self._home_of(job, queue)
        if home == ANYWHERE:
            return place_where_named(request, state, policy) if request.clusters else policy.place(request, state)
        size = request.components[0]
        if state.idle_at(home) < size:
            return None
        return place_where_named(fixed_request(size, home, request.file), state, policy)

    def _withdraw(self, job_id: int, state: SystemState, policy: PlacementPolicy) -> Sequence[Start]:
        for queue, jobs in enumerate(self._queues):
            was_head = jobs.waiting > 0 and jobs.head().id == job_id
            if jobs.withdraw(job_id):
                enabled = was_head and jobs.waiting > 0 and self._may_try_arrival(queue)
                return self._visit([queue], state, policy, others_join=False) if enabled else []
        return []
