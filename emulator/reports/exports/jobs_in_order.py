"""The jobs of a run as one log with one clock, from which every format of job logs starts."""

from __future__ import annotations

from emulator.model.errors import InvalidInput
from emulator.model.records import SCHEDULE_FILE, JobRow
from emulator.runs.run_directory import RunRecords, attempts
from workloads.schedule import read_schedule


def jobs_in_order(run: RunRecords) -> list[JobRow]:
    """Return the jobs of `run` in order of submission.

    Rows of old live campaigns lack the users' estimates, which are taken from the schedule.

    Raises:
        InvalidInput: if the run has none, or was resumed, so that its parts count time from different origins.
    """
    if not run.jobs:
        raise InvalidInput(f"{run.path}: holds no job that has ended.")
    if len(attempts(run.path)) > 1:
        raise InvalidInput(
            f"{run.path}: was resumed, and each of its parts counts time from its own start: it is not one log."
        )
    scheduled = {} if all(job.estimate_s is not None for job in run.jobs) else _scheduled_estimates_s(run)
    jobs = [
        job if job.estimate_s is not None else job.model_copy(update={"estimate_s": scheduled.get(job.name)})
        for job in run.jobs
    ]
    return sorted(jobs, key=lambda job: (job.submitted_s, job.job))


def _scheduled_estimates_s(run: RunRecords) -> dict[str, float | None]:
    """Return the estimates in the schedule of a live campaign by the job's name."""
    schedule = run.path / SCHEDULE_FILE
    arrivals = read_schedule(schedule) if schedule.is_file() else []
    return {arrival.specification.name: arrival.specification.estimate_s for arrival in arrivals}
