"""A run, and the jobs in it, as the broker's one state-owning thread keeps them.

A run has a dilation, hence a clock of its own, and a queue discipline and a placement policy of its own. The standing
run, at dilation 1, is there from the start for jobs that belong to no measurement or campaign.

Disciplines that are never scanned decide at arrivals and departures only, but on a live system processors also come
free without either: other users of a cluster leave, a local manager counts an allocation that has ended a while longer,
an allocation is given before its event is here. While jobs wait, a run therefore looks again, soon after each decision
and ever later; what came free is put to the discipline as the departure of a job of nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from emulator.broker.looking import Looking
from emulator.broker.running import JobLife
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification, JobState, Placement, Timeline
from emulator.model.request import JobRequest
from emulator.model.topology import Topology
from emulator.model.views import ComponentView, JobView, RunRequest, RunState, RunView
from emulator.policies.admitting import Admitting
from emulator.policies.claiming import ClaimingProcedure
from emulator.policies.deciding import check_live, deciders
from emulator.policies.decisions import Decision
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline, WaitingJob


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
    life: JobLife | None = None

    @property
    def waiting(self) -> WaitingJob:
        """The job as its discipline knows it."""
        return WaitingJob(self.id, self.request, self.queue)

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
    """A run's clock, discipline, policy and jobs; `waiting_files` holds the input files of those not placed yet.

    `failure` says why nothing is decided in it any more, once its discipline or policy has failed, and `is_ending` that
    nothing is since somebody ends it; `undeparted` holds placed jobs that ended without a decision on their departure:
    while the run was ending, or right before the broker was killed.

    Raises:
        UnknownName: if the request names a policy or queue that comes neither with the testbed nor with it.
        InvalidInput: if one of them is simulated only or cannot be loaded, the queue is not scanned as asked, or the
            dilation is none.
    """

    def __init__(self, number: int, request: RunRequest, topology: Topology) -> None:
        sources = request.sources
        check_live(request.queue, request.policy, sources)
        self.id = number
        self.request = request
        self.state = RunState.PREPARING
        self.dilation = Dilation(request.dilation)
        self.clock: EmulatedClock | None = None
        self.deciders = deciders(request.queue, request.policy, request.scanning, request.seed, sources)
        self.admitting = Admitting(topology, request.queue, request.policy, request.rules, sources)
        self.jobs: dict[int, LiveJob] = {}
        self.decisions = 0
        self.failure = ""
        self.is_ending = False
        self.looking = Looking()
        self.waiting_files: dict[int, str] = {}
        self.undeparted: tuple[LiveJob, ...] = ()

    def start(self) -> EmulatedClock:
        """Set the clock to zero, now; it is not set again."""
        if self.clock is None:
            self.clock = EmulatedClock.starting_now(self.dilation)
            self.state = RunState.RUNNING
        return self.clock

    def go_on(self, host_origin_s: float) -> None:
        """Go on with the clock of a former broker, which read zero at `host_origin_s`."""
        self.clock, self.state = EmulatedClock(self.dilation, host_origin_s), RunState.RUNNING

    @property
    def discipline(self) -> QueueDiscipline:
        """Which job is next."""
        return self.deciders.discipline

    @property
    def policy(self) -> PlacementPolicy:
        """Where a job goes."""
        return self.deciders.policy

    @property
    def is_scanned(self) -> bool:
        """Whether the discipline wants a scan, or cannot say: whoever then decides on one meets the fault again."""
        try:
            return self.discipline.next_scan_s() is not None
        except InvalidInput:
            return True

    def note(self, decision: Decision) -> None:
        """A decision was made."""
        self.decisions += 1
        self.looking.note(decision, is_scanned=self.discipline.next_scan_s() is not None)

    def host_until_due_s(self) -> float | None:
        """Host seconds until the queue is to be scanned or the clusters to be looked at; None: nothing is due."""
        if self.failure or self.is_ending:
            return None
        try:
            scan_s = self.discipline.next_scan_s()
        except InvalidInput:
            return 0.0  # whoever decides what is due meets it again, and can fail the run
        if scan_s is not None:
            return self.clock.host_remaining_s(scan_s) if self.clock else None
        return self.looking.host_until_due_s()

    def add(self, job: LiveJob) -> None:
        """A job was submitted to this run, now or to a former broker."""
        self.jobs[job.id] = job
        if job.request.file is not None and job.state is JobState.QUEUED:
            self.waiting_files[job.id] = job.request.file

    def remove(self, job: LiveJob) -> None:
        """A job did not become durable, so it was never submitted."""
        self.jobs.pop(job.id, None)
        self.waiting_files.pop(job.id, None)

    def asked_by_waiting(self, job_id: int) -> int | None:
        """The processors of a job that waits for an answer; None for every other."""
        job = self.jobs.get(job_id)
        return job.request.processors if job and job.state is JobState.QUEUED and not job.answered else None

    @property
    def unfinished(self) -> list[LiveJob]:
        """The jobs that something may still happen to."""
        return [job for job in self.jobs.values() if not job.state.final]

    @property
    def placed(self) -> list[LiveJob]:
        """The jobs that have been placed and have not ended."""
        return [job for job in self.jobs.values() if job.placement is not None and not job.state.final]

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
