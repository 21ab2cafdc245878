"""Job admission: the kind of request, the run's rules, the queue, and whether the job could ever start.

The broker checks a job when it is submitted. A campaign checks all its jobs before it begins, so impossible jobs are
reported before the testbed is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.job import JobSpecification
from emulator.model.request import JobRequest
from emulator.model.rules import StatedRules
from emulator.model.scheduling import Scanning
from emulator.model.topology import Topology
from emulator.policies.factory import check_nodes, deciders
from emulator.policies.feasibility import Feasibility
from emulator.policies.nodes.stated import empty_nodes, stated_limits
from emulator.policies.protocols import PlacementPolicy, WaitingJob
from emulator.policies.state import NOTHING_ELSE, Surroundings
from emulator.policies.traits import traits_of_placement, traits_of_queue


class AskedForAdmission(Protocol):
    """A discipline and a policy that are asked whether jobs could start, and never schedule any."""

    @property
    def discipline(self) -> Any:
        """The queue discipline."""
        ...

    @property
    def policy(self) -> PlacementPolicy:
        """The placement policy."""
        ...


class Admitting:
    """The admission check of a run on `topology` under a queue, a policy, a `quota` and rules.

    `sources` holds the source text of a researcher's own policy files, by file name. `asked` replaces the discipline
    and the policy that are otherwise made here, from these names. `chooses_nodes` says whether the policy does so.

    Raises:
        UnknownName: if there is no such queue or policy.
        InvalidInput: if the policy chooses nodes and the queue does not go with it, or the other way round, or nodes
            are chosen that are not shared in time.
    """

    def __init__(
        self,
        topology: Topology,
        queue: str,
        policy: str,
        rules: StatedRules,
        sources: Mapping[str, str] | None = None,
        quota: float | None = None,
        asked: AskedForAdmission | None = None,
    ) -> None:
        together, limits = topology.processors_taken_together, stated_limits(topology)
        made = asked or deciders(queue, policy, Scanning(), 0, sources, quota, together, limits)
        self.chooses_nodes = traits_of_placement(made.policy).chooses_nodes
        check_nodes(queue, policy, topology, chooses=self.chooses_nodes)
        self._topology = topology
        self._queue = queue
        self._policy = policy
        self._rules = rules.on(topology)
        self._takes = made.policy.accepts
        self._nodes = empty_nodes(topology) if self.chooses_nodes else ()
        self._most_memory_mb = _most_memory_mb(topology)
        self._feasibility = Feasibility(
            [cluster.processors for cluster in topology.clusters], made.discipline, made.policy
        )
        self.traits = traits_of_queue(made.discipline)

    def admit(
        self, number: int, specification: JobSpecification, surroundings: Surroundings = NOTHING_ELSE
    ) -> WaitingJob:
        """Check a job and return it as the discipline sees it, with `number` as its identity.

        `surroundings` must contain the job's input file, if it has one.

        Raises:
            UnknownName: if the job names a cluster that does not exist.
            InvalidInput: if the run does not accept such a job; the message names the field.
            ImpossibleRequest: if the job could never start.
        """
        request, queue = specification.request_in(self._topology), specification.queue_in(self._topology)
        stays = self.traits.places_singles_at_home and request.single_component
        if request.kind not in self._takes and not stays:
            raise InvalidInput(
                f"request: policy {self._policy!r} does not place {request.kind} requests "
                f"(it places {', '.join(sorted(self._takes))})."
            )
        self._rules.check_request(request)
        self._check_queue(request, queue)
        job = WaitingJob(number, request, queue)
        self._feasibility.check(job, request.components, replace(surroundings, nodes=self._nodes))
        if specification.memory_mb > self._most_memory_mb:
            raise ImpossibleRequest(
                f"Job {number}: memory_mb: no node can hold a task of {specification.memory_mb:g} MB: those of "
                f"{self._topology.name!r} have {self._most_memory_mb:g} MB at most."
            )
        return job

    def _check_queue(self, request: JobRequest, queue: int | None) -> None:
        if queue is not None and not self.traits.has_queue_per_cluster:
            raise InvalidInput(f"queue: {self._queue!r} has one queue for all jobs, so leave this out.")
        of_single = self.traits.has_queue_per_cluster and request.single_component
        if queue is None and (self.traits.has_local_queues_only or of_single):
            raise InvalidInput(
                f"queue: {self._queue!r} has a queue per cluster, so name the one that the job is submitted to "
                f"({', '.join(self._topology.cluster_names)})."
            )


def _most_memory_mb(topology: Topology) -> float:
    """Return the memory that a task may hold on the node that gives most; infinite if a cluster counts none."""
    if topology.time_sharing is None:
        return math.inf
    most_mb: list[float] = []
    for cluster in topology.clusters:
        if cluster.node_memory_mb is None:
            return math.inf
        beside_users_mb = topology.time_sharing.memory_beside_users_mb(cluster.node_memory_mb, cluster.local_users)
        most_mb += beside_users_mb.values()
        if len(beside_users_mb) < cluster.nodes:
            most_mb.append(cluster.node_memory_mb)
    return max(most_mb)
