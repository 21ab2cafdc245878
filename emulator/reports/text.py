"""Intervals and Markdown tables as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def with_interval(value: float, low: float | None, high: float | None, form: str = ".4g") -> str:
    """Return ``1.25 [1.2, 1.3]``, each number by `form`; the value alone if there is no interval."""
    if low is None or high is None:
        return f"{value:{form}}"
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table; a row may lack columns that another has."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_cell(row.get(column)) for column in columns) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")
