"""The broker's runs and jobs by their numbers: which run holds the testbed, which takes jobs, which are under way.

Everything here happens on the broker's loop.
"""

from __future__ import annotations

import itertools

from emulator.broker.journal import Journal
from emulator.broker.remembering import remembered_runs
from emulator.broker.runs import LiveJob, Run
from emulator.model.errors import NotStanding, TestbedBusy, UnknownName
from emulator.model.topology import Topology
from emulator.model.views import STANDING_REQUEST, STANDING_RUN, JobView, RunRequest, RunState


class Register:
    """Runs and jobs, those that `journal` remembers and those that come."""

    def __init__(self, topology: Topology, journal: Journal) -> None:
        self._topology = topology
        self._journal = journal
        self._runs = remembered_runs(journal, topology)
        self.standing = self._runs.get(STANDING_RUN) or self._new_standing_run()
        last_run, last_job = journal.last_numbers()
        self._next_run, self._last_job = last_run + 1, last_job
        taken = (run for run in self._runs.values() if run is not self.standing and run.state is not RunState.ENDED)
        self.current: Run | None = next(taken, None)
        jobs = (job for run in self._runs.values() for job in run.jobs.values())
        self._jobs: dict[int, LiveJob] = {job.id: job for job in sorted(jobs, key=lambda job: job.id)}

    def run(self, number: int) -> Run:
        """The run of that number.

        Raises:
            UnknownName: if there is none.
        """
        if number not in self._runs:
            raise UnknownName(f"There is no run {number}.")
        return self._runs[number]

    def current_run(self, number: int) -> Run:
        """The run of that number, which holds the testbed.

        Raises:
            UnknownName: if there is none.
            NotStanding: if it does not hold the testbed.
        """
        run = self.run(number)
        if run is not self.current:
            raise NotStanding(f"Run {number} does not hold the testbed.")
        return run

    def run_for(self, number: int) -> Run:
        """The run of that number, which takes jobs.

        Raises:
            UnknownName: if there is none.
            TestbedBusy: if it is the standing one while another holds the testbed.
            NotStanding: if it is not running.
        """
        if number == STANDING_RUN and self.current is not None:
            raise _busy(self.current)
        run = self.standing if number == STANDING_RUN else self.current_run(number)
        if run.is_ending:
            raise NotStanding(f"Run {number} is being ended, so it takes no jobs.")
        if run.state is not RunState.RUNNING:
            raise NotStanding(f"Run {number} is {run.state.value}, so it takes no jobs.")
        return run

    @property
    def running(self) -> list[Run]:
        """The runs whose jobs are scheduled now."""
        runs = [self.standing] if self.current is None else [self.standing, self.current]
        return [run for run in runs if run.state is RunState.RUNNING]

    @property
    def unended(self) -> list[int]:
        """The numbers of the runs that have not ended."""
        return [run.id for run in self._runs.values() if run.state is not RunState.ENDED]

    def begin(self, request: RunRequest) -> Run:
        """A new run, which holds the testbed from now on.

        Raises:
            TestbedBusy: if another run holds it, or jobs of the standing run are unfinished.
            UnknownName: if its policy or queue does not exist.
        """
        if self.current is not None:
            raise _busy(self.current)
        if self.standing.unfinished:
            numbers = ", ".join(str(job.id) for job in self.standing.unfinished[:5])
            raise TestbedBusy(
                f"Jobs are still running outside of any run ({numbers}); await them first, or `testbed cancel` them."
            )
        run = Run(self._next_run, request, self._topology)
        self._journal.keep_run(run.id, request)
        self._next_run += 1
        self._runs[run.id] = self.current = run
        return run

    @property
    def next_job_number(self) -> int:
        """The number that the next job gets."""
        return self._last_job + 1

    def enter(self, run: Run, job: LiveJob) -> None:
        """Keep a job of `run` from now on."""
        self._last_job = job.id
        self._jobs[job.id] = job
        run.add(job)

    def strike(self, run: Run, job: LiveJob) -> None:
        """Forget a job that was entered and did not become durable."""
        self._jobs.pop(job.id, None)
        run.remove(job)

    def job(self, number: int) -> LiveJob:
        """The job of that number.

        Raises:
            UnknownName: if there is none.
        """
        if number not in self._jobs:
            raise UnknownName(f"There is no job {number} (`testbed jobs` lists those there are).")
        return self._jobs[number]

    def known(self, number: int) -> LiveJob | None:
        """The job of that number, if there is one."""
        return self._jobs.get(number)

    def page(self, run: int | None, after: int, limit: int | None) -> list[JobView]:
        """The jobs of a run, or all, in order of submission: those numbered above `after`, at most `limit`.

        Raises:
            UnknownName: if there is no such run.
        """
        jobs = self._jobs if run is None else self.run(run).jobs
        chosen = itertools.islice((job for number, job in jobs.items() if number > after), limit)
        return [job.view(self._topology) for job in chosen]

    def wanted_files(self) -> set[str]:
        """The input files of jobs that have not ended."""
        return {file for job in self._jobs.values() if not job.state.final and (file := job.request.file) is not None}

    def _new_standing_run(self) -> Run:
        run = self._runs[STANDING_RUN] = Run(STANDING_RUN, STANDING_REQUEST, self._topology)
        with self._journal.together():
            self._journal.keep_run(run.id, run.request)
            self._journal.keep_origin(run.id, run.start().host_origin_s)
        return run


def _busy(run: Run) -> TestbedBusy:
    return TestbedBusy(
        f"Run {run.id} ({run.request.name}) holds the testbed: wait until it ends, or end it with "
        "`testbed campaign stop`."
    )
