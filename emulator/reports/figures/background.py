"""The background load of a run over time, in the band in which it was to be held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from emulator.model.background import processor_band
from emulator.reports.figures.drawing import COLOURS, GREY, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure, label
from emulator.reports.figures.reported_run import ReportedRun
from emulator.runs.steps import Steps, averaged, steps
from emulator.runs.timelines import background_changes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STEPS: Final = 600
FIRST_MINUTE_S: Final = 60.0


def background(run: ReportedRun) -> ReportFigure | None:
    """Return the figure of the background load of `run`; None if the run recorded none."""
    if not run.background:
        return None
    kinds = list(dict.fromkeys(kind for use in run.background for kind in use.processors))
    loads = steps({kind: background_changes(run.background, kind) for kind in kinds})
    rows: list[DataRow] = [
        {"time_s": use.time_s, "cluster": use.cluster, **{f"{kind}_processors": use.processors[kind] for kind in kinds}}
        for use in run.background
    ]
    return ReportFigure(
        "background", "Background load", _in_words(run), rows,
        lambda: _draw(run, averaged(loads, run.end_s, MOST_STEPS)),
    )  # fmt: skip


def share_in_band(run: ReportedRun) -> float | None:
    """Return the share of the time after the first minute in which the whole load was in its band."""
    begin_s = FIRST_MINUTE_S / run.records.manifest.time_scale
    if run.band is None or run.end_s <= begin_s:
        return None
    band = processor_band(run.band, sum(run.sizes.values()))
    total = steps({"load": background_changes(run.background)})
    inside_s = 0.0
    for from_s, until_s, load in zip(total.times_s, [*total.times_s[1:], run.end_s], total.values["load"], strict=True):
        if band.least <= load <= band.most:
            inside_s += max(0.0, min(until_s, run.end_s) - max(from_s, begin_s))
    return inside_s / (run.end_s - begin_s)


def _in_words(run: ReportedRun) -> str:
    inside = share_in_band(run)
    if run.band is None or inside is None:
        return "Share of all processors that jobs of others than the grid held."
    low, high = run.band
    return (
        f"Share of all processors that jobs of others than the grid held. Its band of {low:.0%} to {high:.0%} is "
        f"shaded; after the first minute the load was in it for {inside:.1%} of the time."
    )


def _draw(run: ReportedRun, shown: Steps) -> Figure:
    figure, (axis,) = panels(2.2)
    processors = sum(run.sizes.values())
    times_s = [*shown.times_s, run.end_s]
    below = [0.0] * len(times_s)
    for place, (kind, values) in enumerate(shown.values.items()):
        shares = [100 * value / processors for value in values]
        top = [low + share for low, share in zip(below, [*shares, shares[-1]], strict=True)]
        text = f"{label(kind)} jobs"
        axis.fill_between(times_s, below, top, step="post", color=COLOURS[place % 6], linewidth=0, label=text)
        below = top
    if run.band is not None:
        low, high = (100 * share for share in run.band)
        axis.axhspan(low, high, facecolor="none", edgecolor=GREY, hatch="....", linewidth=0, label="band")
        axis.axhline(low, color=GREY, linewidth=0.8)
        axis.axhline(high, color=GREY, linewidth=0.8)
    axis.set_xlim(run.shown_from_s or min(0.0, times_s[0]), run.end_s)
    axis.set_ylim(bottom=0)
    axis.set_ylabel("processors (%)")
    axis.set_xlabel("emulated time (s)")
    one_legend(figure, [axis])
    return figure
