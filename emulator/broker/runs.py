"""A run, and the jobs in it, as the broker's one state-owning thread keeps them.

A run has a dilation, hence a clock of its own, and a queue discipline and a placement policy of its own. The standing
run, at dilation 1, is there from the start for jobs that belong to no measurement or campaign.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy

from emulator.broker.running import JobLife
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import UnknownName
from emulator.model.job import JobSpecification, JobState, Placement, Timeline
from emulator.model.request import JobRequest
from emulator.model.topology import Topology
from emulator.model.views import ComponentView, JobView, RunRequest, RunState, RunView
from emulator.policies.claiming import ClaimingProcedure
from emulator.policies.placement.fixed import AcceptingFixed
from emulator.policies.protocols import WaitingJob
from emulator.policies.registry import placement_policy, queue_discipline

LIVE_POLICIES = ("wf", "wf-distinct", "cm", "fcm")
LIVE_QUEUES = ("placement", "placement-adaptive", "gs")
"""What the broker runs so far: policies that need no files, and disciplines without local queues."""


@dataclass(slots=True)
class LiveJob:
    """A job in the broker."""

    id: int
    run: int
    specification: JobSpecification
    request: JobRequest
    timeline: Timeline
    intended_arrival_s: float | None = None
    state: JobState = JobState.QUEUED
    reason: str = ""
    tries: int = 0
    placement: Placement | None = None
    claiming: ClaimingProcedure | None = None
    claiming_tries: int = 0
    claimed: dict[str, tuple[str, float]] = field(default_factory=dict)
    released_s: float | None = None
    overhead_late_s: float | None = None
    exit_code: int | None = None
    result: dict[str, Any] | None = None
    life: JobLife | None = None

    @property
    def waiting(self) -> WaitingJob:
        """The job as its discipline knows it."""
        return WaitingJob(self.id, self.request)

    def unclaimed(self, topology: Topology) -> dict[int, int]:
        """Processors per cluster index that were asked of the local managers but not given yet."""
        if self.placement is None or self.state is not JobState.CLAIMING:
            return {}
        return {
            cluster: size
            for cluster, size in self.placement.by_cluster().items()
            if topology.clusters[cluster].name not in self.claimed
        }

    def view(self, topology: Topology) -> JobView:
        """The job as the API shows it."""
        timeline, claiming = self.timeline, self.claiming
        return JobView(
            id=self.id,
            run=self.run,
            specification=self.specification,
            state=self.state,
            reason=self.reason,
            placement_tries=self.tries,
            claiming_tries=self.claiming_tries,
            components=self._component_views(topology),
            intended_arrival_s=self.intended_arrival_s,
            submitted_s=timeline.submitted_s,
            placed_s=timeline.placed_s,
            estimated_transfer_s=claiming.transfer_s if claiming else None,
            claim_due_s=claiming.claim_s if claiming else None,
            planned_start_s=claiming.start_s if claiming else None,
            additional_claiming_s=claiming.additional_s if claiming else None,
            claimed_s=timeline.claimed_s,
            started_s=timeline.started_s,
            finished_s=timeline.finished_s,
            released_s=self.released_s,
            overhead_late_s=self.overhead_late_s,
            exit_code=self.exit_code,
            result=self.result,
        )

    def _component_views(self, topology: Topology) -> tuple[ComponentView, ...]:
        if self.placement is None:
            return ()
        views = []
        for component in self.placement.components:
            cluster = topology.clusters[component.cluster].name
            allocation, claimed_s = self.claimed.get(cluster, (None, None))
            views.append(
                ComponentView(
                    cluster=cluster,
                    processors=component.processors,
                    allocation=allocation,
                    claimed_s=claimed_s,
                )
            )
        return tuple(views)


class Run:
    """A run's clock, discipline, policy and jobs.

    Raises:
        UnknownName: if the request names a policy or queue that the broker does not run.
        InvalidInput: if the dilation cannot be one.
    """

    def __init__(self, number: int, request: RunRequest) -> None:
        if request.policy not in LIVE_POLICIES:
            raise UnknownName.among("live policy", request.policy, list(LIVE_POLICIES))
        if request.queue not in LIVE_QUEUES:
            raise UnknownName.among("live queue", request.queue, list(LIVE_QUEUES))
        self.id = number
        self.request = request
        self.state = RunState.PREPARING
        self.dilation = Dilation(request.dilation)
        self.clock: EmulatedClock | None = None
        self.discipline = queue_discipline(request.queue, request.scan_interval_s)
        self.policy = AcceptingFixed(placement_policy(request.policy))
        self.rng = numpy.random.default_rng(request.seed)
        self.jobs: dict[int, LiveJob] = {}
        self.decisions = 0

    def start(self) -> None:
        """Set the clock to zero, now; it is not set again."""
        if self.clock is None:
            self.clock = EmulatedClock.starting_now(self.dilation)
            self.state = RunState.RUNNING

    @property
    def unfinished(self) -> list[LiveJob]:
        """The jobs that something may still happen to."""
        return [job for job in self.jobs.values() if not job.state.final]

    def now_s(self) -> float:
        """Emulated seconds since the run's start; zero before."""
        return self.clock.now_s() if self.clock else 0.0

    def moment_s(self, host_moment_s: float) -> float:
        """Emulated seconds since the run's start at a moment of the host's wall clock."""
        return self.clock.emulated_moment_s(host_moment_s) if self.clock else 0.0

    def view(self) -> RunView:
        """The run as the API shows it."""
        origin = self.clock.host_origin_s if self.clock else None
        return RunView(id=self.id, state=self.state, request=self.request, host_origin_s=origin)
