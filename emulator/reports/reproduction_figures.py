"""The figure of a reproduction: each cell as published and as measured, and the errors below."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from emulator.model.cell_rows import ReproductionRow
from emulator.model.counts import number_of
from emulator.reports.pictures import as_png, blank_figure
from emulator.studies.reproduction_rows import RUNTIME

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL_INCHES: Final = 0.3
_LEAST_INCHES: Final = 5.5


def reproduction_figure(rows: Sequence[ReproductionRow], title: str) -> bytes:
    """Draw seconds of an iteration above, errors of totals and factors below; calibrated cells are on grey."""
    figure = blank_figure((max(_LEAST_INCHES, _CELL_INCHES * len(rows) + 1.5), 5.6))
    times, errors = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_times(times, rows)
    _draw_errors(errors, rows)
    for axis in (times, errors):
        _shade_calibrated(axis, rows)
        axis.tick_params(labelsize=7)
        axis.margins(x=0.02)
    for axis, place in ((times, "lower right"), (errors, "best")):
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=7, loc=place)
    errors.set_xticks(range(len(rows)), [row.setup for row in rows], rotation=90, fontsize=7)
    figure.suptitle(title, fontsize=10)
    return as_png(figure)


def _shade_calibrated(axis: Axes, rows: Sequence[ReproductionRow]) -> None:
    places = [place for place, row in enumerate(rows) if row.calibrated]
    for place in places:
        label = "calibrated on" if place == places[0] else None
        axis.axvspan(place - 0.5, place + 0.5, color="0.92", zorder=0, linewidth=0, label=label)


def _draw_times(axis: Axes, rows: Sequence[ReproductionRow]) -> None:
    published = [
        (place, row.published_s / (row.iterations * row.processor_speed) * 1000)
        for place, row in enumerate(rows)
        if row.published_s is not None and row.iterations
    ]
    axis.plot(range(len(rows)), [row.iteration_s * 1000 for row in rows], "o", markersize=5, label="measured")
    if published:
        axis.plot(*zip(*published, strict=True), "k_", markersize=11, markeredgewidth=1.5, label="published (DAS-2)")
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.set_ylabel("an iteration (ms)", fontsize=8)
    first = 0
    for problem, of_problem in groupby(rows, key=_problem):
        count = len(list(of_problem))
        axis.text(first + (count - 1) / 2, 1.02, problem, ha="center", fontsize=6, transform=axis.get_xaxis_transform())
        axis.axvline(first - 0.5, color="0.7", linewidth=0.6)
        first += count


def _problem(row: ReproductionRow) -> str:
    grid = "" if row.grid is None else f"grid {row.grid}\n"
    quantity = "" if row.quantity == RUNTIME else f"\n{row.quantity.replace(', ', ',' + chr(10))}"
    return f"{grid}{number_of(row.processors, 'processor')}{quantity}"


def _draw_errors(axis: Axes, rows: Sequence[ReproductionRow]) -> None:
    for offset, label, errors in (
        (-0.2, "total", [row.error for row in rows]),
        (0.2, "factor", [row.factor_error for row in rows]),
    ):
        at = [(place + offset, 100 * error) for place, error in enumerate(errors) if error is not None]
        if at:
            axis.bar([place for place, _ in at], [percent for _, percent in at], 0.38, label=label, zorder=2)
    axis.axhline(0.0, color="black", linewidth=0.6)
    axis.set_ylabel("error (%)", fontsize=8)
