"""The results of the control runs of a measurement, printed: the parts of factors, and whether these hold at 2K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.cli.tables import show_rows
from emulator.model.cell_rows import AttributionRow, ExtensionFactorRow, InvarianceRow
from emulator.reports.attribution_tables import (
    ATTRIBUTION_TITLE,
    INVARIANCE_TITLE,
    attribution_table,
    factor_of,
    invariance_table,
)


def show_controls(attribution: Sequence[AttributionRow], invariance: Sequence[InvarianceRow], run: str = "") -> None:
    """Print the tables of what was measured, with the name of the `run` in their titles if there are several."""
    of_run = f": {run}" if run else ""
    if attribution:
        show_rows(attribution_table(attribution), as_json=False, title=f"{ATTRIBUTION_TITLE}{of_run}")
    if invariance:
        show_rows(invariance_table(invariance), as_json=False, title=f"{INVARIANCE_TITLE}{of_run}")


def with_controls(
    factor: ExtensionFactorRow, attribution: Sequence[AttributionRow], invariance: Sequence[InvarianceRow]
) -> Mapping[str, Any]:
    """Return a measured factor for programs, with its parts and its value at twice the dilation, if measured."""
    shown = factor.model_dump(mode="json")
    if attribution:
        shown["attribution"] = [row.model_dump(mode="json") for row in attribution if _is_of(row, factor)]
    if invariance:
        interconnect = factor.interconnect_coallocated or factor.interconnect_single
        found = [row for row in invariance if _is_of(row, factor) and row.interconnect == interconnect]
        shown["invariance"] = found[0].model_dump(mode="json") if found else None
    return shown


def _is_of(row: AttributionRow | InvarianceRow, factor: ExtensionFactorRow) -> bool:
    return factor_of(row) == (factor.application, factor.grid, factor.processors, factor.spread_over)
