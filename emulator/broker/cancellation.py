"""Cancelling jobs and ending runs: a run that ends first stops deciding, then releases the testbed.

All methods run on the broker's loop. A run ends in two steps, because releasing its processors takes time: it is
stopped, and once all its jobs have ended it ends.
"""

from __future__ import annotations

from emulator.broker.jobs.reports import Ended
from emulator.broker.recovery import Recovery
from emulator.broker.scheduling import Scheduling
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.journal import Journal
from emulator.broker.state.registry import RunRegistry
from emulator.broker.state.runs import Run
from emulator.model.errors import JournalFailed
from emulator.model.job import JobState
from emulator.model.views import DEFAULT_RUN, EventKind, RunState

CANCELLED_IN_QUEUE = Ended(JobState.CANCELLED, "Cancelled while it was queued.")


class Cancellation:
    """The part of the broker that cancels the jobs and ends the runs of `registry`."""

    def __init__(self, registry: RunRegistry, scheduling: Scheduling, recovery: Recovery, journal: Journal) -> None:
        self._registry = registry
        self._scheduling = scheduling
        self._supervisor = scheduling.supervisor
        self._recorder = scheduling.recorder
        self._changes = scheduling.changes
        self._recovery = recovery
        self._journal = journal

    def cancel(self, number: int) -> LiveJob:
        """Cancel a job in whatever state it is.

        Raises:
            UnknownName: if there is no such job.
            AlreadyEnded: if it has ended.
            JournalFailed: if that cannot be recorded, or the job is not launched yet because its file's use cannot be.
        """
        job = self._registry.unfinished_job(number)
        if job.state is JobState.QUEUED:
            run = self._registry.run(job.run)
            self._supervisor.finish(run, job, CANCELLED_IN_QUEUE)
            self._scheduling.withdraw(run, job.id)
        elif job.execution is not None:
            job.execution.stop(JobState.CANCELLED, f"Cancelled while it was {job.state.value}.")
        elif not self._recovery.cancel(job) and self._changes.is_delayed:
            raise JournalFailed(f"Job {number} waits until the broker's disk can be written; cancel it again then.")
        return job

    def stop_run(self, number: int) -> None:
        """Stop deciding in a run and cancel its jobs; waiting jobs end at once, without asking the discipline.

        Raises:
            UnknownName: if there is no such run.
        """
        run = self._registry.run(number)
        self._stop_deciding(run)
        for job in run.unfinished:
            self.cancel(job.id)

    def end_run(self, number: int) -> Run:
        """Release the testbed from a run whose jobs have ended; the default run goes on.

        Raises:
            UnknownName: if there is no such run.
        """
        run = self._registry.run(number)
        if run.state is not RunState.ENDED and run.id != DEFAULT_RUN:
            with self._changes.transaction():
                self._changes.keep(run)
                run.state = RunState.ENDED
                self._journal.store_end(run.id)
                self._recorder.record(run, EventKind.RUN_ENDED)
            run.close()
        if self._registry.current is run:
            self._registry.current = None
        if run is self._registry.default_run and run.is_ending:
            run.is_ending = False
            self._scheduling.catch_up(run)
        return run

    def awaits_jobs(self, number: int) -> bool:
        """Return whether a run is being ended and some of its jobs have not ended.

        Raises:
            UnknownName: if there is no such run.
        """
        run = self._registry.run(number)
        return run.is_ending and bool(run.unfinished)

    def end_runs_if_empty(self) -> None:
        """End each run that is being ended and whose jobs have ended, though nobody may wait for that any more."""
        for run in (self._registry.default_run, self._registry.current):
            if run is not None and run.is_ending and not run.unfinished:
                self.end_run(run.id)

    def _stop_deciding(self, run: Run) -> None:
        if run.is_ending:
            return
        with self._changes.transaction():
            self._changes.keep(run)
            run.is_ending = True
            if run.state is RunState.RUNNING:
                self._recorder.record(run, EventKind.RUN_ENDING)
            for job in run.unfinished:
                if job.state is JobState.QUEUED:
                    self._supervisor.finish(run, job, CANCELLED_IN_QUEUE)
