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
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from emulator.model.escapes import escaped

WIDTH_OF_FILES = 140
"""Characters in a line of a table that is not shown on a terminal."""
WHOLE_WORD = 12
"""Words up to this many characters are broken over two lines only where nothing else fits."""
_GAP = 3
"""Characters between two columns; a line has one at either end."""


def show_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, title: str | None = None) -> None:
    """Print `rows`, whose keys are the columns in order, as one JSON array or as a table."""
    if as_json:
        print(json.dumps(list(rows), indent=2))
        return
    lines = [[escaped(column) for column in rows[0]]] if rows else []
    lines += [[escaped(_cell(value)) for value in row.values()] for row in rows]
    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_OF_FILES)
    heading = None if title is None else Text(escaped(title))
    table = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    widths = column_widths(lines, console.width)
    for number, column in enumerate(lines[0] if lines else ()):
        table.add_column(Text(column), overflow="fold", width=widths[number] if widths else None)
    for line in lines[1:]:
        table.add_row(*map(Text, line))
    console.print(table)


def column_widths(lines: Sequence[Sequence[str]], most: int) -> list[int] | None:
    """Return the width of each column of a table that is at most `most` wide, in characters.

    The widest columns are narrowed first, and none so far that a short word breaks. None if that is impossible.
    """
    columns = list(zip(*lines, strict=True))
    widths = [max(cell_len(part) for cell in column for part in cell.split("\n")) for column in columns]
    least = [max((_unbroken(word) for cell in column for word in cell.split()), default=1) for column in columns]
    room = most - _GAP * (len(columns) - 1) - 2
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max((width, column) for column, width in enumerate(widths) if width > least[column])[1]
        widths[widest] -= 1
    return widths


def _unbroken(word: str) -> int:
    """Return how many characters of a word must stay together."""
    return min(cell_len(word), WHOLE_WORD)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
