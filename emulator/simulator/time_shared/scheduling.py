"""The decisions of a simulation: a composition's discipline and policy on the state of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.placement import Placement
from emulator.policies.nodes.changes import Nodes, free_places, joined, without
from emulator.policies.nodes.checks import check_named_nodes
from emulator.policies.nodes.compositions import Composition
from emulator.policies.nodes.forward import ends_ahead
from emulator.policies.nodes.job_queue import NodeQueue
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.nodes.stated import within
from emulator.policies.protocols import Arrival, Departure, SchedulingEvent, Start, WaitingJob
from emulator.policies.state import Surroundings, SystemState
from workloads.shared_node_jobs import SharedNodeJob


class NodeScheduler:
    """The decisions at the arrival and the departure of jobs, and the state that they are based on."""

    def __init__(self, composition: Composition, limits: NodeLimits, nodes: Nodes) -> None:
        self._composition = composition
        self._policy = composition.policy(limits)
        self._discipline = composition.discipline()
        self._jobs: dict[int, SharedNodeJob] = {}
        self._placements: dict[int, Placement] = {}
        self._limits = composition.limits(limits)
        nodes = within(nodes, self._limits)
        places = free_places(nodes)
        self._state = SystemState(places, places, 0.0, Surroundings(nodes=nodes))
        # No composition leaves anything to chance; the interface asks for a generator.
        self._rng = numpy.random.default_rng(0)

    @property
    def nodes(self) -> Nodes:
        """The nodes of each cluster, with the tasks that they run."""
        return self._state.surroundings.nodes

    @property
    def waiting(self) -> int:
        """The number of waiting jobs."""
        return len(self._discipline.waiting())

    def check(self, jobs: Sequence[SharedNodeJob]) -> None:
        """Check that every job could start if no other ran.

        Raises:
            ImpossibleRequest: if a job could not.
            InvalidInput: if a job has no estimate, and the composition needs one, or is of a kind that the policy does
                not place.
        """
        empty = without(self._state, self._jobs)
        for job in jobs:
            if job.request.kind not in self._policy.accepts:
                raise InvalidInput(
                    f"Job {job.id}: {self._composition.name!r} does not place {job.request.kind} requests."
                )
            if self._composition.needs_estimates and job.request.estimate_s is None:
                raise InvalidInput(
                    f"Job {job.id}: estimate_s: {self._composition.name!r} needs the user's estimate of each execution "
                    "time, and there is none."
                )
            if self._policy.place(job.request, empty) is None:
                raise ImpossibleRequest(f"Job {job.id}: {_why_never(job, empty, self._limits)}.")

    def arrive(self, job: SharedNodeJob, now_s: float) -> list[Start]:
        """Return the starts that the arrival of `job` makes possible; they have happened in the state."""
        self._jobs[job.id] = job
        return self._decide(Arrival(WaitingJob(job.id, job.request)), now_s)

    def depart(self, job: int, now_s: float) -> list[Start]:
        """Return the starts that the departure of `job` makes possible; they have happened in the state."""
        self._state = without(self._state, {job})
        return self._decide(Departure(job, self._placements.pop(job)), now_s)

    def expected_end_s(self, job: int, now_s: float) -> float | None:
        """Return when a running job is expected to end, by the estimator; None if the discipline does not follow it."""
        if not isinstance(self._discipline, NodeQueue):
            return None
        for ahead in ends_ahead(self._state, self._discipline.left_s):
            if job in ahead.jobs:
                return now_s + ahead.after_s
        return None

    def _decide(self, event: SchedulingEvent, now_s: float) -> list[Start]:
        state = SystemState(self._state.processors, self._state.idle, now_s, self._state.surroundings)
        starts: list[Start] = []
        for answer in self._discipline.decide(event, state, self._policy, self._rng):
            if isinstance(answer, Start):
                job, nodes = self._jobs[answer.job_id], self._state.surroundings.nodes
                check_named_nodes(self._composition.nodes, job.request, answer.placement, nodes)
                self._state = joined(self._state, job.id, job.request, answer.placement)
                self._placements[job.id] = answer.placement
                starts.append(answer)
        return starts


def _why_never(job: SharedNodeJob, empty: SystemState, limits: NodeLimits) -> str:
    nodes: list[Any] = [node for of_cluster in empty.surroundings.nodes for node in of_cluster]
    largest = max(node.memory_bytes for node in nodes)
    if job.request.memory_bytes > largest:
        return (
            f"memory_bytes: a task needs {job.request.memory_bytes} bytes of memory, more than any node has ({largest})"
        )
    share, most = job.request.processor_share, limits.most_processor_share
    if most is not None and share > most:
        return (
            f"processor_share: a task alone uses {share:.0%} of a processor, more than the {most:.0%} that all tasks "
            "on a node may use together (state a larger --most-processor-share)"
        )
    return (
        f"{job.tasks} tasks of {job.request.memory_bytes} bytes of memory and {job.request.processor_share:.0%} of a "
        f"processor never fit: there are {len(nodes)} nodes, some of which local users share, within the stated limits"
    )
