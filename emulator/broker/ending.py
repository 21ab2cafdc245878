"""Ending before the end: a job is cancelled wherever it is, a run decides nothing any more and lets go of the testbed.

Everything here happens on the broker's loop. A run ends in two steps, since what it holds is released by others: it is
stopped, and once none of its jobs is unfinished it ends.
"""

from __future__ import annotations

from emulator.broker.journal import Journal
from emulator.broker.life_events import Ended
from emulator.broker.recovery import Recovery
from emulator.broker.register import Register
from emulator.broker.runs import LiveJob, Run
from emulator.broker.scheduling import Scheduling
from emulator.model.errors import AlreadyEnded
from emulator.model.job import JobState
from emulator.model.views import STANDING_RUN, EventKind, RunState
from emulator.policies.protocols import Withdrawal

CANCELLED_IN_QUEUE = Ended(JobState.CANCELLED, "Cancelled while it was queued.")


class Ending:
    """Ends the jobs and runs of `register`."""

    def __init__(self, register: Register, scheduling: Scheduling, recovery: Recovery, journal: Journal) -> None:
        self._register = register
        self._scheduling = scheduling
        self._recovery = recovery
        self._journal = journal

    def cancel(self, number: int) -> LiveJob:
        """End a job wherever it is.

        Raises:
            UnknownName: if there is no such job.
            AlreadyEnded: if it has ended.
        """
        job = self._register.job(number)
        if job.state.final:
            raise AlreadyEnded(f"Job {number} has ended ({job.state.value}), so there is nothing to cancel.")
        if job.state is JobState.QUEUED:
            run = self._register.run(job.run)
            self._scheduling.finish(run, job, CANCELLED_IN_QUEUE)
            self._scheduling.decide(run, Withdrawal(job.id))
        elif job.life is not None:
            job.life.stop(JobState.CANCELLED, f"Cancelled while it was {job.state.value}.")
        else:
            self._recovery.cancel(job)
        return job

    def stop_run(self, number: int) -> None:
        """Decide nothing in a run any more, and cancel its jobs: those that wait all at once, unasked.

        Raises:
            UnknownName: if there is no such run.
        """
        run = self._register.run(number)
        self._decide_no_more(run)
        for job in run.unfinished:
            self.cancel(job.id)

    def end_run(self, number: int) -> Run:
        """Let go of the testbed after a run whose jobs have ended; the standing run goes on.

        Raises:
            UnknownName: if there is no such run.
        """
        run = self._register.run(number)
        if run.state is not RunState.ENDED and run.id != STANDING_RUN:
            run.state = RunState.ENDED
            with self._journal.together():
                self._journal.keep_end(run.id)
                self._scheduling.record(run, EventKind.RUN_ENDED)
        if self._register.current is run:
            self._register.current = None
        if run is self._register.standing and run.is_ending:
            run.is_ending = False
            self._scheduling.catch_up(run)
        return run

    def end_emptied_run(self) -> None:
        """End the run that was being ended when a former broker was killed, once its jobs are settled."""
        run = self._register.current
        if run is not None and run.is_ending and not run.unfinished:
            self.end_run(run.id)

    def _decide_no_more(self, run: Run) -> None:
        if run.is_ending:
            return
        run.is_ending = True
        with self._journal.together():
            if run.state is RunState.RUNNING:
                self._scheduling.record(run, EventKind.RUN_ENDING)
            for job in run.unfinished:
                if job.state is JobState.QUEUED:
                    self._scheduling.finish(run, job, CANCELLED_IN_QUEUE)
