"""A job from decision to end: the discipline is asked, placements become jobs' lives, and lives report back.

All methods run on the broker's loop. Nothing here knows of the API.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from emulator.broker import placing
from emulator.broker.journal import Journal
from emulator.broker.loop import Loop
from emulator.broker.placing import Occupancies, system_state
from emulator.broker.programs import command_line
from emulator.broker.running import AllClaimed, ComponentClaimed, Ended, Errand, JobLife, LifeEvent, Started
from emulator.broker.runs import LiveJob, Run
from emulator.clusters.protocol import AllocationEvent, LocalResourceManager
from emulator.model.job import JobSpecification, JobState
from emulator.model.settings import BrokerSettings
from emulator.model.topology import Topology
from emulator.model.views import EventKind, JobView
from emulator.policies.protocols import Arrival, Departure, Reject, SchedulingEvent, Start
from emulator.policies.state import SystemState

FINAL_EVENTS = {
    JobState.FINISHED: EventKind.FINISHED,
    JobState.FAILED: EventKind.FAILED,
    JobState.CANCELLED: EventKind.CANCELLED,
}


class Scheduling:
    """Decides with a run's discipline and policy, and carries the answers out on `managers`."""

    def __init__(
        self,
        topology: Topology,
        managers: Sequence[LocalResourceManager],
        settings: BrokerSettings,
        journal: Journal,
    ) -> None:
        self._topology = topology
        self._managers = managers
        self._settings = settings
        self._journal = journal
        self.occupancies = Occupancies(managers)
        self._claims: dict[str, LiveJob] = {}
        self._lost: dict[str, str] = {manager.cluster: "not reached yet" for manager in managers}
        self._post: Callable[[Callable[[], object]], None] = lambda work: None

    def open(self, loop: Loop) -> None:
        """Report to `loop` from now on."""
        self._post = loop.post

    def decide(self, run: Run, event: SchedulingEvent) -> None:
        """Ask the discipline about `event` on the clusters' present occupancy, and do what it answers."""
        state = self._state(run)
        self._carry_out(run, self._decided(run, event, state), state.time_s)

    def decide_arrivals(self, run: Run, jobs: Sequence[LiveJob]) -> None:
        """Ask the discipline about jobs that arrived together, one after another, on one reading of the clusters."""
        state = self._state(run)
        answers: list[Start | Reject] = []
        with self._journal.together():
            for job in jobs:
                decided = self._decided(run, Arrival(job.waiting), state)
                for answer in decided:
                    if isinstance(answer, Start):
                        state = state.after(answer.placement)
                answers += decided
        self._carry_out(run, answers, state.time_s)

    def record_submission(self, run: Run, job: LiveJob) -> JobView:
        """Write into the journal that `job` was submitted; returns the job as it is written there."""
        view = job.view(self._topology)
        self._journal.append(run.id, EventKind.SUBMITTED, job.timeline.submitted_s, view)
        return view

    def _state(self, run: Run) -> SystemState:
        # Only placed jobs can have asked for processors that they were not given yet; those that wait may be thousands.
        placed = {job.id: job for job in self._claims.values()}
        return system_state(self.occupancies.read(self._lost), list(placed.values()), self._topology, run.now_s())

    def _decided(self, run: Run, event: SchedulingEvent, state: SystemState) -> Sequence[Start | Reject]:
        answers, detail = placing.decide(run, event, state)
        self.record(run, EventKind.DECISION, detail=detail, time_s=state.time_s)
        return answers

    def _carry_out(self, run: Run, answers: Sequence[Start | Reject], time_s: float) -> None:
        for answer in answers:
            job = run.jobs[answer.job_id]
            job.tries = answer.tries
            if isinstance(answer, Start):
                self._place(run, job, answer, time_s)
            else:
                self.finish(run, job, Ended(JobState.FAILED, f"Given up: {answer.reason}."))

    def _place(self, run: Run, job: LiveJob, answer: Start, time_s: float) -> None:
        job.placement, job.state, job.timeline.placed_s = answer.placement, JobState.CLAIMING, time_s
        self.record(run, EventKind.PLACED, job)
        errand = Errand(
            label=f"{run.id}-{job.id}",
            placement=answer.placement,
            command=partial(self._command, run, job.specification, self._host_start_moment_s(run, job)),
            host_limit_s=run.dilation.host_duration_s(job.specification.run_time_limit_s),
        )
        job.life = JobLife(
            errand, self._managers, self._settings, lambda event: self._post(partial(self._on_life, run, job, event))
        )
        self._claims.update(dict.fromkeys(job.life.claim_names, job))
        job.life.begin()

    def _host_start_moment_s(self, run: Run, job: LiveJob) -> float | None:
        middleware = self._topology.middleware
        if middleware is None or not run.request.paced_middleware or job.timeline.placed_s is None:
            return None
        overhead_s = middleware.overhead_s(len(job.request.components))
        return run.clock.host_moment_s(job.timeline.placed_s + overhead_s) if run.clock else None

    def _command(
        self,
        run: Run,
        specification: JobSpecification,
        host_start_moment_s: float | None,
        part_sizes: Sequence[int],
    ) -> list[str]:
        return command_line(specification, part_sizes, self._topology, run.dilation, host_start_moment_s)

    def _on_life(self, run: Run, job: LiveJob, event: LifeEvent) -> None:
        match event:
            case ComponentClaimed(cluster, allocation, host_moment_s):
                job.claimed[cluster] = (allocation, run.moment_s(host_moment_s))
                self.record(run, EventKind.COMPONENT_CLAIMED, job, {"cluster": cluster})
            case AllClaimed(host_moment_s):
                job.state, job.timeline.claimed_s = JobState.STARTING, run.moment_s(host_moment_s)
                self.record(run, EventKind.CLAIMED, job)
            case Started(host_moment_s, host_late_s):
                job.state, job.timeline.started_s = JobState.RUNNING, run.moment_s(host_moment_s)
                job.overhead_late_s = run.dilation.emulated_duration_s(host_late_s)
                self.record(run, EventKind.STARTED, job)
            case Ended():
                job.released_s = run.now_s()
                self.finish(run, job, event)
                if job.placement is not None:
                    self.decide(run, Departure(job.id, job.placement))

    def finish(self, run: Run, job: LiveJob, ended: Ended) -> None:
        """A job has ended, and holds nothing any more."""
        job.state, job.reason, job.exit_code = ended.state, ended.reason, ended.exit_code
        job.result, job.output, job.error = ended.result, ended.output, ended.error
        if ended.host_finished_s is not None:
            job.timeline.finished_s = run.moment_s(ended.host_finished_s)
        if job.life is not None:
            for name in job.life.claim_names:
                self._claims.pop(name, None)
        self.record(run, FINAL_EVENTS[ended.state], job)

    def on_allocation(self, event: AllocationEvent) -> None:
        """Pass an allocation's event on to the job whose claim it answers."""
        job = self._claims.get(event.claim)
        if job is not None and job.life is not None:
            job.life.note(event)

    @property
    def lost(self) -> list[str]:
        """The clusters that do not answer now."""
        return list(self._lost)

    def cluster_found(self, cluster: str) -> None:
        """A cluster answers, and holds nothing of ours that we do not know of."""
        self._lost.pop(cluster, None)

    def cluster_lost(self, cluster: str, reason: str, runs: Sequence[Run]) -> None:
        """A cluster stopped answering: jobs with a component there fail, and nothing is placed there."""
        self._lost[cluster] = reason
        for run in runs:
            self.record(run, EventKind.CLUSTER_LOST, detail={"cluster": cluster, "reason": reason})
            for job in run.unfinished:
                self._end_if_on(job, cluster, reason)

    def _end_if_on(self, job: LiveJob, cluster: str, reason: str) -> None:
        index = self._topology.index(cluster)
        if job.life is not None and job.placement is not None and index in job.placement.by_cluster():
            job.life.stop(JobState.FAILED, reason)

    def record(
        self,
        run: Run,
        kind: EventKind,
        job: LiveJob | None = None,
        detail: dict[str, object] | None = None,
        time_s: float | None = None,
    ) -> None:
        """Write an event of `run` into the journal, with `job` as it now is."""
        view = job.view(self._topology) if job else None
        self._journal.append(run.id, kind, run.now_s() if time_s is None else time_s, view, detail)
