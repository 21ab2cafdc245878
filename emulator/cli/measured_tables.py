"""The results of a measurement, printed: extension factors and, if it was measured, what communication costs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from emulator.cli.controlled_tables import show_controls, with_controls
from emulator.cli.foreign_text import say
from emulator.cli.tables import show_rows
from emulator.measurement.communication import CommunicationRows
from emulator.measurement.extension import Measured
from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.topology import Topology
from emulator.reports.attribution_figure import write_attribution
from emulator.reports.communication_figures import write_figures
from emulator.reports.communication_tables import (
    COMMUNICATION_TITLE,
    cell_of,
    cell_title,
    communication_objects,
    communication_table,
    direction_table,
    process_table,
)
from emulator.reports.text import with_interval
from emulator.runs.extension_factors import MeasuredCell


def show_measured(measured: Measured, path: Path, topology: Topology, *, as_json: bool) -> None:
    """Print what was measured, and draw its figures into the run's directory `path`."""
    communication = measured.communication
    figures = write_attribution(path, measured.attribution)
    if communication.totals:
        figures += write_figures(path, communication.totals, communication.processes, topology)
    if as_json:
        factors = [with_controls(cell.row, measured.attribution, measured.invariance) for cell in measured.cells]
        found = communication_objects(communication.totals, communication.processes)
        show_rows(found or factors, as_json=True)
        return
    _show_factors(measured.cells)
    if communication.totals:
        _show_communication(communication, topology)
    show_controls(measured.attribution, measured.invariance)
    reasons = "".join(f"\n  {reason}" for reason in [*measured.verdict.reasons, *_cells_reasons(measured.cells)])
    say(f"Verdict: {measured.verdict.judgement}{reasons}")
    for figure in figures:
        print(f"Figure: {figure}", file=sys.stderr)
    print(f"Records: {path}", file=sys.stderr)


def _show_communication(communication: CommunicationRows, topology: Topology) -> None:
    rows = communication_table(communication.totals, topology)
    show_rows(rows, as_json=False, title=COMMUNICATION_TITLE)
    for (cell, synchronized), group in groupby(
        communication.processes, key=lambda row: (cell_of(row), row.synchronized)
    ):
        processes = list(group)
        mode = "synchronized" if synchronized else "not synchronized"
        title = f"Border exchange of each process in its place (process: s), {mode}: {cell_title(cell)}"
        show_rows(process_table(processes), as_json=False, title=title)
        if synchronized and any(row.top_s is not None for row in processes):
            title = f"Border exchange by direction, {mode}: {cell_title(cell)}"
            show_rows(direction_table(processes), as_json=False, title=title)


def _show_factors(cells: Sequence[MeasuredCell]) -> None:
    """Print a table of the cells; its title says what all of them have in common."""
    rows = [_shown(cell) for cell in cells]
    names = {(row["application"], row["grid"], row["processors"]) for row in rows}
    title = "Extension factors"
    if len(names) == 1:
        application, grid, processors = names.pop()
        on_grid = "" if grid is None else f" grid {grid}"
        title = f"{title}: {application}{on_grid} on {processors} processors"
        rows = [{key: row[key] for key in row if key not in ("application", "grid", "processors")} for row in rows]
    show_rows(rows, as_json=False, title=title)


def _cells_reasons(cells: Sequence[MeasuredCell]) -> list[str]:
    """Return the first reason of each cell that is not valid, and how many more it has."""
    found: list[str] = []
    for cell in cells:
        first, *more = cell.verdict.reasons or ("",)
        also = f" (and {len(more)} more)" if more else ""
        row = cell.row
        interconnect = row.interconnect_coallocated or row.interconnect_single
        title = cell_title((row.application, row.grid, row.processors, row.spread_over, interconnect))
        if first:
            found.append(f"{title}: {row.verdict}, {first}{also}")
    return found


def _shown(cell: MeasuredCell) -> dict[str, object]:
    """Return a cell as people read it; intervals are 95%."""
    row, late = cell.row, cell.late_phase_share
    return {
        "application": row.application,
        "grid": row.grid,
        "processors": row.processors,
        "clusters": row.spread_over,
        "runtime (s)": f"{row.runtime_s:.4g}",
        "iteration (ms)": "" if row.iteration_s is None else f"{row.iteration_s * 1000:.4g}",
        "factor [95%]": _factor(row),
        "n": row.n,
        "late phases": "" if late is None else f"{late:.1%}",
        "verdict": row.verdict,
    }


def _factor(row: ExtensionFactorRow) -> str:
    factor = row.extension_factor
    return "" if factor is None else with_interval(factor, row.ci_low, row.ci_high, ".3f")
