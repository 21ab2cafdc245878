"""The jobs of a run as one log with one clock, from which every format of job logs starts."""

from __future__ import annotations

from emulator.model.errors import InvalidInput
from emulator.model.records import JobRow
from emulator.runs.run_directory import RunRecords, attempts


def jobs_in_order(run: RunRecords) -> list[JobRow]:
    """Return the jobs of `run` in order of submission.

    Raises:
        InvalidInput: if the run has none, or was resumed, so that its parts count time from different origins.
    """
    if not run.jobs:
        raise InvalidInput(f"{run.path}: holds no job that has ended.")
    if len(attempts(run.path)) > 1:
        raise InvalidInput(
            f"{run.path}: was resumed, and each of its parts counts time from its own start: it is not one log."
        )
    return sorted(run.jobs, key=lambda job: (job.submitted_s, job.job))
