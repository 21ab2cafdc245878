"""Several runs of the same jobs: by how much each time differs from that of the first run, job by job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from emulator.fidelity.intervals import Estimate, mean
from emulator.model.records import JobRow
from emulator.reports.figures.drawing import COLOURS, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.reported_run import ReportedRun
from emulator.reports.figures.times import TIMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
"""The markers of what is compared, in order."""


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

    A run of another seed has other jobs under the same names, and is left out.
    """
    same_seed = [run for run in runs if run.records.manifest.seed == runs[0].records.manifest.seed]
    rows = [row for other in same_seed[1:] for row in difference_rows(runs[0], other)]
    if not rows:
        return None
    return ReportFigure(
        "paired-differences",
        "Paired differences",
        f"Mean over the jobs that both runs finished of their time in a run minus that in {runs[0].label}, with 95% "
        "intervals that take jobs as independent. Left of zero the run is faster. Runs of other seeds are left out.",
        rows,
        lambda: _draw(rows),
    )


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
    runs = list(dict.fromkeys(str(row["run"]) for row in rows))
    columns = list(TIMES)
    figure, (axis,) = panels(0.16 * len(rows) + 1.3)
    for place, run in enumerate(runs):
        for number, row in enumerate(row for row in rows if row["run"] == run):
            value, low, high = (float(row[column] or 0.0) for column in ("difference_s", "ci_low_s", "ci_high_s"))
            errors = None if row["ci_low_s"] is None else [[value - low], [high - value]]
            at = columns.index(str(row["quantity"])) + 0.6 * (place - (len(runs) - 1) / 2) / len(runs)
            axis.errorbar(
                [value], [at], xerr=errors, fmt=MARKERS[place % len(MARKERS)], color=COLOURS[place % len(COLOURS)],
                markersize=4.5, capsize=2.5, linewidth=1.0, label=run if number == 0 else None,
            )  # fmt: skip
    axis.axvline(0.0, color="#000000", linewidth=0.7)
    axis.set_yticks(range(len(columns)), list(TIMES.values()))
    axis.set_ylim(len(columns) - 0.5, -0.5)
    axis.set_xlabel("difference (s)")
    one_legend(figure, [axis], columns=3)
    return figure
