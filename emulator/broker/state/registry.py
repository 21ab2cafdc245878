"""The broker's runs and jobs by their numbers, and which run holds the testbed.

All methods run on the broker's loop.
"""

from __future__ import annotations

import itertools

from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.journal import Journal
from emulator.broker.state.restore import restore_runs
from emulator.broker.state.runs import Run
from emulator.model.errors import TestbedBusy, TestbedNotUp, UnknownName
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
        jobs = (job for run in self._runs.values() for job in run.jobs.values())
        self._jobs: dict[int, LiveJob] = {job.id: job for job in sorted(jobs, key=lambda job: job.id)}

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
        """Get the run of that number, which must take jobs.

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
        return run

    @property
    def running(self) -> list[Run]:
        """The runs whose jobs are scheduled now."""
        runs = [self.default_run] if self.current is None else [self.default_run, self.current]
        return [run for run in runs if run.state is RunState.RUNNING]

    def begin(self, request: RunRequest) -> Run:
        """Begin a run, which holds the testbed from now on.

        Raises:
            TestbedBusy: if another run holds it, or jobs of the default run are unfinished.
            UnknownName: if its policy or queue does not exist.
        """
        if self.current is not None:
            raise _busy(self.current)
        if self.default_run.unfinished:
            numbers = ", ".join(str(job.id) for job in self.default_run.unfinished[:5])
            raise TestbedBusy(
                f"Jobs are still running outside of any run ({numbers}); await them first, or `testbed cancel` them."
            )
        run = Run(self._next_run, request, self._topology)
        self._journal.store_run(run.id, request)
        self._next_run += 1
        self._runs[run.id] = self.current = run
        return run

    @property
    def next_job_number(self) -> int:
        """The number that the next job gets."""
        return self._last_job + 1

    def add_job(self, run: Run, job: LiveJob) -> None:
        """Add a job to `run`."""
        self._last_job = job.id
        self._jobs[job.id] = job
        run.add(job)

    def remove_job(self, run: Run, job: LiveJob) -> None:
        """Remove a job that did not become durable."""
        self._jobs.pop(job.id, None)
        run.remove(job)

    def job(self, number: int) -> LiveJob:
        """Get the job of that number.

        Raises:
            UnknownName: if there is none.
        """
        if number not in self._jobs:
            raise UnknownName(f"There is no job {number} (`testbed jobs` lists those there are).")
        return self._jobs[number]

    def find_job(self, number: int) -> LiveJob | None:
        """Get the job of that number, if there is one."""
        return self._jobs.get(number)

    def page(self, run: int | None, after: int, limit: int | None) -> list[JobView]:
        """Get the jobs of a run, or all, in order of submission: those numbered above `after`, at most `limit`.

        Raises:
            UnknownName: if there is no such run.
        """
        jobs = self._jobs if run is None else self.run(run).jobs
        chosen = itertools.islice((job for number, job in jobs.items() if number > after), limit)
        return [job.view(self._topology) for job in chosen]

    def needed_files(self) -> set[str]:
        """Get the input files of the jobs that have not ended."""
        return {file for job in self._jobs.values() if not job.state.final and (file := job.request.file) is not None}

    def _new_default_run(self) -> Run:
        run = self._runs[DEFAULT_RUN] = Run(DEFAULT_RUN, DEFAULT_RUN_REQUEST, self._topology)
        with self._journal.transaction():
            self._journal.store_run(run.id, run.request)
            self._journal.store_origin(run.id, run.start())
        return run


def _busy(run: Run) -> TestbedBusy:
    return TestbedBusy(
        f"Run {run.id} ({run.request.name}) holds the testbed: wait until it ends, or end it with "
        "`testbed campaign stop`."
    )
