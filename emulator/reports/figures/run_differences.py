"""Several runs of the same jobs: by how much each time differs from that of the first run, job by job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emulator.fidelity.intervals import Estimate, mean
from emulator.model.records import JobRow
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.points import drawn_points, point_of
from emulator.reports.figures.reported_run import ReportedRun
from emulator.reports.figures.times import TIMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def same_jobs(first: Sequence[JobRow], other: Sequence[JobRow]) -> list[tuple[JobRow, JobRow]]:
    """Return the jobs that both runs have by name, with the same application and total size, in order of the first.

    A name that is used twice in a run belongs to no pair.
    """
    mine, theirs = _by_name(first), _by_name(other)
    pairs = [(job, theirs[name]) for name, job in mine.items() if name in theirs]
    return [(job, same) for job, same in pairs if _problem(job) == _problem(same)]


def _by_name(jobs: Sequence[JobRow]) -> dict[str, JobRow]:
    found: dict[str, JobRow] = {}
    twice: set[str] = set()
    for job in jobs:
        if job.name in found:
            twice.add(job.name)
        found[job.name] = job
    return {name: job for name, job in found.items() if name not in twice}


def _problem(job: JobRow) -> tuple[str, int]:
    return job.application, job.processors


def run_differences(runs: Sequence[ReportedRun]) -> ReportFigure | None:
    """Return the figure of the differences of further runs from the first; None if they have no jobs in common.

    A run of another seed has other jobs under the same names, and one of another time scale counts other seconds: both
    are left out.
    """
    rows = [row for other in runs[1:] if _alike(runs[0]) == _alike(other) for row in difference_rows(runs[0], other)]
    if not rows:
        return None
    return ReportFigure(
        "paired-differences",
        "Paired differences",
        f"Mean over the jobs that both runs finished of their time in a run minus that in {runs[0].label}, with 95% "
        "intervals that take jobs as independent. Left of zero the run is faster. Runs of other seeds or time scales "
        "are left out.",
        rows,
        lambda: _draw(rows),
    )


def _alike(run: ReportedRun) -> tuple[int, float]:
    """Return what runs must have in common so that their jobs and their seconds are the same."""
    manifest = run.records.manifest
    return manifest.seed, manifest.time_scale


def difference_rows(first: ReportedRun, other: ReportedRun) -> list[DataRow]:
    """Return a row per time: the mean difference of the jobs that both finished, with its interval."""
    rows: list[DataRow] = []
    pairs = same_jobs(first.finished, other.finished)
    for column in TIMES:
        around = _difference(pairs, column)
        if around is not None:
            rows.append(
                {
                    "run": other.label, "first_run": first.label, "quantity": column, "difference_s": around.value,
                    "ci_low_s": around.low, "ci_high_s": around.high, "n": around.n,
                }
            )  # fmt: skip
    return rows


def _difference(pairs: Sequence[tuple[JobRow, JobRow]], column: str) -> Estimate | None:
    found = [(getattr(job, column), getattr(same, column)) for job, same in pairs]
    differences = [after - before for before, after in found if before is not None and after is not None]
    return mean(differences) if differences else None


def _draw(rows: Sequence[DataRow]) -> Figure:
    points = [point_of(row, "run", "difference_s", "ci_low_s", "ci_high_s") for row in rows]
    return drawn_points(points, TIMES, 0.0, "difference (s)")
