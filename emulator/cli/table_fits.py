"""``testbed calibrate --table``: a topology's numbers from a table of runtimes or from a run, shown and kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emulator.calibration.run_table import run_table
from emulator.calibration.table_fit import (
    Row,
    error_rows,
    fitted_topology,
    mean_rows,
    number_rows,
    store,
    warnings,
)
from emulator.calibration.topology_files import write_topology
from emulator.cli.foreign_text import say
from emulator.cli.options import make_folder, run_path
from emulator.cli.tables import show_rows
from emulator.fidelity.iteration.fitting import Fit, fit
from emulator.fidelity.iteration.table import Table, read_table
from emulator.model.catalogue import topology_named
from emulator.model.topology import Topology
from emulator.runs.run_directory import check_free, read_run


def calibrate_from_table(
    tables: Sequence[Path], topology_name: str, day: str | None, into: Path | None, out: Path | None, *, as_json: bool
) -> None:
    """Fit the topology to tables and runs, store the errors of all rows, and write the numbers if asked.

    Raises:
        InvalidInput: if the table or the topology cannot be used, or a file not written.
    """
    rows = Table(tuple(row for path in tables for row in _table(path).rows))
    topology = topology_named(topology_name)
    folder = run_path(out, "calibrate-table")
    check_free(folder)
    found = fit(topology, rows)
    fitted = fitted_topology(found, day)
    store(found, make_folder(folder))
    if into is not None:
        write_topology(into, fitted)
    if as_json:
        show_rows([_as_object(found, fitted, folder)], as_json=True)
    else:
        _show(found, folder)
    if into is not None:
        say(f"Written: {into} (day {day or rows.sets[0]}; a running testbed keeps its topology).", to_error=True)


def _table(path: Path) -> Table:
    return run_table(read_run(path)) if path.is_dir() else read_table(path)


def _show(found: Fit, folder: Path) -> None:
    show_rows([_number(row) for row in number_rows(found)], as_json=False, title="Numbers")
    rows = zip(found.table.rows, error_rows(found), strict=True)
    show_rows([_row(each.shown, errors) for each, errors in rows], as_json=False, title="Rows, and errors left out")
    show_rows([_means(row) for row in mean_rows(found)], as_json=False, title="Mean absolute errors")
    for sentence in warnings(found):
        say(f"warning     {sentence}")
    say(f"stored      {folder}")


def _as_object(found: Fit, fitted: Topology, folder: Path) -> dict[str, object]:
    uncertainty = fitted.uncertainty
    return {
        "numbers": number_rows(found),
        "rows": error_rows(found),
        "mean_errors": mean_rows(found),
        "warnings": list(warnings(found)),
        "uncertainty": None if uncertainty is None else uncertainty.model_dump(mode="json"),
        "stored": str(folder),
    }


def _number(row: Row) -> Row:
    error = row["relative_error"]
    return {
        "number": row["number"] if not row["set"] else f"{row['number']} ({row['set']})",
        "unit": row["unit"],
        "before": row["before"],
        "after": row["after"],
        "+-": _percent(error, signed=False),
        "what": row["what"],
    }


def _row(shown: str, row: Row) -> Row:
    return {
        "row": shown,
        "known (ms)": _milliseconds(row["known_s"]),
        "fitted": _milliseconds(row["fitted_s"]),
        "error": _percent(row["fitted_error"]),
        "left out": _milliseconds(row["left_out_s"]),
        "its error": _percent(row["left_out_error"]),
        "of factor": _percent(row["left_out_factor_error"]),
        "of slowdown": _percent(row["left_out_slowdown_error"]),
    }


def _means(row: Row) -> Row:
    return {key: _percent(value, signed=False) if key.endswith("error") else value for key, value in row.items()}


def _milliseconds(duration_s: object) -> str:
    return f"{duration_s * 1e3:.4g}" if isinstance(duration_s, float) else ""


def _percent(error: object, *, signed: bool = True) -> str:
    if not isinstance(error, float):
        return ""
    return f"{error:+.1%}" if signed else f"{error:.1%}"
