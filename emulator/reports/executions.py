"""From when until when a job executed, also one that failed or was cancelled while it did."""

from __future__ import annotations

from emulator.model.records import JobRow


def end_s(job: JobRow) -> float | None:
    """Return when the execution of `job` ended: at its finish, else when its processors were released."""
    return job.released_s if job.finished_s is None else job.finished_s


def execution_s(job: JobRow) -> float | None:
    """Return how long `job` executed; None if it never started, or nobody knows when it ended."""
    if job.execution_time_s is not None:
        return job.execution_time_s
    until_s = end_s(job)
    return None if job.started_s is None or until_s is None else until_s - job.started_s
