"""Extension factors with their intervals: those that a measurement asked for, and those among a campaign's jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from emulator.reports.attribution_figure import draw_attribution
from emulator.reports.figures.drawing import COLOURS, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure, label
from emulator.reports.figures.reported_run import ReportedRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_FACTORS: Final = 24
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")


def factors(runs: Sequence[ReportedRun]) -> ReportFigure | None:
    """Return the figure of all extension factors in `runs`; None if there are none."""
    rows = [row for run in runs for row in factor_rows(run)]
    if not rows:
        return None
    shown = rows[:MOST_FACTORS]
    left_out = "" if len(shown) == len(rows) else f" The first {len(shown)} of {len(rows)} are drawn."
    low, high = _limits(shown)
    ends = [float(end) for row in rows for end in (row["ci_low"], row["ci_high"]) if end is not None]
    if ends and (min(ends) < low or max(ends) > high):
        left_out += " Intervals that are much wider than the range of the factors are cut off at the edge."
    return ReportFigure(
        "extension-factors",
        "Extension factors",
        "Execution over several clusters, relative to the same job in one cluster, with 95% intervals. Hollow marks "
        f"belong to figures that are not valid.{left_out}",
        rows,
        lambda: _draw(shown),
    )


def factor_rows(run: ReportedRun) -> list[DataRow]:
    """Return a row per extension factor of `run`."""
    measured = [
        _row(run, row.application, row.grid, row.processors, row.spread_over, row.extension_factor, row.ci_low,
             row.ci_high, row.n, row.verdict)
        for row in run.records.extension_factors
        if row.extension_factor is not None and row.clusters > 1
    ]  # fmt: skip
    return measured + [
        _row(run, found.application, None, found.processors, str(found.clusters), found.factor.value, found.factor.low,
             found.factor.high, found.factor.n, run.records.manifest.verdict)
        for found in run.summary.factors
    ]  # fmt: skip


def attribution(run: ReportedRun) -> ReportFigure | None:
    """Return the figure of the parts of the extension factors of `run`; None if they were not attributed."""
    rows = run.records.attribution
    if not rows:
        return None
    return ReportFigure(
        "attribution",
        "What extension factors are made of",
        "A bar is as high as its factor; its parts are what each cause contributes, in runtimes of one cluster.",
        [row.model_dump(mode="json") | {"components": "+".join(map(str, row.components))} for row in rows],
        lambda: draw_attribution(rows),
    )


def _row(
    run: ReportedRun, application: str, grid: int | None, processors: int, clusters: str, factor: float,
    low: float | None, high: float | None, n: int, verdict: str,
) -> DataRow:  # fmt: skip
    return {
        "run": run.label, "application": application, "grid": grid, "processors": processors, "clusters": clusters,
        "extension_factor": factor, "ci_low": low, "ci_high": high, "n": n, "verdict": verdict,
    }  # fmt: skip


def _limits(rows: Sequence[DataRow]) -> tuple[float, float]:
    """Return the ends of the axis: 1 and all factors lie within, and intervals unless they are very wide."""
    values = [1.0, *(float(row["extension_factor"] or 1.0) for row in rows)]
    margin = max(0.05, 1.5 * (max(values) - min(values)))
    lows = [float(row["ci_low"]) for row in rows if row["ci_low"] is not None]
    highs = [float(row["ci_high"]) for row in rows if row["ci_high"] is not None]
    low = max(min([*values, *lows]), min(values) - margin)
    high = min(max([*values, *highs]), max(values) + margin)
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def _draw(rows: Sequence[DataRow]) -> Figure:
    jobs = list(dict.fromkeys(_job(row) for row in rows))
    runs = list(dict.fromkeys(str(row["run"]) for row in rows))
    figure, (axis,) = panels(0.24 * len(jobs) + 1.2)
    for place, run in enumerate(runs):
        colour, marker = COLOURS[place % len(COLOURS)], _MARKERS[place % len(_MARKERS)]
        for number, row in enumerate(row for row in rows if row["run"] == run):
            value = float(row["extension_factor"] or 0.0)
            low, high = row["ci_low"], row["ci_high"]
            errors = None if low is None or high is None else [[value - float(low)], [float(high) - value]]
            axis.errorbar(
                [value], [jobs.index(_job(row)) + 0.5 * (place - (len(runs) - 1) / 2) / len(runs)], xerr=errors,
                fmt=marker, color=colour, markersize=4.5, capsize=2.5, linewidth=1.0,
                markerfacecolor=colour if row["verdict"] == "valid" else "none", label=run if number == 0 else None,
            )  # fmt: skip
    axis.axvline(1.0, color="#000000", linewidth=0.7)
    axis.set_yticks(range(len(jobs)), jobs)
    axis.set_ylim(len(jobs) - 0.5, -0.5)
    axis.set_xlim(_limits(rows))
    axis.set_xlabel("extension factor")
    if len(runs) > 1:
        one_legend(figure, [axis], columns=3)
    return figure


def _job(row: DataRow) -> str:
    grid = "" if row["grid"] is None else f" {row['grid']}"
    clusters = row["clusters"]
    return f"{label(str(row['application']))}{grid}, {row['processors']} processors, {clusters} clusters"
