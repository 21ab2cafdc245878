"""Wait, execution and response times by the number of components of a job, and by the number of its clusters."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from emulator.fidelity.intervals import mean
from emulator.model.counts import number_of
from emulator.model.records import JobRow
from emulator.reports.figures.drawing import COLOURS, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.reported_run import ReportedRun
from emulator.reports.figures.times import TIMES, sorted_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPONENTS, CLUSTERS = "components", "clusters"
_COUNTS: Final[dict[str, Callable[[JobRow], int | None]]] = {
    COMPONENTS: lambda job: len(job.execution_clusters) or None,
    CLUSTERS: lambda job: job.clusters,
}
_SHARES: Final = {"q05_s": 0.05, "q25_s": 0.25, "median_s": 0.5, "q75_s": 0.75, "q90_s": 0.9, "q95_s": 0.95}


def time_groups(run: ReportedRun) -> ReportFigure | None:
    """Return the figure of the times in `run` by components and by clusters; None if no job finished."""
    rows = group_rows(run.finished)
    if not rows:
        return None
    return ReportFigure(
        "times-by-components",
        "Times by components and by clusters",
        "Boxes reach from a quarter to three quarters of the jobs, with the median in them, whiskers from 5% to 95%. "
        "A dot is the mean. The number of jobs stands below each group.",
        rows,
        lambda: _draw(rows),
    )


def group_rows(jobs: Sequence[JobRow]) -> list[DataRow]:
    """Return a row per group of jobs and time: how many jobs, the mean with its 95% interval, and quantiles."""
    rows: list[DataRow] = []
    for group, counted in _COUNTS.items():
        by_number: dict[int, list[JobRow]] = defaultdict(list)
        for job in jobs:
            number = counted(job)
            if number is not None:
                by_number[number].append(job)
        for number in sorted(by_number):
            for column in TIMES:
                values = sorted_times(by_number[number], column)
                if values:
                    rows.append({"group": group, "number": number, "quantity": column, **_described(values)})
    return rows


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the sorted `values` lie, between two of them by their distance."""
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def _described(values: Sequence[float]) -> dict[str, float | int | None]:
    around = mean(values)
    return {
        "n": len(values),
        "mean_s": statistics.fmean(values),
        "ci_low_s": around.low,
        "ci_high_s": around.high,
        **{name: quantile(values, share) for name, share in _SHARES.items()},
    }


def _draw(rows: Sequence[DataRow]) -> Figure:
    figure, axes = panels(2.8, 1, len(_COUNTS), sharey=True)
    for axis, group in zip(axes, _COUNTS, strict=True):
        _draw_group(axis, group, [row for row in rows if row["group"] == group])
    axes[0].set_ylabel("time (s)")
    axes[0].set_ylim(bottom=0)
    one_legend(figure, axes)
    return figure


def _draw_group(axis: Axes, group: str, rows: Sequence[DataRow]) -> None:
    numbers = list(dict.fromkeys(row["number"] for row in rows))
    for place, (column, text) in enumerate(TIMES.items()):
        of_time = [row for row in rows if row["quantity"] == column]
        at = [numbers.index(row["number"]) + 0.27 * (place - 1) for row in of_time]
        boxes: list[dict[str, Any]] = [
            {
                "med": row["median_s"], "q1": row["q25_s"], "q3": row["q75_s"], "whislo": row["q05_s"],
                "whishi": row["q95_s"], "mean": row["mean_s"], "fliers": [],
            }
            for row in of_time
        ]  # fmt: skip
        colour = COLOURS[place]
        line = {"color": colour, "linewidth": 1.1}
        axis.bxp(
            boxes, positions=at, widths=0.2, showfliers=False, showmeans=True, manage_ticks=False,
            boxprops=line, whiskerprops=line, capprops=line, medianprops={**line, "linewidth": 2.0},
            meanprops={"marker": "o", "markersize": 3, "markerfacecolor": colour, "markeredgewidth": 0},
        )  # fmt: skip
        axis.plot([], [], "s", color=colour, label=text)
    counts = {row["number"]: row["n"] for row in rows}
    axis.set_xticks(
        range(len(numbers)), [f"{number}\n({number_of(int(counts[number] or 0), 'job')})" for number in numbers]
    )
    axis.set_xlim(-0.6, max(len(numbers), 1) - 0.4)
    axis.set_xlabel(group)
    axis.grid(visible=False, axis="x")
