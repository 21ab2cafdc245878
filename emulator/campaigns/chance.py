"""What took a different time for each job of a live run, for reasons that no simulation knows.

These are the login before a transfer of a file, the check after it, and the release of a job's processors. They are
host work, most of it; but near saturation a millisecond decides which job is placed where.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from emulator.model.records import JobRow, TransferRow
from emulator.runs.run_directory import RunRecords
from workloads.distributions import stream


@dataclass(frozen=True, slots=True)
class Chance:
    """Times that transfers and jobs of a simulation have in turn; none is empty."""

    logins_s: tuple[float, ...]
    checks_s: tuple[float, ...]
    releases_s: tuple[float, ...]

    @classmethod
    def of(cls, run: RunRecords, draw: int | None) -> Chance:
        """Return the mean of each time in `run`; with the seed of a `draw`, as many draws as were recorded."""
        logins_s, checks_s = _around_transfers(run.jobs, run.transfers)
        releases_s = [
            max(0.0, job.released_s - job.finished_s)
            for job in run.jobs
            if job.released_s is not None and job.finished_s is not None
        ]
        return cls(
            _taken(logins_s, draw, "logins"), _taken(checks_s, draw, "checks"), _taken(releases_s, draw, "releases")
        )

    def record(self, *, files: bool) -> dict[str, float]:
        """Return the means for a manifest; those of transfers only if jobs have files."""
        around = {"login_s": statistics.fmean(self.logins_s), "check_s": statistics.fmean(self.checks_s)}
        return {**(around if files else {}), "release_s": statistics.fmean(self.releases_s)}


def _taken(recorded_s: Sequence[float], draw: int | None, quantity: str) -> tuple[float, ...]:
    if not recorded_s:
        return (0.0,)
    if draw is None:
        return (statistics.fmean(recorded_s),)
    return tuple(map(float, stream(draw, quantity).choice(recorded_s, len(recorded_s))))


def _around_transfers(jobs: Sequence[JobRow], transfers: Sequence[TransferRow]) -> tuple[list[float], list[float]]:
    """Return the time from placement to first byte of each transfer, and from last byte to start of each job.

    The latter counts where the file came after the planned start, since other jobs start when they are planned to.
    """
    by_number = {job.job: job for job in jobs}
    arrived_s: dict[int, float] = {}
    logins_s: list[float] = []
    for transfer in transfers:
        job = by_number.get(transfer.job)
        if job is not None and job.placed_s is not None:
            logins_s.append(max(0.0, transfer.began_s - job.placed_s))
            arrived_s[job.job] = max(transfer.arrived_s, arrived_s.get(job.job, transfer.arrived_s))
    checks_s = [
        max(0.0, started_s - came_s)
        for job, came_s in ((by_number[number], came_s) for number, came_s in arrived_s.items())
        if (started_s := job.started_s) is not None and came_s >= (job.planned_start_s or 0.0)
    ]
    return logins_s, checks_s
