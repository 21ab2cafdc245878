"""What the claiming procedure did: FTT, PGT, PWT and ACT of the jobs, and their placement and claiming tries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from emulator.reports.figures.drawing import COLOURS, LINES, few_ticks, one_legend, panels, thinned
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.reported_run import ReportedRun
from emulator.reports.figures.times import sorted_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PERIODS: Final = {
    "estimated_transfer_s": "FTT",
    "processor_gained_time_s": "PGT",
    "processor_wasted_time_s": "PWT",
    "additional_claiming_s": "ACT",
}
TRIES: Final = {"placement_tries": "placement tries", "claiming_tries": "claiming tries"}
MOST_BARS: Final = 12
"""Numbers of tries that have a bar of their own; the last stands for all larger ones."""


def claiming(run: ReportedRun) -> ReportFigure | None:
    """Return the figure of the claiming procedure in `run`; None if no job was claimed."""
    rows = claiming_rows(run)
    if not any(row[column] is not None for row in rows for column in PERIODS):
        return None
    return ReportFigure(
        "claiming",
        "Claiming: FTT, PGT, PWT and tries",
        "Left: share of the jobs whose period is at most the one below. FTT is the estimated transfer of the files, "
        "PGT the time from placement to claim, PWT from claim to start, ACT by how much the start was postponed. "
        "Right: jobs by their number of tries.",
        rows,
        lambda: _draw(run, rows),
    )


def claiming_rows(run: ReportedRun) -> list[DataRow]:
    """Return a row per finished job, in the order of the record."""
    columns = (*PERIODS, "wait_time_s", *TRIES)
    return [
        {
            "job": job.job,
            "name": job.name,
            "components": len(job.execution_clusters),
            **{column: getattr(job, column) for column in columns},
        }
        for job in run.finished
    ]


def _draw(run: ReportedRun, rows: Sequence[DataRow]) -> Figure:
    figure, (periods, tries) = panels(2.6, 1, 2)
    for place, (column, text) in enumerate(PERIODS.items()):
        found = sorted_times(run.finished, column)
        points = thinned([(value, 100 * (number + 1) / len(found)) for number, value in enumerate(found)], 300)
        if any(value > 0 for value, _ in points):
            periods.step(
                [0.0, *(value for value, _ in points)], [0.0, *(share for _, share in points)], where="post",
                label=text, color=COLOURS[place], linestyle=LINES[place], linewidth=1.2,
            )  # fmt: skip
    periods.set_xlim(left=0)
    periods.set_ylim(0, 102)
    periods.set_xlabel("period (s)")
    periods.set_ylabel("jobs (%)")
    _draw_tries(tries, rows)
    one_legend(figure, [periods, tries], columns=6)
    return figure


def _draw_tries(axis: Axes, rows: Sequence[DataRow]) -> None:
    highest = max((int(row[column] or 0) for row in rows for column in TRIES), default=1)
    last = min(highest, MOST_BARS)
    numbers = list(range(1, last + 1))
    for place, (column, text) in enumerate(TRIES.items()):
        counts = Counter(min(int(row[column] or 0), last) for row in rows)
        at = [number + 0.4 * (place - 0.5) for number in numbers]
        axis.bar(at, [counts[number] for number in numbers], 0.38, label=text, color=COLOURS[4 + place])
    names = [str(number) for number in numbers[:-1]] + [f"{last}" if last == highest else f"≥{last}"]
    axis.set_xticks(numbers, names)
    axis.grid(visible=False, axis="x")
    axis.set_xlabel("tries")
    few_ticks(axis.yaxis, 6, whole=True)
    axis.set_ylabel("jobs")
