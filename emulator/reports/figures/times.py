"""The distribution of the wait, execution and response times of the jobs that finished, of one run or of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from emulator.model.records import JobRow
from emulator.reports.figures.drawing import (
    COLOURS,
    LINES,
    MOST_RUNS,
    few_ticks,
    one_legend,
    only_first_drawn,
    panels,
    thinned,
)
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.reported_run import ReportedRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TIMES: Final = {"wait_time_s": "wait time", "execution_time_s": "execution time", "response_time_s": "response time"}
"""The times of a job that are compared, by their column in ``jobs.csv``."""

MOST_POINTS: Final = 300


def times(runs: Sequence[ReportedRun]) -> ReportFigure | None:
    """Return the figure of the times of `runs`; None if no job finished."""
    rows = [row for run in runs for row in time_rows(run)]
    if not rows:
        return None
    return ReportFigure(
        "times",
        "Wait, execution and response times",
        "Share of the finished jobs whose time is at most the one below; a curve farther left is better. The dotted "
        f"lines are at half of the jobs, at 90% and at 95%.{only_first_drawn(len(runs))}",
        rows,
        lambda: _draw(runs[:MOST_RUNS]),
    )


def time_rows(run: ReportedRun) -> list[DataRow]:
    """Return a row per finished job, in the order of the record."""
    return [
        {"run": run.label, "job": job.job, "name": job.name, **{column: getattr(job, column) for column in TIMES}}
        for job in run.finished
    ]


def sorted_times(jobs: Sequence[JobRow], column: str) -> list[float]:
    """Return the known times of `jobs` in a column, the shortest first."""
    return sorted(value for job in jobs if (value := getattr(job, column)) is not None)


def _draw(runs: Sequence[ReportedRun]) -> Figure:
    figure, axes = panels(2.6, 1, len(TIMES), sharey=True)
    for axis, (column, text) in zip(axes, TIMES.items(), strict=True):
        for place, run in enumerate(runs):
            _curve(axis, run, column, place)
        for share in (50, 90, 95):
            axis.axhline(share, color="#8C8C8C", linestyle=":", linewidth=0.7)
        axis.set_xlim(left=0)
        axis.set_ylim(0, 100)
        axis.set_xlabel(f"{text} (s)")
        few_ticks(axis.xaxis, 4)
    axes[0].set_ylabel("jobs (%)")
    if len(runs) > 1:
        one_legend(figure, axes, columns=3)
    return figure


def _curve(axis: Axes, run: ReportedRun, column: str, place: int) -> None:
    found = sorted_times(run.finished, column)
    points = thinned([(value, 100 * (number + 1) / len(found)) for number, value in enumerate(found)], MOST_POINTS)
    if points:
        axis.step(
            [0.0, *(value for value, _ in points)], [0.0, *(share for _, share in points)], where="post",
            label=run.label, color=COLOURS[place % len(COLOURS)], linestyle=LINES[place % len(LINES)], linewidth=1.2,
        )  # fmt: skip
