"""Rows, printed as a table for people or as JSON for programs.

A cell shows its text as it is: neither rich nor a terminal reads markup or escapes in it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from emulator.model.escapes import escaped

WIDTH_OF_FILES = 140
"""Characters in a line of a table that is not shown on a terminal."""


def show_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, title: str | None = None) -> None:
    """Print `rows`, whose keys are the columns in order, as one JSON array or as a table."""
    if as_json:
        print(json.dumps(list(rows), indent=2))
        return
    table = Table(title=None if title is None else Text(escaped(title)), title_justify="left", box=box.SIMPLE_HEAD)
    for column in rows[0] if rows else ():
        table.add_column(Text(escaped(column)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(escaped(_cell(value))) for value in row.values()))
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_OF_FILES
    Console(width=width).print(table)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
