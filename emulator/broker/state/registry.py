"""The broker's runs, their unfinished jobs by number, and which run holds the testbed.

Jobs that have ended are in the journal only.

All methods run on the broker's loop.
"""

from __future__ import annotations

from emulator.broker.deciding import Deciding, deciding
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.journal import Journal
from emulator.broker.state.restore import restore_runs
from emulator.broker.state.runs import Run
from emulator.model.errors import AlreadyEnded, TestbedBusy, TestbedNotUp, UnknownName
from emulator.model.topology import Topology
from emulator.model.views import DEFAULT_RUN, DEFAULT_RUN_REQUEST, JobView, RunRequest, RunState


class RunRegistry:
    """Runs and jobs: those restored from `journal`, and new ones."""

    def __init__(self, topology: Topology, journal: Journal) -> None:
        self._topology = topology
        self._journal = journal
        self._runs = restore_runs(journal, topology)
        self.default_run = self._runs.get(DEFAULT_RUN) or self._new_default_run()
        last_run, last_job = journal.last_numbers()
        self._next_run, self._last_job = last_run + 1, last_job
        taken = (run for run in self._runs.values() if run is not self.default_run and run.state is not RunState.ENDED)
        self.current: Run | None = next(taken, None)

    def run(self, number: int) -> Run:
        """Get the run of that number.

        Raises:
            UnknownName: if there is none.
        """
        if number not in self._runs:
            raise UnknownName(f"There is no run {number}.")
        return self._runs[number]

    def current_run(self, number: int) -> Run:
        """Get the run of that number, which must hold the testbed.

        Raises:
            UnknownName: if there is none.
            TestbedNotUp: if it does not hold the testbed.
        """
        run = self.run(number)
        if run is not self.current:
            raise TestbedNotUp(f"Run {number} does not hold the testbed.")
        return run

    def run_accepting_jobs(self, number: int) -> Run:
        """Get the run of that number, which must take jobs; the default run begins again if its deciders failed.

        Raises:
            UnknownName: if there is none.
            TestbedBusy: if it is the default run while another run holds the testbed.
            TestbedNotUp: if it is not running.
        """
        if number == DEFAULT_RUN and self.current is not None:
            raise _busy(self.current)
        run = self.default_run if number == DEFAULT_RUN else self.current_run(number)
        if run.is_ending:
            raise TestbedNotUp(f"Run {number} is being ended, so it takes no jobs.")
        if run.state is not RunState.RUNNING:
            raise TestbedNotUp(f"Run {number} is {run.state.value}, so it takes no jobs.")
        if run.failure and run is self.default_run:
            run.begin_again(deciding(run.request, self._topology))
        return run

    @property
    def running(self) -> list[Run]:
        """The runs whose jobs are scheduled now."""
        return [run for run in self._holding_jobs if run.state is RunState.RUNNING]

    def check_free(self) -> None:
        """Check that a run may begin.

        Raises:
            TestbedBusy: if another run holds the testbed, or jobs of the default run are unfinished.
        """
        if self.current is not None:
            raise _busy(self.current)
        if self.default_run.unfinished:
            numbers = ", ".join(str(job.id) for job in self.default_run.unfinished[:5])
            raise TestbedBusy(
                f"Jobs are still running outside of any run ({numbers}); await them first, or `testbed cancel` them."
            )

    def begin(self, request: RunRequest, made: Deciding) -> Run:
        """Begin a run, which holds the testbed from now on.

        Raises:
            TestbedBusy: if another run holds it, or jobs of the default run are unfinished.
        """
        self.check_free()
        run = Run(self._next_run, request, made)
        self._journal.store_run(run.id, request)
        self._next_run += 1
        self._runs[run.id] = self.current = run
        return run

    def close(self) -> None:
        """End the processes of researchers' own policies; the runs go on with the next broker."""
        for run in self._holding_jobs:
            run.close()

    @property
    def last_run_number(self) -> int:
        """The number of the newest run; there is a run of every number up to it."""
        return self._next_run - 1

    @property
    def next_job_number(self) -> int:
        """The number that the next job gets."""
        return self._last_job + 1

    def add_job(self, run: Run, job: LiveJob) -> None:
        """Add a job to `run`."""
        self._last_job = job.id
        run.add(job)

    def remove_job(self, run: Run, job: LiveJob) -> None:
        """Remove a job that did not become durable."""
        run.remove(job)

    def unfinished_job(self, number: int) -> LiveJob:
        """Get the job of that number, which must not have ended.

        Raises:
            UnknownName: if there is none.
            AlreadyEnded: if it has ended.
        """
        job = self.find_job(number)
        if job is None or job.state.final:
            ended = self._journal.last_view(number)
            if ended is None:
                raise unknown_job(number)
            raise AlreadyEnded(f"Job {number} has ended ({ended.state.value}), so there is nothing to cancel.")
        return job

    def find_job(self, number: int) -> LiveJob | None:
        """Get the job of that number, if there is one that has not ended."""
        return next((run.jobs[number] for run in self._holding_jobs if number in run.jobs), None)

    def live_views(self, run: int | None, after: int = 0, limit: int | None = None) -> dict[int, JobView]:
        """Get the jobs of a run, or all, that have not ended: the first `limit` of those numbered above `after`.

        Raises:
            UnknownName: if there is no such run.
        """
        runs = self._holding_jobs if run is None else [self.run(run)]
        jobs = {number: job for each in runs for number, job in each.jobs.items() if number > after}
        return {number: jobs[number].view(self._topology) for number in sorted(jobs)[:limit]}

    def needed_files(self) -> set[str]:
        """Get the input files of the jobs that have not ended."""
        unfinished = (job for run in self._holding_jobs for job in run.unfinished)
        return {file for job in unfinished if (file := job.request.file) is not None}

    @property
    def _holding_jobs(self) -> list[Run]:
        """The runs that may have jobs that have not ended."""
        return [self.default_run] if self.current is None else [self.default_run, self.current]

    def _new_default_run(self) -> Run:
        made = deciding(DEFAULT_RUN_REQUEST, self._topology)
        run = self._runs[DEFAULT_RUN] = Run(DEFAULT_RUN, DEFAULT_RUN_REQUEST, made)
        with self._journal.transaction():
            self._journal.store_run(run.id, run.request)
            self._journal.store_origin(run.id, run.start())
        return run


def _busy(run: Run) -> TestbedBusy:
    return TestbedBusy(
        f"Run {run.id} ({run.request.name}) holds the testbed: wait until it ends, or end it with "
        "`testbed campaign stop`."
    )


def unknown_job(number: int) -> UnknownName:
    """Return the error for a job that does not exist."""
    return UnknownName(f"There is no job {number} (`testbed jobs` lists those there are).")
