"""A sweep of simulations as files: a row per simulation, a row per cell with intervals, and response against load.

A further file holds all that the sweep was made from.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from emulator.campaigns.simulation_sweep import QUANTITIES, SimulationSweepCell
from emulator.fidelity.intervals import Estimate, paired_ratio_of_means
from emulator.fidelity.judgement import Judgement
from emulator.model.whole_files import written_whole
from emulator.reports.figures.drawing import COLOURS, LINES, one_legend, panels, write_figures
from emulator.reports.figures.figure import DataRow, ReportFigure, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIMULATIONS_FILE: Final = "simulations.csv"
CELLS_FILE: Final = "cells.csv"
INPUTS_FILE: Final = "inputs.json"
FIGURE: Final = "response-by-load"
_DRAWN: Final = {"response_s": "response time (s)", "wait_s": "wait time (s)"}


def write_sweep(cells: Sequence[SimulationSweepCell], record: Mapping[str, Any], folder: Path) -> None:
    """Write the tables of a sweep and its `record` into `folder`, and the figure if it went over loads.

    Equal sweeps give equal bytes.

    Raises:
        InvalidInput: if they cannot be written there.
    """
    with written_whole(folder / INPUTS_FILE) as text:
        text.write(json.dumps(record, indent=2) + "\n")
    _write(folder / SIMULATIONS_FILE, simulation_rows(cells))
    _write(folder / CELLS_FILE, cell_rows(cells))
    if len({cell.load for cell in cells}) > 1:
        write_figures([(FIGURE, load_figure(cells))], folder)


def simulation_rows(cells: Sequence[SimulationSweepCell]) -> list[dict[str, Any]]:
    """Return a row per simulation."""
    return [
        {"policy": cell.policy, "queue": cell.queue, "load": outcome["load"], "seed": seed, **outcome}
        for cell in cells
        for seed, outcome in enumerate(cell.outcomes)
    ]


def cell_rows(cells: Sequence[SimulationSweepCell]) -> list[dict[str, Any]]:
    """Return a row per policy, queue and load: means over `n` replications with 95% intervals.

    `response_over_first` is the mean response over that under the first policy and queue at the same load, paired by
    seed: with each seed both met the same jobs. There is none where a simulation is void or lost jobs: a policy that
    loses its longest jobs would have the lower mean.
    """
    first = _first_by_load(cells)
    return [
        {"policy": cell.policy, "queue": cell.queue, "load": cell.offered_load, "n": cell.replications,
         "saturated": cell.saturated, "verdicts": " ".join(cell.verdicts), **_estimates(cell),
         **_ends("response_over_first", _over(cell, first[cell.load])),
         "jobs_given_up": cell.jobs_given_up, "jobs_reached_limit": cell.jobs_reached_limit}
        for cell in cells
    ]  # fmt: skip


def cells_without_ratio(cells: Sequence[SimulationSweepCell]) -> int:
    """Return how many cells have no ratio to the first policy and queue, because one of the two is not comparable."""
    first = _first_by_load(cells)
    return sum(
        _scheduling(cell) != _scheduling(cells[0]) and not (cell.is_comparable and first[cell.load].is_comparable)
        for cell in cells
    )


def load_figure(cells: Sequence[SimulationSweepCell]) -> ReportFigure:
    """Return the figure of response and wait against load, a line per policy and queue, with 95% intervals."""
    return ReportFigure(
        FIGURE,
        "Response and wait by load",
        "Means over the seeds with 95% intervals; hollow points: some simulations saturated or are void.",
        _figure_rows(cells),
        lambda: _draw(cells),
    )


def _estimates(cell: SimulationSweepCell) -> dict[str, float | None]:
    means = cell.means
    found: dict[str, float | None] = {}
    for quantity in QUANTITIES:
        found |= _ends(quantity, means.get(quantity))
    return found


def _ends(name: str, around: Estimate | None) -> dict[str, float | None]:
    """Return an estimate and its ends under `name`."""
    if around is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {name: around.value, f"{name}_low": around.low, f"{name}_high": around.high}


def _scheduling(cell: SimulationSweepCell) -> tuple[str, str]:
    return cell.policy, cell.queue


def _first_by_load(cells: Sequence[SimulationSweepCell]) -> dict[float | None, SimulationSweepCell]:
    """Return the cell under the first policy and queue at each load."""
    return {cell.load: cell for cell in cells if _scheduling(cell) == _scheduling(cells[0])}


def _over(cell: SimulationSweepCell, first: SimulationSweepCell) -> Estimate | None:
    """Return the mean response in a cell over that in the first one.

    It is None for that one itself, and where one of them is not comparable.
    """
    if not (cell.is_comparable and first.is_comparable):
        return None
    pairs = [
        (outcome["response_s"], other["response_s"])
        for outcome, other in zip(cell.outcomes, first.outcomes, strict=True)
    ]
    if _scheduling(cell) == _scheduling(first) or any(None in pair for pair in pairs):
        return None
    counted = pairs if cell.replications > 1 or first.replications > 1 else pairs[:1]
    return paired_ratio_of_means([above for above, _ in counted], [below for _, below in counted])


def _figure_rows(cells: Sequence[SimulationSweepCell]) -> list[DataRow]:
    kept = ("policy", "queue", "load", "n", "saturated")
    columns = [*kept, *(f"{quantity}{end}" for quantity in _DRAWN for end in ("", "_low", "_high"))]
    return [{column: row[column] for column in columns} for row in cell_rows(cells)]


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with written_whole(path) as text:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: repr(value) if isinstance(value, float) else value for name, value in row.items()}
                         for row in rows)  # fmt: skip


def _draw(cells: Sequence[SimulationSweepCell]) -> Figure:
    figure, axes = panels(3.0, 1, len(_DRAWN))
    lines = list(dict.fromkeys((cell.policy, cell.queue) for cell in cells))
    for axis, (quantity, text) in zip(axes, _DRAWN.items(), strict=True):
        for place, line in enumerate(lines):
            of_line = [cell for cell in cells if (cell.policy, cell.queue) == line]
            _draw_line(axis, of_line, quantity, place, label(" / ".join(line)))
        axis.set_xlabel("load")
        axis.set_ylabel(text)
        axis.set_ylim(bottom=0)
    one_legend(figure, axes)
    return figure


def _draw_line(axis: Axes, cells: Sequence[SimulationSweepCell], quantity: str, place: int, text: str) -> None:
    drawn = sorted((cell for cell in cells if quantity in cell.means), key=lambda cell: cell.load or 0.0)
    points = [(cell.load or 0.0, cell.means[quantity], _is_doubtful(cell)) for cell in drawn]
    if not points:
        return
    colour = COLOURS[place % len(COLOURS)]
    loads, values = [load for load, _, _ in points], [around.value for _, around, _ in points]
    halves = [0.0 if around.high is None else around.high - around.value for _, around, _ in points]
    axis.errorbar(
        loads, values, yerr=halves, color=colour, linestyle=LINES[place % len(LINES)], linewidth=1.2, elinewidth=0.7,
        label=text,
    )  # fmt: skip
    for load, around, doubtful in points:
        axis.plot([load], [around.value], "o", color=colour, markersize=3,
                  markerfacecolor="none" if doubtful else colour)  # fmt: skip


def _is_doubtful(cell: SimulationSweepCell) -> bool:
    return cell.saturated > 0 or Judgement.VOID in cell.verdicts
