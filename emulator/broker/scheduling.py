"""Scheduling: the discipline is asked about each event, and its answers are carried out.

An arrival or departure first waits for readings of the clusters (`readings`, `pending`); `decide_due` then asks the
discipline. All methods run on the broker's loop. Nothing here knows of the API.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from emulator.broker.decision import (
    decide_all,
    defect,
    nothing_idle,
    system_state,
    waiting_in,
    with_history,
    with_shared_nodes,
)
from emulator.broker.files.replicas import Replicas
from emulator.broker.jobs.reports import Ended, GivenBack
from emulator.broker.jobs.supervisor import JobSupervisor
from emulator.broker.readings import MOST_AGE_HOST_S, Grants, Readings
from emulator.broker.state.changes import Changes
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.journal import Journal
from emulator.broker.state.recording import EventRecorder
from emulator.broker.state.restore import restore_decisions
from emulator.broker.state.runs import Run
from emulator.clusters.protocol import LocalResourceManager
from emulator.model.errors import InvalidInput, JournalFailed
from emulator.model.job import JobState
from emulator.model.settings import BrokerSettings
from emulator.model.topology import Topology
from emulator.model.views import EventKind
from emulator.policies.claiming_procedure import ClaimingProcedure
from emulator.policies.decisions import Decision, decision_record
from emulator.policies.protocols import Arrival, Departure, Reject, Scan, SchedulingEvent, Start, Withdrawal
from emulator.policies.state import SystemState

log = logging.getLogger(__name__)
SILENT = (
    "Cluster {cluster!r} has not said for {age_s:g} s how many of its processors are idle, so no job is placed there "
    "until it does."
)


class Scheduling:
    """The scheduling of runs: discipline and policy decide, and `supervisor` launches the jobs that are placed."""

    def __init__(
        self,
        topology: Topology,
        managers: Sequence[LocalResourceManager],
        settings: BrokerSettings,
        journal: Journal,
        replicas: Replicas,
    ) -> None:
        self._topology = topology
        self._clusters = len(managers)
        self._journal = journal
        self._replicas = replicas
        self.changes = Changes(journal)
        self.recorder = EventRecorder(topology, journal)
        self.supervisor = JobSupervisor(
            topology, managers, settings, replicas, self.recorder, self.changes, self.depart, self.place_again
        )
        self.readings = Readings(managers)
        self._round = 0
        self._post: Callable[[Callable[[], object]], None] = lambda work: None
        self._runs: Callable[[], Sequence[Run]] = list
        self._end_runs_if_empty: Callable[[], object] = lambda: None
        self._lost: dict[str, str] = {manager.cluster: "not reached yet" for manager in managers}

    def open(
        self,
        post: Callable[[Callable[[], object]], None],
        runs: Callable[[], Sequence[Run]],
        end_runs_if_empty: Callable[[], object],
    ) -> None:
        """Hand what other threads report to the loop by `post` from now on.

        `runs` returns the running runs; `end_runs_if_empty` is called when a job of a run that is being ended ends.
        """
        self._post, self._runs, self._end_runs_if_empty = post, runs, end_runs_if_empty
        self.supervisor.open(self.post_in_time)
        self.readings.open(post, self._grants)

    def post_in_time(self, work: Callable[[], object]) -> None:
        """Hand `work` to the loop, which does it once the journal can be written."""
        self._post(partial(self.changes.do_in_time, work))

    def decide(self, run: Run, event: Arrival | Departure) -> None:
        """Have the discipline asked about `event` as soon as the clusters have been read.

        A departure needs readings that begin now; an arrival joins those that are under way.
        """
        if not run.is_ending and not run.is_behind:
            run.pending.add([event], self.readings.ask() if isinstance(event, Departure) else self._round_under_way())

    def withdraw(self, run: Run, job_id: int) -> None:
        """Have the discipline forget a job that ended while it waited.

        It is asked at once, in a state without idle processors: so it starts no job that is still to be withdrawn. A
        poll or scan finds the jobs that may start instead.
        """
        if not run.is_ending and not run.is_behind and not run.pending.is_arriving(job_id):
            self._decide_on(run, [Withdrawal(job_id)], nothing_idle(run, self._topology))

    def catch_up(self, run: Run) -> None:
        """Ask the discipline of `run` about jobs that arrived, left or ended without it.

        Withdrawals come first, in a state without idle processors: so it places no job that is still to be withdrawn.
        """
        if run.is_behind:
            return
        known, failure = ([], run.failure) if run.failure else waiting_in(run)
        if failure:
            self.changes.do_in_time(partial(self._fail, run, failure))
            return
        waiting = set(known)
        gone = [Withdrawal(number) for number in sorted(waiting) if not run.has_queued(number)]
        if gone:
            self._decide_on(run, gone, nothing_idle(run, self._topology))
        departed, run.undecided_departures = run.undecided_departures, ()
        for departure in departed:
            self.decide(run, departure)
        for job in list(run.jobs.values()):
            if job.state is JobState.QUEUED and job.id not in waiting and not run.pending.is_arriving(job.id):
                self.decide(run, Arrival(job.waiting))

    def restore_behind(self, run: Run) -> None:
        """Restore a discipline whose last decisions did not become durable, and ask it about events that it has missed.

        Pending events are dropped, because the jobs and the journal show the same arrivals and departures.
        """
        if not run.is_behind:
            return
        restore_decisions(run, self._journal, self._topology)
        run.pending.forget()
        run.is_behind = False
        if not run.is_ending:
            self.catch_up(run)
            if not run.failure and not run.is_behind:
                run.poller.reset(len(self._topology.clusters), jobs_wait=run.jobs_wait)

    def decide_arrivals(self, run: Run, jobs: Sequence[LiveJob]) -> None:
        """Have the discipline asked about jobs that arrived together, one after another, at one reading."""
        if not run.is_ending and not run.is_behind:
            run.pending.add([Arrival(job.waiting) for job in jobs], self._round_under_way())

    def decide_due(self, run: Run) -> None:
        """Decide on the events of `run` for which the clusters have been read, and begin or end a scan or poll."""
        if run.is_behind:
            return
        pending = run.pending
        events = [event for event in pending.take(self._is_complete) if self._is_current(run, event)]
        if events:
            self._decide_on(run, events, self._state(run))
        if pending.due is None:
            if self.some_answer and run.host_until_due_s() == 0.0:
                pending.due = self._round_under_way()
        elif self._is_complete(pending.due):
            pending.due = None
            self._scan_or_poll(run)

    def host_until_due_s(self, run: Run) -> float | None:
        """Get the host seconds until something can be decided in `run`; None if nothing is pending or due."""
        waits_s = [self.readings.host_until_complete_s(number) for number in run.pending.rounds]
        if run.pending.due is None and self.some_answer and (due_s := run.host_until_due_s()) is not None:
            waits_s.append(due_s)
        return min(waits_s, default=None)

    def tend(self) -> None:
        """Ask the clusters again if that is due, and report those that have become silent or answer again."""
        self.readings.repeat_if_due()
        silent, back = self.readings.changes()
        for run in self._runs():
            for cluster in silent:
                reason = SILENT.format(cluster=cluster, age_s=MOST_AGE_HOST_S)
                self._record_in_time(run, EventKind.CLUSTER_SILENT, {"cluster": cluster, "reason": reason})
            for cluster in back:
                self._record_in_time(run, EventKind.CLUSTER_ANSWERS, {"cluster": cluster})
                run.poller.poll_soon()

    def depart(self, run: Run, job: LiveJob, ended: Ended) -> None:
        """Finish a placed job that has ended and is released, and ask the discipline about its departure.

        Raises:
            JournalFailed: if its end could not be recorded; it has not ended then.
        """
        with self.changes.transaction():
            self.changes.keep(run, job)
            job.released_s = run.now_s()
            self.supervisor.finish(run, job, ended)
            departure = None if job.placement is None else Departure(job.id, job.placement)
            if run.is_ending and departure is not None:
                run.undecided_departures = (*run.undecided_departures, departure)
        if departure is not None:
            self.decide(run, departure)
        if run.is_ending:
            self.changes.do_in_time(self._end_runs_if_empty)

    def place_again(self, run: Run, job: LiveJob, given_back: GivenBack) -> None:
        """Have a job whose claims failed placed again: to the discipline it departs, and arrives anew.

        Raises:
            JournalFailed: if its return to the queue could not be recorded; it has not returned then.
        """
        stopped = None if job.execution is None else job.execution.stopped
        if stopped is not None or job.placement is None:
            self.depart(run, job, stopped or Ended(JobState.FAILED, given_back.reason))
            return
        departure = Departure(job.id, job.placement)
        self.supervisor.give_back(run, job, given_back.reason)
        self.decide(run, departure)
        self.decide(run, Arrival(job.waiting))

    @property
    def lost(self) -> list[str]:
        """The clusters without a connection now."""
        return list(self._lost)

    @property
    def some_answer(self) -> bool:
        """Whether a cluster answers; while none does, scans and polls would waste the jobs' tries."""
        return len(self._lost) + len(self.readings.silent) < self._clusters

    def cluster_found(self, cluster: str) -> None:
        """Use a cluster that answers again and holds no allocation unknown to this broker."""
        self._lost.pop(cluster, None)
        self.readings.find(cluster)

    def cluster_lost(self, cluster: str, reason: str, runs: Sequence[Run]) -> None:
        """Fail the jobs with a component in a cluster that stopped answering, and place nothing there."""
        self._lost[cluster] = reason
        self.readings.lose(cluster)
        index = self._topology.index(cluster)
        for run in runs:
            self._record_in_time(run, EventKind.CLUSTER_LOST, {"cluster": cluster, "reason": reason})
            for job in run.unfinished:
                if job.execution is not None and job.placement is not None and index in job.placement.by_cluster():
                    job.execution.stop(JobState.FAILED, reason)

    def files_lost(self, names: Collection[str], runs: Sequence[Run]) -> None:
        """Fail the waiting jobs that need a file which is at no site any more.

        Raises:
            JournalFailed: if that cannot be recorded; some of them may still wait then.
        """
        for run in runs:
            for job in [run.jobs[number] for number, name in run.waiting_files.items() if name in names]:
                if job.state is JobState.QUEUED:  # the withdrawal of one may have failed the others
                    self._fail_without_file(run, job)
                    self.withdraw(run, job.id)

    def _scan_or_poll(self, run: Run) -> None:
        """Decide on a scan, or on processors freed without a departure of their own, unless it has become needless."""
        if run.host_until_due_s() != 0.0:
            return
        state = self._state(run)
        if run.is_scanned:
            self._decide_on(run, [Scan()], state)
        elif (freed := run.poller.find_freed(state)) is not None:
            self._decide_on(run, [freed], state)

    def _is_current(self, run: Run, event: SchedulingEvent) -> bool:
        """Return whether `event` is still to be decided on; what a run leaves undecided while it ends is kept."""
        match event:
            case Departure() if run.is_ending:
                run.undecided_departures = (*run.undecided_departures, event)
            case Arrival(waiting):
                job = run.jobs.get(waiting.id)
                return not run.is_ending and job is not None and job.state is JobState.QUEUED
        return not run.is_ending

    def _record_in_time(self, run: Run, kind: EventKind, detail: dict[str, object]) -> None:
        self.changes.do_in_time(partial(self.recorder.record, run, kind, detail=detail))

    def _round_under_way(self) -> int:
        """Return the round of readings that is under way, or begin one."""
        if self._is_complete(self._round):
            self._round = self.readings.ask()
        return self._round

    def _is_complete(self, number: int) -> bool:
        return self.readings.host_until_complete_s(number) == 0.0

    def _grants(self) -> Grants:
        """Return the allocations that are known to hold processors of running jobs."""
        return frozenset(
            (cluster, allocation)
            for run in self._runs()
            for job in run.placed
            for cluster, (allocation, _) in job.claimed.items()
        )

    def _state(self, run: Run) -> SystemState:
        files = set(run.waiting_files.values())
        surroundings = with_history(run, self._replicas.surroundings(files, self._lost))
        if running := run.running():
            surroundings = replace(surroundings, running=running)
        readings = self.readings.freshest()
        state = system_state(readings, run.placed, self._topology, run.now_s(), surroundings)
        if not run.chooses_nodes:
            return state
        placed = [job for each in self._runs() for job in each.placed]
        return with_shared_nodes(state, placed, readings, self._topology)

    def _decide_on(self, run: Run, events: Sequence[SchedulingEvent], state: SystemState) -> None:
        """Decide on `events` one after another, and carry out the answers.

        Answers and their effects are recorded in one transaction, so that no answer is known without its effect. If it
        fails, nothing was decided: the run is behind until its discipline is restored. If they cannot be recorded or
        carried out at all, the run fails.
        """
        if run.failure:
            self.changes.do_in_time(partial(self._fail, run, run.failure))
            return
        before, decisions = run.decisions, list[Decision]()
        try:
            current, failure = self._without_lost_files(run, events)
            if not failure:
                together = self._topology.processors_taken_together
                decisions, failure = decide_all(run, current, state, together)
            placed = self._record(run, decisions, failure, state.time_s)
        except JournalFailed as error:
            log.warning("run %d: what was decided is undone: %s", run.id, error)
            run.is_behind, run.decisions = True, before
            for answer in _answers(decisions):
                run.jobs[answer.job_id].answered = False
            return
        except Exception as error:
            log.exception("run %d: what was decided cannot be carried out", run.id)
            failure = str(error) if isinstance(error, InvalidInput) else defect(run, error)
            self.changes.do_in_time(partial(self._fail, run, failure))
            return
        for job in placed:
            self.changes.do_in_time(partial(self.supervisor.launch, run, job))

    def _without_lost_files(self, run: Run, events: Sequence[SchedulingEvent]) -> tuple[Sequence[SchedulingEvent], str]:
        """Fail the waiting jobs whose input file is not in the catalogue, before a policy is asked about them.

        Returns the events that are left, and the reason if the run's discipline failed.
        """
        lost = {number for number, name in run.waiting_files.items() if name not in self._replicas.catalogue}
        if not lost:
            return events, ""
        waiting, failure = waiting_in(run)
        withdrawn = {event.job_id for event in events if isinstance(event, Withdrawal)}
        gone = [Withdrawal(number) for number in waiting if number in lost and number not in withdrawn]
        for number in lost:
            self._fail_without_file(run, run.jobs[number])
        left = [event for event in events if not (isinstance(event, Arrival) and event.job.id in lost)]
        return [*gone, *left], failure

    def _fail_without_file(self, run: Run, job: LiveJob) -> None:
        reason = f"Its input file {job.request.file!r} is at no site any more."
        self.supervisor.finish(run, job, Ended(JobState.FAILED, reason))

    def _record(self, run: Run, decisions: Sequence[Decision], failure: str, time_s: float) -> list[LiveJob]:
        """Record decisions and their effects, or that the run failed; returns the jobs that are placed."""
        with self.changes.transaction():
            self.changes.keep(run)
            for decision in decisions:
                self.recorder.record(run, EventKind.DECISION, detail=decision_record(decision), time_s=decision.time_s)
            placed = self._apply(run, _answers(decisions), time_s)
            if failure:
                self._fail(run, failure)
        return placed

    def _apply(self, run: Run, answers: Sequence[Start | Reject], time_s: float) -> list[LiveJob]:
        """Place or fail the jobs of `answers`; returns those that are placed."""
        placed = []
        for answer in answers:
            job = run.jobs[answer.job_id]
            self.changes.keep(run, job)
            job.tries += answer.tries
            if isinstance(answer, Start):
                self._place(run, job, answer, time_s)
                placed.append(job)
            else:
                self.supervisor.finish(run, job, Ended(JobState.FAILED, f"Given up: {answer.reason}."))
        return placed

    def _place(self, run: Run, job: LiveJob, answer: Start, time_s: float) -> None:
        job.placement, job.state, job.timeline.placed_s = answer.placement, JobState.CLAIMING, time_s
        run.sort_in(job)
        job.claiming = ClaimingProcedure.begun(
            run.request.claiming, time_s, answer.placement.transfer_s, job.claiming_tries + 1
        )
        self.recorder.record(run, EventKind.PLACED, job)

    def _fail(self, run: Run, failure: str) -> None:
        """Fail the waiting jobs of a run whose discipline or policy failed; nothing is decided in it any more.

        The failure of a run is recorded once.
        """
        with self.changes.transaction():
            self.changes.keep(run)
            run.failure = failure
            if not run.failure_is_recorded:
                run.failure_is_recorded = True
                self.changes.afterwards(run.close)
                self.recorder.record(run, EventKind.POLICY_FAILED, detail={"reason": failure})
            for job in run.unfinished:
                if job.state is JobState.QUEUED:
                    self.supervisor.finish(run, job, Ended(JobState.FAILED, failure))


def _answers(decisions: Sequence[Decision]) -> list[Start | Reject]:
    return [answer for decision in decisions for answer in decision.answers]
