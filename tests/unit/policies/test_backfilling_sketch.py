"""A sketch, for the tests only: the interfaces carry backfilling on nodes that run several jobs each.

The 3DBackfilling paper separates which nodes a job gets from which job is next. Here the first is a placement policy
that reads the nodes' memory and local users from the state and names nodes in its placement; the second is a discipline
that reads the running jobs' estimated ends from it, reserves for the head the earliest of them at which its nodes are
free, and starts later jobs that do not delay it. Neither needs anything that the interfaces do not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.protocols import Arrival, Departure, PlacementPolicy, QueueDiscipline, Start, WaitingJob
from emulator.policies.state import NodeState, RunningJob, Surroundings, SystemState

GIGABYTE = 10**9
SHARE_BESIDE_LOCAL_USERS = 0.5


class NormalNodes:
    """One task a node, on the nodes with most free memory that run fewer than `most_jobs` jobs (MPL).

    Where local users work, parallel jobs may use half of the memory only: the social contract.
    """

    accepts = frozenset({RequestKind.TOTAL})

    def __init__(self, most_jobs: int) -> None:
        self.most_jobs = most_jobs

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        nodes = state.surroundings.nodes[0]
        eligible = [index for index, node in enumerate(nodes) if self._may_join(node, request)]
        ranked = sorted(eligible, key=lambda index: (-nodes[index].free_memory_bytes, len(nodes[index].jobs)))
        chosen = tuple(ranked[: request.processors])
        return Placement((Component(0, len(chosen), chosen),)) if len(chosen) == request.processors else None

    def _may_join(self, node: NodeState, request: JobRequest) -> bool:
        share = SHARE_BESIDE_LOCAL_USERS if node.local_share > 0 else 1.0
        return len(node.jobs) < self.most_jobs and request.memory_bytes <= share * node.free_memory_bytes


def joined(state: SystemState, job: int, request: JobRequest, placement: Placement, time_s: float) -> SystemState:
    """The state with `job` on the nodes of its placement."""
    nodes = list(state.surroundings.nodes[0])
    for index in placement.components[0].nodes:
        node = nodes[index]
        free = node.free_memory_bytes - request.memory_bytes
        nodes[index] = replace(node, jobs=(*node.jobs, job), free_memory_bytes=free)
    running = RunningJob(job, placement, time_s, time_s + request.estimate_s)
    surroundings = replace(state.surroundings, nodes=(tuple(nodes),), running=(*state.surroundings.running, running))
    return SystemState(state.processors, state.idle, state.time_s, surroundings)


def without(state: SystemState, gone: Sequence[RunningJob], memory_bytes: int) -> SystemState:
    """The state once the jobs `gone` have left; the sketch's jobs all need the same memory."""
    ids = {job.id for job in gone}
    nodes = tuple(
        replace(
            node,
            jobs=tuple(job for job in node.jobs if job not in ids),
            free_memory_bytes=node.free_memory_bytes + memory_bytes * len(ids.intersection(node.jobs)),
        )
        for node in state.surroundings.nodes[0]
    )
    running = tuple(job for job in state.surroundings.running if job.id not in ids)
    surroundings = replace(state.surroundings, nodes=(nodes,), running=running)
    return SystemState(state.processors, state.idle, state.time_s, surroundings)


class Backfill:
    """EASY: the head has a reservation at the earliest estimated end at which its node policy succeeds."""

    needs_running_jobs = True

    def __init__(self) -> None:
        self._jobs: list[WaitingJob] = []

    def decide(self, event, state, policy, rng) -> Sequence[Start]:
        if isinstance(event, Arrival):
            self._jobs.append(event.job)
        starts: list[Start] = []
        while self._jobs:
            start = self._next_start(state, policy)
            if start is None:
                break
            job = next(job for job in self._jobs if job.id == start.job_id)
            self._jobs.remove(job)
            state = joined(state, job.id, job.request, start.placement, state.time_s)
            starts.append(start)
        return starts

    def _next_start(self, state: SystemState, policy: PlacementPolicy) -> Start | None:
        head = self._jobs[0]
        placement = policy.place(head.request, state)
        if placement is not None:
            return Start(head.id, placement)
        reserved_s = self._reservation_s(head, state, policy)
        for job in self._jobs[1:]:
            placement = policy.place(job.request, state)
            if placement is not None:
                with_job = joined(state, job.id, job.request, placement, state.time_s)
                if self._reservation_s(head, with_job, policy) <= reserved_s:
                    return Start(job.id, placement)
        return None

    def _reservation_s(self, head: WaitingJob, state: SystemState, policy: PlacementPolicy) -> float:
        for running in sorted(state.surroundings.running, key=lambda job: job.estimated_end_s):
            gone = [job for job in state.surroundings.running if job.estimated_end_s <= running.estimated_end_s]
            if policy.place(head.request, without(state, gone, head.request.memory_bytes)) is not None:
                return running.estimated_end_s
        return float("inf")

    def next_scan_s(self) -> float | None:
        return None

    def waiting(self) -> Sequence[int]:
        return [job.id for job in self._jobs]

    def snapshot(self) -> dict:
        return {}

    def restore(self, snapshot: dict) -> None:
        self._jobs = []


def four_nodes(**of_first) -> SystemState:
    idle = NodeState(processors=1, free_memory_bytes=GIGABYTE)
    nodes = (replace(idle, **of_first), idle, idle, idle)
    return SystemState((4,), (4,), 0.0, Surroundings(nodes=(nodes,)))


def job(number: int, tasks: int, estimate_s: float) -> WaitingJob:
    request = JobRequest(RequestKind.TOTAL, (tasks,), estimate_s=estimate_s, memory_bytes=300 * 10**6)
    return WaitingJob(number, request)


def decide(discipline: QueueDiscipline, event, state, most_jobs=1):
    return list(discipline.decide(event, state, NormalNodes(most_jobs), numpy.random.default_rng(0)))


def started(discipline, state, waiting, most_jobs=1):
    """Let `waiting` arrive; the starts, and the state they leave."""
    starts = []
    for arriving in waiting:
        for start in decide(discipline, Arrival(arriving), state, most_jobs):
            request = next(job.request for job in waiting if job.id == start.job_id)
            state = joined(state, start.job_id, request, start.placement, state.time_s)
            starts.append(start.job_id)
    return starts, state


def test_a_later_job_starts_if_it_does_not_delay_the_head():
    """Job 1 holds three nodes until 10; the head wants four then. A job of 8 s fits before, one of 12 s does not."""
    starts, _ = started(Backfill(), four_nodes(), [job(1, 3, 10), job(2, 4, 5), job(3, 1, 8)])
    assert starts == [1, 3]
    starts, _ = started(Backfill(), four_nodes(), [job(1, 3, 10), job(2, 4, 5), job(3, 1, 12)])
    assert starts == [1]


def test_several_jobs_share_a_node_as_far_as_its_memory_and_its_local_users_allow():
    starts, state = started(Backfill(), four_nodes(), [job(number, 4, 10) for number in range(5)], most_jobs=4)
    assert starts == [0, 1, 2], "three tasks of 300 MB fill the gigabyte of a node"
    assert [len(node.jobs) for node in state.surroundings.nodes[0]] == [3, 3, 3, 3]
    busy = four_nodes(local_share=0.2, local_memory_bytes=10**8)
    starts, _ = started(Backfill(), busy, [job(number, 4, 10) for number in range(5)], most_jobs=4)
    assert starts == [0, 1], "beside a local user half of the free memory is the users' own"


def test_a_departure_starts_the_head():
    discipline = Backfill()
    starts, state = started(discipline, four_nodes(), [job(1, 3, 10), job(2, 4, 5)])
    gone = state.surroundings.running
    state = without(state, gone, 300 * 10**6)
    (start,) = decide(discipline, Departure(1, gone[0].placement), state)
    assert (starts, start.job_id, start.placement.components[0].nodes) == ([1], 2, (0, 1, 2, 3))
