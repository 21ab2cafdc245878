"""Tables of the cost of communication: totals synchronized and not, data rates, borders by process and direction.

As in the appendix of the measurement study on DAS-2, with published values beside equal configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from emulator.model.cell_rows import BorderExchangeRow, CommunicationRow
from emulator.model.counts import number_of
from emulator.model.interconnects import SHARED_MEMORY
from emulator.model.topology import Topology
from emulator.model.units import megabytes_per_s
from emulator.reports.published_communication import published_iteration_s
from emulator.reports.text import with_interval

Cell = tuple[str, int | None, int, str, str]
"""Application, grid, processors, the clusters with unequal parts, interconnect: the same synchronized and not."""

COMMUNICATION_TITLE: Final = "Total communication time of an iteration, and data rate"
DIRECTION_COLUMNS: Final = ("top_s", "bottom_s", "left_s", "right_s")


def cell_of(row: CommunicationRow | BorderExchangeRow) -> Cell:
    """Return the cell of a row, synchronized or not."""
    return row.application, row.grid, row.processors, row.spread_over, row.interconnect


def cell_title(cell: Cell) -> str:
    """Return a cell in words."""
    application, grid, processors, spread_over, interconnect = cell
    on_grid = "" if grid is None else f" grid {grid}"
    over = clusters_title(spread_over, interconnect)
    return f"{application}{on_grid} on {number_of(processors, 'processor')} over {over}"


def clusters_title(spread_over: str, interconnect: str) -> str:
    """Return the clusters that a row names, and the interconnect inside them if one is stated, in words."""
    inside = f" ({interconnect})" if interconnect not in ("", SHARED_MEMORY) else ""
    number, space, parts = spread_over.partition(" ")
    return f"{number} cluster{'' if number == '1' else 's'}{space}{parts}{inside}"


def communication_table(rows: Sequence[CommunicationRow], topology: Topology) -> list[dict[str, str]]:
    """Return a row per cell: communication time per iteration beside the published one, and the data rate."""
    with_published = any(published_iteration_s(row, topology) is not None for row in rows)
    return [
        _communication_line(list(cell_rows), topology, with_published) for _, cell_rows in groupby(rows, key=cell_of)
    ]


def _communication_line(rows: Sequence[CommunicationRow], topology: Topology, with_published: bool) -> dict[str, str]:
    application, grid, processors, spread_over, interconnect = cell_of(rows[0])
    on_grid = "" if grid is None else f" {grid}"
    line = {"cell": f"{application}{on_grid}, {processors} over {spread_over}", "interconnect": interconnect}
    for title, synchronized in (("synchronized", True), ("not", False)):
        row = next((row for row in rows if row.synchronized is synchronized), None)
        line[f"{title} (ms)"] = "" if row is None else _per_iteration_ms(row)
        if with_published:
            published_s = None if row is None else published_iteration_s(row, topology)
            line[f"{title}, published"] = "" if published_s is None else f"{published_s * 1000:.3g}"
    rate_mbit = next((row.data_rate_mbit for row in rows if row.data_rate_mbit is not None), None)
    return {
        **line,
        "MB/s": "" if rate_mbit is None else f"{megabytes_per_s(rate_mbit):.3g}",
        "n": "+".join(str(row.n) for row in rows),
        "verdict": "+".join(dict.fromkeys(row.verdict for row in rows)),
    }


def _per_iteration_ms(row: CommunicationRow) -> str:
    scale = 1000 / row.iterations
    low, high = (None if end_s is None else end_s * scale for end_s in (row.ci_low, row.ci_high))
    return with_interval(row.communication_s * scale, low, high, ".3g")


def process_table(rows: Sequence[BorderExchangeRow]) -> list[dict[str, str]]:
    """Return the total of each process in its place in the process grid, the top row first (Figure 9)."""
    by_place = {(row.column, row.row): row for row in rows}
    columns, height = 1 + max(row.column for row in rows), 1 + max(row.row for row in rows)
    return [
        {f"column {column}": _placed(by_place[column, place]) for column in range(columns)}
        for place in reversed(range(height))
    ]


def _placed(row: BorderExchangeRow) -> str:
    return f"{row.process}: {row.total_s:.3g}"


def direction_table(rows: Sequence[BorderExchangeRow]) -> list[dict[str, str]]:
    """Return a row per process with the time of each direction (Figure 10)."""
    return [
        {
            "process": str(row.process),
            "component": str(row.component),
            **{
                f"{column.removesuffix('_s')} (s)": ""
                if getattr(row, column) is None
                else f"{getattr(row, column):.3g}"
                for column in DIRECTION_COLUMNS
            },
            "total (s)": f"{row.total_s:.3g}",
        }
        for row in rows
    ]


def communication_objects(
    totals: Sequence[CommunicationRow], processes: Sequence[BorderExchangeRow]
) -> list[dict[str, Any]]:
    """Return all measured communication, for programs: an object per cell and mode, with its processes."""
    return [
        {
            **row.model_dump(mode="json"),
            "border_exchange": [
                process.model_dump(
                    mode="json", include={"process", "column", "row", "component", *DIRECTION_COLUMNS, "total_s"}
                )
                for process in processes
                if (cell_of(process), process.synchronized) == (cell_of(row), row.synchronized)
            ],
        }
        for row in totals
    ]
