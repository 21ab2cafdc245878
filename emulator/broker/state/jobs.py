"""A job of the broker: its request, its state and its timestamps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from emulator.broker.jobs.execution import JobExecution
from emulator.model.job import JobSpecification, JobState, Placement, Timeline
from emulator.model.node_names import node_name
from emulator.model.request import JobRequest
from emulator.model.topology import Topology
from emulator.model.views import ComponentView, JobView
from emulator.policies.claiming_procedure import ClaimingProcedure
from emulator.policies.protocols import WaitingJob
from emulator.policies.state import RunningJob


@dataclass(slots=True)
class LiveJob:
    """A job in the broker."""

    id: int
    run: int
    specification: JobSpecification
    request: JobRequest
    timeline: Timeline
    queue: int | None = None
    intended_arrival_s: float | None = None
    state: JobState = JobState.QUEUED
    reason: str = ""
    tries: int = 0
    answered: bool = False
    placement: Placement | None = None
    claiming: ClaimingProcedure | None = None
    claiming_tries: int = 0
    claimed: dict[str, tuple[str, float]] = field(default_factory=dict)
    released_s: float | None = None
    overhead_late_s: float | None = None
    exit_code: int | None = None
    result: dict[str, Any] | None = None
    execution: JobExecution | None = None

    @property
    def waiting(self) -> WaitingJob:
        """The job as its discipline sees it."""
        return WaitingJob(self.id, self.request, self.queue)

    def running(self) -> RunningJob | None:
        """Return the placed job with its estimated end, as a discipline that plans sees it; None if it is not placed.

        Until it starts, it counts from its planned start, as in a simulation.
        """
        if self.placement is None or self.claiming is None:
            return None
        started_s = self.timeline.started_s
        start_s = self.claiming.start_s if started_s is None else started_s
        return RunningJob.since(self.id, self.placement, start_s, self.request.estimate_s)

    def view(self, topology: Topology) -> JobView:
        """Return the job as the API shows it."""
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
                    nodes=tuple(map(node_name, component.nodes)),
                    allocation=allocation,
                    claimed_s=claimed_s,
                )
            )
        return tuple(views)
