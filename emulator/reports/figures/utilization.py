"""How the processors of a run were used over time, split as in the Close-to-Files paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from emulator.reports.figures.drawing import COLOURS, GREY, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.reported_run import ReportedRun
from emulator.runs.steps import Steps, averaged
from emulator.runs.timelines import BACKGROUND, COALLOCATION, PGT, PWT, mean_shares, utilization_split

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS: Final = {
    BACKGROUND: "background",
    COALLOCATION: "actual co-allocation",
    PWT: "PWT (claimed, waiting)",
    PGT: "PGT (placed, not claimed)",
}
_COLOURS: Final = {BACKGROUND: GREY, COALLOCATION: COLOURS[0], PWT: COLOURS[1], PGT: COLOURS[4]}
MOST_STEPS: Final = 600


def utilization(run: ReportedRun) -> ReportFigure | None:
    """Return the figure of the use of processors in `run`; None if no job held any."""
    split = utilization_split(run)
    if not any(split.values[COALLOCATION]):
        return None
    shares = mean_shares(run, split)
    means = ", ".join(f"{_LABELS[part]} {share:.1%}" for part, share in shares.items() if share)
    thin = " Drawn as means of short periods." if len(split.times_s) > MOST_STEPS else ""
    return ReportFigure(
        "utilization",
        "Utilization",
        f"Share of all processors. Means from the first arrival until the last job finished: {means}.{thin}",
        utilization_rows(split),
        lambda: _draw(run, averaged(split, run.end_s, MOST_STEPS)),
    )


def utilization_rows(split: Steps) -> list[DataRow]:
    """Return a row per change, with the processors in each kind of use from then on."""
    return [
        {"time_s": time_s, **{f"{part}_processors": int(split.values[part][place]) for part in _LABELS}}
        for place, time_s in enumerate(split.times_s)
    ]


def _draw(run: ReportedRun, shown: Steps) -> Figure:
    figure, (axis,) = panels(2.6)
    processors = sum(run.sizes.values())
    times_s = [*shown.times_s, run.end_s]
    below = [0.0] * len(times_s)
    for part, text in _LABELS.items():
        shares = [100 * value / processors for value in shown.values[part]]
        if not any(shares):
            continue
        top = [low + share for low, share in zip(below, [*shares, shares[-1]], strict=True)]
        hatch = "////" if part == PGT else None
        axis.fill_between(times_s, below, top, step="post", label=text, color=_COLOURS[part], hatch=hatch, linewidth=0)
        below = top
    axis.set_xlim(run.shown_from_s or min(0.0, times_s[0]), run.end_s)
    axis.set_ylim(0, max(100.0, *below))
    axis.set_ylabel("processors (%)")
    axis.set_xlabel("emulated time (s)")
    one_legend(figure, [axis])
    return figure
