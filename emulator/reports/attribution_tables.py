"""Tables of the parts of extension factors, and of whether factors held at twice the dilation, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from emulator.fidelity.attribution import Part
from emulator.model.cell_rows import AttributionRow, InvarianceRow
from emulator.reports.communication_tables import cell_title
from emulator.reports.text import with_interval

ATTRIBUTION_TITLE: Final = "What the extension factors are made of, in runtimes of one cluster"
INVARIANCE_TITLE: Final = "The same at twice the dilation"

Key = tuple[str, int | None, int, str]
PARTS: Final = tuple(part.value for part in Part)


def factor_of(row: AttributionRow | InvarianceRow) -> Key:
    """Return the factor that a row is about: application, grid, processors, the clusters with unequal parts."""
    return (row.application, row.grid, row.processors, row.spread_over)


def by_factor(rows: Iterable[AttributionRow]) -> list[tuple[Key, dict[str, AttributionRow]]]:
    """Return the rows of each factor by part, in order."""
    return [(key, {row.part: row for row in group}) for key, group in groupby(rows, key=factor_of)]


def attribution_table(rows: Sequence[AttributionRow]) -> list[dict[str, str]]:
    """Return a row per part of each factor: its share of one cluster's runtime, and what it adds to the factor."""
    return [
        {
            "job": cell_title((*factor_of(row), "")),
            "part": row.part,
            "in one cluster": f"{row.single_share:.3f}",
            "added [95%]": with_interval(row.added, row.ci_low, row.ci_high, ".3f"),
            "added (s)": f"{row.added_s:.4g}",
            "verdict": row.verdict,
        }
        for row in rows
    ]


def invariance_table(rows: Sequence[InvarianceRow]) -> list[dict[str, str]]:
    """Return a row per cell that was measured at two dilations."""
    return [
        {
            "job": cell_title((*factor_of(row), row.interconnect)),
            "dilations": f"{row.dilation:g}, {row.check_dilation:g}",
            "runtimes (s)": f"{row.runtime_s:.4g}, {row.check_runtime_s:.4g}",
            "factors": _both(row.extension_factor, row.check_extension_factor),
            "difference [95%]": _percentages(row.difference, row.ci_low, row.ci_high),
            "verdict": f"{row.verdict}: DEFECT" if row.defect else row.verdict,
        }
        for row in rows
    ]


def _both(first: float | None, again: float | None) -> str:
    return "" if first is None or again is None else f"{first:.3f}, {again:.3f}"


def _percentages(value: float, low: float | None, high: float | None) -> str:
    interval = "" if low is None or high is None else f" [{low:+.1%}, {high:+.1%}]"
    return f"{value:+.1%}{interval}"
