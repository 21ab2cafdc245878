"""A job from decision to end: the discipline is asked, placements become jobs' lives, and lives report back.

All methods run on the broker's loop. Nothing here knows of the API.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final

from emulator.broker import placing
from emulator.broker.claiming import label_of
from emulator.broker.errands import Errands
from emulator.broker.files.replicas import Replicas
from emulator.broker.files.transfers import Arrived
from emulator.broker.journal import Journal
from emulator.broker.life_events import (
    AllClaimed,
    ClaimTried,
    ClaimTryFailed,
    ComponentClaimed,
    Ended,
    LifeEvent,
    Started,
)
from emulator.broker.loop import Loop
from emulator.broker.outputs import Outputs
from emulator.broker.placing import Occupancies, nothing_idle, system_state
from emulator.broker.running import JobLife
from emulator.broker.runs import LiveJob, Run
from emulator.clusters.protocol import AllocationEvent, AllocationEventKind, LocalResourceManager
from emulator.model.errors import InvalidInput, TestbedError
from emulator.model.job import JobState
from emulator.model.settings import BrokerSettings
from emulator.model.topology import Topology
from emulator.model.units import rate_mbit
from emulator.model.views import EventKind, JobView
from emulator.policies.claiming import ClaimingProcedure
from emulator.policies.decisions import Decision, decision_record
from emulator.policies.protocols import Arrival, Departure, Reject, Scan, SchedulingEvent, Start, Withdrawal
from emulator.policies.state import SystemState

log = logging.getLogger(__name__)
OUTPUTS_FOLDER: Final = "outputs"
"""Beside the journal."""
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
        replicas: Replicas,
    ) -> None:
        self._topology = topology
        self._managers = managers
        self._journal = journal
        self._replicas = replicas
        self.occupancies = Occupancies(managers)
        self.outputs = Outputs(settings.journal_file.parent / OUTPUTS_FOLDER)
        self._errands = Errands(topology, settings, replicas, self.outputs, self._on_file_arrived)
        self._placed: dict[str, LiveJob] = {}
        self._lost: dict[str, str] = {manager.cluster: "not reached yet" for manager in managers}
        self._post: Callable[[Callable[[], object]], None] = lambda work: None
        self._opened_host_s = time.time()

    def open(self, loop: Loop) -> None:
        """Report to `loop` from now on."""
        self._post, self._opened_host_s = loop.post, time.time()

    def decide(self, run: Run, event: SchedulingEvent) -> None:
        """Ask the discipline about `event` on the clusters' present occupancy, and do what it answers."""
        if not run.is_ending:
            self._decide_on(run, [event], self._state(run))

    def catch_up(self, run: Run) -> None:
        """Put to the discipline of `run` what it was not asked about: jobs that came, left or ended meanwhile.

        It forgets the jobs that left while no processor is idle, so that it places none of those it has yet to forget.
        """
        waiting = set(run.discipline.waiting())
        gone = [Withdrawal(number) for number in sorted(waiting) if run.jobs[number].state is not JobState.QUEUED]
        if gone:
            self._decide_on(run, gone, nothing_idle(self._topology, run.now_s()))
        departed, run.undeparted = run.undeparted, ()
        for job in departed:
            if job.placement is not None:
                self.decide(run, Departure(job.id, job.placement))
        for job in list(run.jobs.values()):
            if job.state is JobState.QUEUED and job.id not in waiting:
                self.decide(run, Arrival(job.waiting))

    def decide_arrivals(self, run: Run, jobs: Sequence[LiveJob]) -> None:
        """Ask the discipline about jobs that arrived together, one after another, on one reading of the clusters."""
        if not run.is_ending:
            self._decide_on(run, [Arrival(job.waiting) for job in jobs], self._state(run))

    def decide_due(self, run: Run) -> None:
        """Decide on what is due in `run`: a scan, or what came free without a departure of ours."""
        if run.host_until_due_s() != 0.0:
            return
        state = self._state(run)
        if run.is_scanned:
            self._decide_on(run, [Scan()], state)
        elif (freed := run.looking.freed(state)) is not None:
            self._decide_on(run, [freed], state)

    def record_submission(self, run: Run, job: LiveJob) -> JobView:
        """Write into the journal that `job` was submitted; returns the job as it is written there."""
        view = job.view(self._topology)
        self._journal.append(run.id, EventKind.SUBMITTED, job.timeline.submitted_s, view)
        return view

    def _state(self, run: Run) -> SystemState:
        surroundings = self._replicas.surroundings(set(run.waiting_files.values()), self._lost)
        occupancies = self.occupancies.read(self._lost)
        return system_state(occupancies, run.placed, self._topology, run.now_s(), surroundings)

    def _decide_on(self, run: Run, events: Sequence[SchedulingEvent], state: SystemState) -> None:
        """Decide on `events`, one after another, and do what is answered.

        The answers and what becomes of their jobs are one transaction, so that none is known that was not carried out.
        """
        if run.failure:
            self._fail_waiting(run)
            return
        decisions, failure = _decided(run, events, state)
        with self._journal.together():
            for decision in decisions:
                self.record(run, EventKind.DECISION, detail=decision_record(decision), time_s=decision.time_s)
            placed = self._carried_out(run, [answer for it in decisions for answer in it.answers], state.time_s)
            if failure:
                self._fail(run, failure)
        for job in placed:
            self._begin(run, job)

    def _fail(self, run: Run, failure: str) -> None:
        """The run's discipline or policy failed: what waits fails with it, and nothing is decided any more."""
        run.failure = failure
        self.record(run, EventKind.POLICY_FAILED, detail={"reason": failure})
        self._fail_waiting(run)

    def _fail_waiting(self, run: Run) -> None:
        for job in run.unfinished:
            if job.state is JobState.QUEUED:
                self.finish(run, job, Ended(JobState.FAILED, run.failure))

    def _carried_out(self, run: Run, answers: Sequence[Start | Reject], time_s: float) -> list[LiveJob]:
        """The jobs that are placed now; those that are given up have ended."""
        placed = []
        for answer in answers:
            job = run.jobs[answer.job_id]
            job.tries = answer.tries
            if isinstance(answer, Start):
                self._place(run, job, answer, time_s)
                placed.append(job)
            else:
                self.finish(run, job, Ended(JobState.FAILED, f"Given up: {answer.reason}."))
        return placed

    def _place(self, run: Run, job: LiveJob, answer: Start, time_s: float) -> None:
        job.placement, job.state, job.timeline.placed_s = answer.placement, JobState.CLAIMING, time_s
        run.waiting_files.pop(job.id, None)
        job.claiming = ClaimingProcedure.begun(run.request.claiming, time_s, answer.placement.transfer_s)
        self.record(run, EventKind.PLACED, job)

    def _begin(self, run: Run, job: LiveJob) -> None:
        """Begin the life of a job that is placed; one whose life cannot be made fails, and no other job with it."""
        try:
            errand = self._errands.errand(run, job)
            job.life = JobLife(
                errand, self._managers, lambda event: self._post(partial(self._on_life, run, job, event))
            )
            self._placed[errand.label] = job
            job.life.begin()
        except Exception as error:
            reason = str(error) if isinstance(error, TestbedError) else f"The broker could not begin it ({error!r})."
            log.warning("job %d could not be begun", job.id, exc_info=error)
            # Later, since other jobs of the same decision are yet to be begun before the discipline is asked again.
            self._post(partial(self.depart, run, job, Ended(JobState.FAILED, reason)))

    def _on_file_arrived(self, run: Run, job: LiveJob, arrived: Arrived) -> None:
        detail: dict[str, object] = {
            "file": arrived.file,
            "source": arrived.source,
            "target": arrived.target,
            "size_bytes": arrived.size_bytes,
            "began_s": run.moment_s(arrived.host_began_s),
            "arrived_s": run.moment_s(arrived.host_arrived_s),
            "rate_mbit": rate_mbit(arrived.bytes_per_s, 1.0),
        }
        self.record(run, EventKind.FILE_ARRIVED, job, detail)

    def _on_life(self, run: Run, job: LiveJob, event: LifeEvent) -> None:
        match event:
            case ClaimTried(procedure):
                job.claiming, job.claiming_tries = procedure, procedure.number
            case ClaimTryFailed(cluster, reason, procedure):
                self._on_claim_failed(run, job, cluster, reason, procedure)
            case ComponentClaimed(cluster, allocation, host_moment_s):
                job.claimed[cluster] = (allocation, run.moment_s(host_moment_s))
                self.record(run, EventKind.COMPONENT_CLAIMED, job, {"cluster": cluster})
            case AllClaimed(host_moment_s):
                job.state, job.timeline.claimed_s = JobState.STARTING, run.moment_s(host_moment_s)
                self.record(run, EventKind.CLAIMED, job)
                run.looking.soon()
            case Started(host_moment_s, host_late_s):
                job.state, job.timeline.started_s = JobState.RUNNING, run.moment_s(host_moment_s)
                job.overhead_late_s = run.dilation.emulated_duration_s(host_late_s)
                self.record(run, EventKind.STARTED, job)
            case Ended():
                self.depart(run, job, event)

    def resume(self, run: Run, job: LiveJob) -> None:
        """Claim again, at the same placement, what a former broker was claiming for `job`; nothing of it is held."""
        if job.claimed:
            reason = "The broker was killed while it claimed; all is released, and claimed again."
            self._on_claim_failed(run, job, next(iter(job.claimed)), reason, job.claiming)
        self._begin(run, job)

    def depart(self, run: Run, job: LiveJob, ended: Ended) -> None:
        """A placed job has ended, and what it held is released."""
        job.released_s = run.now_s()
        self.finish(run, job, ended)
        if run.is_ending:
            run.undeparted = (*run.undeparted, job)
        elif job.placement is not None:
            self.decide(run, Departure(job.id, job.placement))

    def _on_claim_failed(
        self, run: Run, job: LiveJob, cluster: str, reason: str, procedure: ClaimingProcedure | None
    ) -> None:
        """Nothing of the job is claimed any more; it keeps its placement, and `procedure` says when it tries again.

        The event holds what had been claimed, since that was held for nothing until now.
        """
        job.claiming = procedure or job.claiming
        detail: dict[str, object] = {"cluster": cluster, "reason": reason, "claiming_try": job.claiming_tries}
        self.record(run, EventKind.CLAIM_FAILED, job, detail)
        job.claimed = {}

    def finish(self, run: Run, job: LiveJob, ended: Ended) -> None:
        """A job has ended, and holds nothing any more."""
        job.state, job.reason, job.exit_code = ended.state, ended.reason, ended.exit_code
        job.result = ended.result
        if ended.host_finished_s is not None:
            job.timeline.finished_s = run.moment_s(ended.host_finished_s)
        if job.life is not None:
            self._placed.pop(job.life.label, None)
        self.outputs.ended(job.id)
        run.waiting_files.pop(job.id, None)
        try:
            self._replicas.let_go(job.id)
        except sqlite3.Error:
            # What it used is swept when the broker is started anew; the job has ended all the same.
            log.exception("the files of job %d could not be let go of", job.id)
        self.record(run, FINAL_EVENTS[ended.state], job)

    def on_allocation(self, manager: LocalResourceManager, event: AllocationEvent) -> None:
        """Pass an event of `manager` on to the job whose claim it answers; what nobody claims is released."""
        job = self._placed.get(label_of(event.claim))
        if job is not None and job.life is not None and job.life.note(event):
            return
        if event.kind is AllocationEventKind.CLAIMED and event.host_moment_s > self._opened_host_s:
            # Asked for by a broker that was killed before the answer came, and made only after we had swept.
            threading.Thread(target=_release, args=(manager, event.allocation), daemon=True).start()

    @property
    def lost(self) -> list[str]:
        """The clusters that do not answer now."""
        return list(self._lost)

    def cluster_found(self, cluster: str) -> None:
        """A cluster answers, and holds nothing of ours that we do not know of."""
        self._lost.pop(cluster, None)

    def files_lost(self, names: Collection[str], runs: Sequence[Run]) -> None:
        """Files are at no site any more: jobs that wait and need one of them fail."""
        for run in runs:
            for number, name in list(run.waiting_files.items()):
                if name in names:
                    reason = f"Its input file {name!r} is at no site any more."
                    self.finish(run, run.jobs[number], Ended(JobState.FAILED, reason))
                    self.decide(run, Withdrawal(number))

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


def _release(manager: LocalResourceManager, allocation: str) -> None:
    with contextlib.suppress(TestbedError):
        manager.release(allocation)


def _decided(run: Run, events: Sequence[SchedulingEvent], state: SystemState) -> tuple[list[Decision], str]:
    """The decisions on `events`, each on what those before it left, until the run's own code fails: then also why."""
    decisions: list[Decision] = []
    for event in events:
        try:
            decision = placing.decide(run, event, state)
        except InvalidInput as error:
            return decisions, str(error)
        decisions.append(decision)
        for answer in decision.answers:
            if isinstance(answer, Start):
                state = state.after(answer.placement)
    return decisions, ""
