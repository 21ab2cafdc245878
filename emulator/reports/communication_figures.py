"""Figures of the cost of communication: border exchange by process and by direction, total time, data rate.

Laid out as in the appendix of the measurement study on DAS-2: processes are in their places in the process grid, the
first at the bottom left, and a line separates the components of a job. `write_figures` writes
them into the run's directory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from emulator.model.cell_rows import BorderExchangeRow, CommunicationRow
from emulator.model.counts import number_of
from emulator.model.topology import Topology
from emulator.model.units import megabytes_per_s
from emulator.reports.communication_tables import DIRECTION_COLUMNS, cell_of, cell_title, clusters_title
from emulator.reports.figures.drawing import few_ticks_of_ten
from emulator.reports.pictures import as_png, blank_figure
from emulator.reports.published_communication import published_iteration_s

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COMMUNICATION_FIGURE: Final = "communication_time.png"
DATA_RATE_FIGURE: Final = "data_rate.png"
PROCESSES_FIGURE: Final = "border_exchange_processes-{problem}.png"
DIRECTIONS_FIGURE: Final = "border_exchange_directions-{problem}.png"

_PLACE_INCHES: Final = 0.55
_LEAST_PANEL_INCHES: Final = 2.0
_DARK: Final = 0.6
"""Share of the scale below which a colour is so dark that it is written on in white."""


def write_figures(
    directory: Path, totals: Sequence[CommunicationRow], processes: Sequence[BorderExchangeRow], topology: Topology
) -> list[Path]:
    """Write every figure of a measurement of communication into `directory`, and return their paths."""
    pictures = {COMMUNICATION_FIGURE: communication_figure(totals, topology)}
    if any(row.data_rate_mbit is not None for row in totals):
        pictures[DATA_RATE_FIGURE] = data_rate_figure(totals)
    for problem, rows in _by_problem(processes).items():
        pictures[PROCESSES_FIGURE.format(problem=problem)] = process_figure(rows)
        if any(getattr(row, column) is not None for row in rows for column in DIRECTION_COLUMNS):
            pictures[DIRECTIONS_FIGURE.format(problem=problem)] = direction_figure(rows)
    for name, picture in pictures.items():
        (directory / name).write_bytes(picture)
    return [directory / name for name in pictures]


def _by_problem(processes: Sequence[BorderExchangeRow]) -> dict[str, list[BorderExchangeRow]]:
    found: dict[str, list[BorderExchangeRow]] = {}
    for row in processes:
        grid = "" if row.grid is None else f"-{row.grid}"
        found.setdefault(f"{row.application}{grid}-on-{row.processors}", []).append(row)
    return found


def process_figure(rows: Sequence[BorderExchangeRow]) -> bytes:
    """Draw totals of each process of a problem: a panel for each number of clusters, the synchronized ones above."""
    modes = sorted({row.synchronized for row in rows}, reverse=True)
    variants = _variants(rows)
    inches = _panel_inches(rows)
    figure = blank_figure((inches[0] * len(variants), (inches[1] + 0.4) * len(modes) + 0.5))
    axes = figure.subplots(len(modes), len(variants), squeeze=False)
    for mode, of_mode in zip(modes, axes, strict=True):
        for variant, axis in zip(variants, of_mode, strict=True):
            panel = [row for row in rows if (row.synchronized, row.spread_over, row.interconnect) == (mode, *variant)]
            title = f"{clusters_title(*variant)},\n{'synchronized' if mode else 'not synchronized'}"
            _draw_places(axis, panel, "total_s", title)
    figure.suptitle(f"Border exchange of each process (s): {_problem_title(rows[0])}", fontsize=10)
    return as_png(figure)


def direction_figure(rows: Sequence[BorderExchangeRow]) -> bytes:
    """Draw times of each process of a problem by direction: a line of panels for each number of clusters."""
    synchronized = any(row.synchronized for row in rows)
    shown = [row for row in rows if row.synchronized is synchronized]
    variants = _variants(shown)
    inches = _panel_inches(rows)
    figure = blank_figure((inches[0] * len(DIRECTION_COLUMNS), (inches[1] + 0.4) * len(variants) + 0.5))
    axes = figure.subplots(len(variants), len(DIRECTION_COLUMNS), squeeze=False)
    for variant, of_cell in zip(variants, axes, strict=True):
        panel = [row for row in shown if (row.spread_over, row.interconnect) == variant]
        most_s = max(getattr(row, column) or 0.0 for row in panel for column in DIRECTION_COLUMNS)
        for column, axis in zip(DIRECTION_COLUMNS, of_cell, strict=True):
            title = f"{column.removesuffix('_s')},\n{clusters_title(*variant)}"
            _draw_places(axis, panel, column, title, most_s)
    mode = "synchronized" if synchronized else "not synchronized"
    figure.suptitle(f"Border exchange by direction (s), {mode}: {_problem_title(rows[0])}", fontsize=10)
    return as_png(figure)


def _variants(rows: Sequence[BorderExchangeRow]) -> list[tuple[str, str]]:
    """Return the numbers of clusters, each with the interconnects inside them, in the order of the rows."""
    return list(dict.fromkeys((row.spread_over, row.interconnect) for row in rows))


def _problem_title(row: BorderExchangeRow) -> str:
    return cell_title(cell_of(row)).rpartition(" over ")[0]


def _panel_inches(rows: Sequence[BorderExchangeRow]) -> tuple[float, float]:
    columns, height = 1 + max(row.column for row in rows), 1 + max(row.row for row in rows)
    return max(_LEAST_PANEL_INCHES, columns * _PLACE_INCHES), max(_LEAST_PANEL_INCHES * 0.6, height * _PLACE_INCHES)


def _draw_places(
    axis: Axes, rows: Sequence[BorderExchangeRow], column: str, title: str, most_s: float | None = None
) -> None:
    """Draw processes in their places with number and time, darker where less; `most_s` is drawn lightest."""
    axis.set_title(title, fontsize=8)
    axis.set_xticks([])
    axis.set_yticks([])
    if not rows:
        axis.set_visible(False)
        return
    times_s = np.zeros((1 + max(row.row for row in rows), 1 + max(row.column for row in rows)))
    for row in rows:
        times_s[row.row, row.column] = getattr(row, column) or 0.0
    scale_s = most_s or float(times_s.max()) or 1.0
    axis.imshow(times_s, origin="lower", vmin=0.0, vmax=scale_s, cmap="viridis", aspect="auto")
    for row in rows:
        value = getattr(row, column)
        shown = "" if value is None else f"{value:.3g}"
        dark = times_s[row.row, row.column] < _DARK * scale_s
        axis.text(
            row.column, row.row, f"{row.process}\n{shown}", ha="center", va="center", fontsize=7,
            color="white" if dark else "black",
        )  # fmt: skip
    lowest = {row.column: row for row in rows if row.row == 0}
    for place in range(1, len(lowest)):
        if lowest[place].component != lowest[place - 1].component:
            axis.axvline(place - 0.5, color="white", linewidth=2.5)


def communication_figure(rows: Sequence[CommunicationRow], topology: Topology) -> bytes:
    """Draw communication time per iteration of each cell, synchronized and not, with 95% intervals."""
    cells = [cell for cell, _ in groupby(rows, key=cell_of)]
    figure = blank_figure((max(4.5, 1.2 * len(cells) + 1.5), 3.4))
    axis = figure.subplots()
    for offset, synchronized, label in ((-0.2, True, "synchronized"), (0.2, False, "not synchronized")):
        of_mode = {cell_of(row): row for row in rows if row.synchronized is synchronized}
        at = {place + offset: of_mode[cell] for place, cell in enumerate(cells) if cell in of_mode}
        _draw_times(axis, at, label)
        known = {x: published_iteration_s(row, topology) for x, row in at.items()}
        points = [(x, value_s * 1000) for x, value_s in known.items() if value_s is not None]
        if points:
            name = "published (DAS-2)" if synchronized else "_also published"
            axis.plot(*zip(*points, strict=True), "kD", markersize=4, label=name)
    few_ticks_of_ten(axis, "y")
    axis.tick_params(labelsize=7)
    axis.set_ylabel("communication per iteration (ms)", fontsize=8)
    axis.set_xticks(range(len(cells)), [_tick(*cell) for cell in cells], fontsize=7)
    figure.legend(fontsize=7, loc="outside lower center", ncols=3)
    axis.set_title("Total communication time", fontsize=10)
    return as_png(figure)


def _draw_times(axis: Axes, at: Mapping[float, CommunicationRow], label: str) -> None:
    values_ms = [row.communication_s / row.iterations * 1000 for row in at.values()]
    below_s = [0.0 if row.ci_low is None else row.communication_s - row.ci_low for row in at.values()]
    above_s = [0.0 if row.ci_high is None else row.ci_high - row.communication_s for row in at.values()]
    errors_ms = [
        [side_s / row.iterations * 1000 for side_s, row in zip(sides_s, at.values(), strict=True)]
        for sides_s in (below_s, above_s)
    ]
    axis.bar(list(at), values_ms, 0.38, yerr=errors_ms, label=label, error_kw={"elinewidth": 0.8})


def _tick(application: str, grid: int | None, processors: int, spread_over: str, interconnect: str) -> str:
    on_grid = "" if grid is None else f" {grid}"
    inside = f"\n{interconnect}" if interconnect else ""
    return f"{application}{on_grid}\n{number_of(processors, 'processor')}\n{clusters_title(spread_over, '')}{inside}"


def _line(row: CommunicationRow) -> tuple[str, int, int, str, str]:
    """Return what the points of a line have in common, in the order of the lines."""
    return row.application, row.processors, row.clusters, row.spread_over, row.interconnect


def data_rate_figure(rows: Sequence[CommunicationRow]) -> bytes:
    """Draw the data rate of an interior process while it communicates, synchronized, against the grid."""
    figure = blank_figure((4.5, 3.2))
    axis = figure.subplots()
    measured = [row for row in rows if row.data_rate_mbit is not None and row.grid is not None]
    lines = sorted({_line(row) for row in measured})
    for line in lines:
        application, processors, _, spread_over, interconnect = line
        points = sorted(
            (row.grid or 0, megabytes_per_s(row.data_rate_mbit or 0.0)) for row in measured if _line(row) == line
        )
        label = f"{application}, {number_of(processors, 'processor')}, {clusters_title(spread_over, interconnect)}"
        axis.plot(*zip(*points, strict=True), "o-", label=label)
    axis.set_xscale("log")
    few_ticks_of_ten(axis, "y")
    axis.tick_params(labelsize=7)
    grids = sorted({row.grid for row in measured if row.grid is not None})
    axis.set_xticks(grids, [str(grid) for grid in grids])
    axis.set_xticks([], minor=True)
    axis.set_xlabel("points along a side of the grid", fontsize=8)
    axis.set_ylabel("data rate (MB/s)", fontsize=8)
    figure.legend(fontsize=7, loc="outside lower center")
    axis.set_title("Data rate of an interior process", fontsize=10)
    return as_png(figure)
