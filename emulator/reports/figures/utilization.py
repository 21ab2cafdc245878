"""How the processors of a run were used over time, split as in the Close-to-Files paper.

Background load; actual co-allocation, in which grid jobs execute; PWT, in which they hold processors and wait for their
start; PGT, in which processors are set aside for a placed job and others can still use them. The real total is the sum
of the first three.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from emulator.reports.figures.drawing import COLOURS, GREY, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.figures.reported_run import BackgroundUse, ReportedRun, Stay
from emulator.reports.figures.steps import Change, Steps, averaged, mean_between, steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BACKGROUND, COALLOCATION, PWT, PGT = "background", "coallocation", "pwt", "pgt"
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
        f"Share of all processors. Means until the last job finished: {means}.{thin}",
        utilization_rows(split),
        lambda: _draw(run, averaged(split, run.end_s, MOST_STEPS)),
    )


def utilization_split(run: ReportedRun) -> Steps:
    """Return the processors in each kind of use, whenever one of them changes."""
    return steps(
        {
            BACKGROUND: list(background_changes(run.background)),
            COALLOCATION: [change for stay in run.stays for change in _executing(stay)],
            PWT: [change for stay in run.stays for change in _wasted(stay)],
            PGT: [change for stay in run.stays for change in _gained(stay)],
        }
    )


def utilization_rows(split: Steps) -> list[DataRow]:
    """Return a row per change, with the processors in each kind of use from then on."""
    return [
        {"time_s": time_s, **{f"{part}_processors": int(split.values[part][place]) for part in _LABELS}}
        for place, time_s in enumerate(split.times_s)
    ]


def mean_shares(run: ReportedRun, split: Steps, begin_s: float = 0.0, end_s: float | None = None) -> dict[str, float]:
    """Return the mean share of all processors in each kind of use, by default until the last job finished."""
    last_s = max((job.finished_s for job in run.jobs if job.finished_s is not None), default=run.end_s)
    until_s = last_s if end_s is None else end_s
    processors = sum(run.sizes.values())
    return {
        part: mean_between(split.times_s, values, begin_s, until_s) / processors
        for part, values in split.values.items()
    }


def background_changes(uses: Sequence[BackgroundUse], kind: str | None = None) -> Iterator[Change]:
    """Return by how much the processors change that jobs of one kind hold over all clusters; by default of any kind."""
    held: dict[str, int] = defaultdict(int)
    for use in uses:
        now = sum(use.processors.values()) if kind is None else use.processors[kind]
        yield use.time_s, now - held[use.cluster]
        held[use.cluster] = now


def _executing(stay: Stay) -> Iterator[Change]:
    if stay.started_s is not None and stay.finished_s is not None:
        yield stay.started_s, stay.processors
        yield stay.finished_s, -stay.processors


def _wasted(stay: Stay) -> Iterator[Change]:
    until_s = stay.started_s if stay.started_s is not None else stay.released_s
    if stay.claimed_s is not None and until_s is not None:
        yield stay.claimed_s, stay.processors
        yield until_s, -stay.processors


def _gained(stay: Stay) -> Iterator[Change]:
    if stay.placed_s is not None and stay.claimed_s is not None:
        yield stay.placed_s, stay.processors
        yield stay.claimed_s, -stay.processors


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
    axis.set_xlim(min(0.0, times_s[0]), run.end_s)
    axis.set_ylim(0, max(100.0, *below))
    axis.set_ylabel("processors (%)")
    axis.set_xlabel("emulated time (s)")
    one_legend(figure, [axis])
    return figure
