"""The supervision of placed jobs: each gets an execution, and what the execution reports is recorded.

All methods but `on_allocation` and `release_strays` run on the broker's loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from emulator.broker.files.replicas import Replicas
from emulator.broker.files.transfers import FileArrived
from emulator.broker.jobs.claiming_try import job_label
from emulator.broker.jobs.execution import JobExecution
from emulator.broker.jobs.launch import LaunchSpecBuilder
from emulator.broker.jobs.outputs import Outputs
from emulator.broker.jobs.releases import Releases
from emulator.broker.jobs.reports import (
    AllClaimed,
    ClaimTried,
    ClaimTryFailed,
    ComponentClaimed,
    Ended,
    ExecutionEvent,
    GivenBack,
    Started,
)
from emulator.broker.jobs.strays import StrayCheck
from emulator.broker.state.changes import Changes
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.recording import EventRecorder
from emulator.broker.state.runs import Run
from emulator.clusters.protocol import AllocationEvent, AllocationEventKind, LocalResourceManager
from emulator.model.errors import JournalFailed, TestbedError
from emulator.model.job import JobState
from emulator.model.settings import BrokerSettings
from emulator.model.topology import Topology
from emulator.model.units import rate_mbit
from emulator.model.views import EventKind
from emulator.policies.claiming_procedure import ClaimingProcedure

log = logging.getLogger(__name__)
OUTPUTS_FOLDER: Final = "outputs"
"""Beside the journal."""
CLOCKS_APART_HOST_S: Final = 60.0
"""Host seconds by which the clocks of two machines never disagree unless one is set."""
FINAL_EVENTS = {
    JobState.FINISHED: EventKind.FINISHED,
    JobState.FAILED: EventKind.FAILED,
    JobState.CANCELLED: EventKind.CANCELLED,
}


class JobSupervisor:
    """A supervisor that launches placed jobs on `managers` and follows them until they have ended and are released."""

    def __init__(
        self,
        topology: Topology,
        managers: Sequence[LocalResourceManager],
        settings: BrokerSettings,
        replicas: Replicas,
        recorder: EventRecorder,
        changes: Changes,
        on_ended: Callable[[Run, LiveJob, Ended], None],
        on_given_back: Callable[[Run, LiveJob, GivenBack], None],
    ) -> None:
        self._managers = managers
        self._replicas = replicas
        self._recorder = recorder
        self._changes = changes
        self._on_ended = on_ended
        self._on_given_back = on_given_back
        self.outputs = Outputs(settings.journal_file.parent / OUTPUTS_FOLDER)
        self._specs = LaunchSpecBuilder(topology, settings, replicas, self.outputs, self._on_file_arrived)
        self._launched: dict[str, JobExecution] = {}
        self._post: Callable[[Callable[[], object]], None] = lambda work: None
        self._releases = Releases()
        self._strays = StrayCheck(managers, self.release_strays)

    def open(self, post: Callable[[Callable[[], object]], None]) -> None:
        """Hand what executions report to the loop by `post` from now on; it must not lose what the journal refuses."""
        self._post = post
        self._strays.open()

    def close(self) -> None:
        """Stop all executions, without a record: what they report is not heard any more."""
        self._strays.close()
        self._releases.close()
        for execution in list(self._launched.values()):
            execution.stop(JobState.CANCELLED, "The broker is being stopped.")

    def launch(self, run: Run, job: LiveJob) -> None:
        """Start the execution of a placed job; if that fails the job fails, and no other job with it.

        Raises:
            JournalFailed: if the use of its file cannot be recorded; nothing has started then.
        """
        try:
            spec = self._specs.build(run, job)
            job.execution = JobExecution(
                spec,
                self._managers,
                self._releases,
                lambda event: self._post(partial(self._on_execution_event, run, job, event)),
            )
            self._launched[spec.label] = job.execution
            job.execution.begin()
        except JournalFailed:
            raise
        except Exception as error:
            reason = (
                str(error) if isinstance(error, TestbedError) else f"The broker could not launch the job ({error!r})."
            )
            log.warning("job %d could not be launched", job.id, exc_info=error)
            # Posted, so that the other jobs of this decision are launched before the discipline is asked again.
            self._post(partial(self._on_ended, run, job, Ended(JobState.FAILED, reason)))

    def relaunch(self, run: Run, job: LiveJob) -> None:
        """Claim again, at the same placement, for a job that a former broker was claiming for; nothing is held.

        Raises:
            JournalFailed: if that cannot be recorded; nothing has started then.
        """
        if job.claimed:
            reason = "The broker was stopped during a claiming try; its claims were released, and the job claims again."
            with self._changes.transaction():
                self._changes.keep(run, job)
                self._on_claim_failed(run, job, next(iter(job.claimed)), reason, job.claiming)
        self.launch(run, job)

    def finish(self, run: Run, job: LiveJob, ended: Ended) -> None:
        """Record that a job, placed or waiting, has ended and holds nothing any more.

        Raises:
            JournalFailed: if that cannot be recorded; it has not ended then.
        """
        with self._changes.transaction():
            self._changes.keep(run, job)
            self._set_end(run, job, ended)
            self._recorder.record(run, FINAL_EVENTS[ended.state], job)
            self._changes.afterwards(partial(self._forget, run, job))

    def give_back(self, run: Run, job: LiveJob, reason: str) -> None:
        """Record that a placed job, which holds nothing any more, waits in the queue again.

        Raises:
            JournalFailed: if that cannot be recorded; it is still placed then.
        """
        with self._changes.transaction():
            self._changes.keep(run, job)
            self._changes.afterwards(partial(self._let_go, job.id, job.execution))
            job.state, job.placement, job.claiming, job.execution = JobState.QUEUED, None, None, None
            job.timeline.placed_s, job.answered = None, False
            run.sort_in(job)
            self._recorder.record(run, EventKind.GIVEN_BACK, job, {"reason": reason})

    def _set_end(self, run: Run, job: LiveJob, ended: Ended) -> None:
        job.state, job.reason, job.exit_code = ended.state, ended.reason, ended.exit_code
        job.result = ended.result
        if ended.host_finished_s is not None:
            job.timeline.finished_s = _timestamp_s(run, job, ended.host_finished_s)

    def _forget(self, run: Run, job: LiveJob) -> None:
        """Release what a job that has ended needed, and its memory."""
        run.remove(job)
        self._let_go(job.id, job.execution)

    def _let_go(self, number: int, execution: JobExecution | None) -> None:
        """Release what an execution needed: its open output, and the job's files."""
        if execution is not None:
            self._launched.pop(execution.label, None)
        self.outputs.close(number)
        self._changes.do_in_time(partial(self._replicas.release_job, number))

    def on_allocation(self, manager: LocalResourceManager, event: AllocationEvent) -> None:
        """Pass an event of `manager` on to the job of its claim; an allocation without a job is released.

        Such an allocation was granted late: its claim had been given up, or a former broker had made it. The watchers'
        threads call this directly: a dictionary's look-up needs no lock, and claims and releases take events from any
        thread.
        """
        execution = self._launched.get(job_label(event.claim))
        if execution is not None and execution.note_event(event):
            return
        if event.kind is AllocationEventKind.CLAIMED:
            self._releases.add(manager, event.claim, event.allocation)
        else:
            self._releases.note_ended(manager.cluster, event.claim, event.allocation)

    def release_strays(self, manager: LocalResourceManager, listed: Mapping[str, str]) -> None:
        """Release the allocations, `listed` by `manager` with their claims, that belong to no job."""
        for allocation, claim in listed.items():
            if job_label(claim) not in self._launched:
                log.warning("cluster %s holds allocation %s for no job", manager.cluster, allocation)
                self._releases.add(manager, claim, allocation)

    def _on_execution_event(self, run: Run, job: LiveJob, event: ExecutionEvent) -> None:
        if isinstance(event, Ended):
            self._on_ended(run, job, event)
            return
        if isinstance(event, GivenBack):
            self._on_given_back(run, job, event)
            return
        with self._changes.transaction():
            self._changes.keep(run, job)
            self._note_execution_event(run, job, event)

    def _note_execution_event(self, run: Run, job: LiveJob, event: ExecutionEvent) -> None:
        match event:
            case ClaimTried(procedure):
                job.claiming, job.claiming_tries = procedure, procedure.number
            case ClaimTryFailed(cluster, reason, procedure):
                self._on_claim_failed(run, job, cluster, reason, procedure)
            case ComponentClaimed(cluster, allocation, host_timestamp_s):
                job.claimed[cluster] = (allocation, _timestamp_s(run, job, host_timestamp_s))
                self._recorder.record(run, EventKind.COMPONENT_CLAIMED, job, {"cluster": cluster})
            case AllClaimed(host_timestamp_s):
                job.state, job.timeline.claimed_s = JobState.STARTING, _timestamp_s(run, job, host_timestamp_s)
                self._recorder.record(run, EventKind.CLAIMED, job)
                run.poller.poll_soon()
                if job.execution is not None:
                    self._changes.afterwards(job.execution.allow_start)
            case Started(host_timestamp_s, host_late_s):
                job.state, job.timeline.started_s = JobState.RUNNING, _timestamp_s(run, job, host_timestamp_s)
                job.overhead_late_s = run.dilation.emulated_duration_s(host_late_s)
                self._recorder.record(run, EventKind.STARTED, job)

    def _on_claim_failed(
        self, run: Run, job: LiveJob, cluster: str, reason: str, procedure: ClaimingProcedure | None
    ) -> None:
        """Record a failed claiming try; the job keeps its placement, and `procedure` says when the next try is.

        The event holds what had been claimed, since it was held until now without use.
        """
        job.claiming = procedure or job.claiming
        detail: dict[str, object] = {"cluster": cluster, "reason": reason, "claiming_try": job.claiming_tries}
        self._recorder.record(run, EventKind.CLAIM_FAILED, job, detail)
        job.claimed = {}

    def _on_file_arrived(self, run: Run, job: LiveJob, arrived: FileArrived) -> None:
        detail: dict[str, object] = {
            "file": arrived.file,
            "source": arrived.source,
            "target": arrived.target,
            "size_bytes": arrived.size_bytes,
            "began_s": run.timestamp_s(arrived.host_began_s),
            "arrived_s": run.timestamp_s(arrived.host_arrived_s),
            "rate_mbit": rate_mbit(arrived.bytes_per_s, 1.0),
        }
        self._changes.do_in_time(partial(self._recorder.record, run, EventKind.FILE_ARRIVED, job, detail))


def _timestamp_s(run: Run, job: LiveJob, host_timestamp_s: float) -> float:
    """Convert a timestamp that a job's cluster took.

    If the wall clock was set after it was taken, it may be far before the job's last event, or far after now. Then that
    limit is used instead. Clocks of real clusters that disagree a little are not corrected.
    """
    times = job.timeline
    passed = (times.submitted_s, times.placed_s, times.claimed_s, times.started_s)
    earliest_s, latest_s = max(at_s for at_s in passed if at_s is not None), run.now_s()
    tolerance_s = run.dilation.emulated_duration_s(CLOCKS_APART_HOST_S)
    timestamp_s = run.timestamp_s(host_timestamp_s)
    if timestamp_s < earliest_s - tolerance_s:
        return earliest_s
    return latest_s if timestamp_s > latest_s + tolerance_s else timestamp_s
