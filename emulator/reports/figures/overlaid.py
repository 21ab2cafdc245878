"""A live run and simulations of it in one figure: the distributions of their times, and the start of every job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from emulator.model.job import JobState
from emulator.reports.compared_runs import TIMES, Comparison
from emulator.reports.figures.drawing import COLOURS, LINES, few_ticks, one_legend, panels, thinned
from emulator.reports.figures.figure import DataRow, ReportFigure, label
from emulator.reports.figures.times import sorted_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from emulator.model.records import JobRow

MOST_POINTS: Final = 300
_CURVES: Final = {column: text for column, text in TIMES.items() if column != "started_s"}


def overlaid(comparisons: Sequence[Comparison], labels: Sequence[str]) -> ReportFigure:
    """Return the figure of the live run and of each simulation, whose `labels` follow that of the live run."""
    return ReportFigure(
        "live-and-simulated",
        "Live and simulated",
        "Left: of the jobs that finished in every run, the share whose time is at most the one below. Right: by how "
        "much each job starts later as simulated.",
        overlaid_rows(comparisons, labels),
        lambda: _draw(comparisons, labels),
    )


def overlaid_rows(comparisons: Sequence[Comparison], labels: Sequence[str]) -> list[DataRow]:
    """Return a row per simulation and job: each time, live and simulated."""
    return [
        {
            "run": text, "name": job.name,
            **{f"live_{column}": getattr(job.live, column) for column in TIMES},
            **{f"simulated_{column}": getattr(job.simulated, column) for column in TIMES},
        }
        for comparison, text in zip(comparisons, labels[1:], strict=True)
        for job in comparison.jobs
    ]  # fmt: skip


def finished_in_all(runs: Sequence[Sequence[JobRow]]) -> list[list[JobRow]]:
    """Return the jobs of each run that finished in all of them, by their names."""
    names = set.intersection(*({job.name for job in jobs if job.state == JobState.FINISHED} for jobs in runs))
    return [[job for job in jobs if job.name in names] for jobs in runs]


def _draw(comparisons: Sequence[Comparison], labels: Sequence[str]) -> Figure:
    figure, axes = panels(2.7, 1, len(_CURVES) + 1)
    runs = finished_in_all([comparisons[0].live.jobs, *(comparison.simulated.jobs for comparison in comparisons)])
    for axis, (column, text) in zip(axes, _CURVES.items(), strict=False):
        for place, jobs in enumerate(runs):
            _curve(axis, jobs, column, place, label(labels[place]))
        axis.set_xlim(left=0)
        axis.set_ylim(0, 102)
        axis.set_xlabel(f"{text} (s)")
        few_ticks(axis.xaxis, 3)
    axes[0].set_ylabel("jobs (%)")
    _draw_starts(axes[-1], comparisons)
    one_legend(figure, axes, columns=3)
    return figure


def _curve(axis: Axes, jobs: Sequence[JobRow], column: str, place: int, text: str) -> None:
    found = sorted_times(jobs, column)
    points = thinned([(value, 100 * (number + 1) / len(found)) for number, value in enumerate(found)], MOST_POINTS)
    if points:
        axis.step(
            [0.0, *(value for value, _ in points)], [0.0, *(share for _, share in points)], where="post", label=text,
            color=COLOURS[place % len(COLOURS)], linestyle=LINES[place % len(LINES)], linewidth=1.2,
        )  # fmt: skip


def _draw_starts(axis: Axes, comparisons: Sequence[Comparison]) -> None:
    for place, comparison in enumerate(comparisons, start=1):
        later = [
            (job.live.started_s, difference_s)
            for job in comparison.jobs
            if job.live.started_s is not None and (difference_s := job.difference_s("started_s")) is not None
        ]
        shown = thinned(later, MOST_POINTS)
        axis.plot(
            [at_s for at_s, _ in shown], [by_s for _, by_s in shown], ".", color=COLOURS[place % len(COLOURS)],
            markersize=3,
        )  # fmt: skip
    axis.axhline(0.0, color="#000000", linewidth=0.7)
    axis.set_xlabel("start, live (s)")
    axis.set_ylabel("later, simulated (s)")
    few_ticks(axis.xaxis, 3)
