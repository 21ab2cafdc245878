"""A figure of a report: what it shows, the rows that it is drawn from, and how it is drawn."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | int | float | None
DataRow = Mapping[str, Cell]

FORMATS: Final = ("svg", "png", "pdf")
"""The formats in which a figure can be a file."""

DEFAULT_FORMATS: Final = ("svg", "png")

LONGEST_LABEL: Final = 24
"""Characters of a name from a record that a figure shows."""


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A figure with all its data; `shows` is a sentence or two on how to read it, and on what is left out of it."""

    name: str
    title: str
    shows: str
    rows: Sequence[DataRow]
    draw: Callable[[], Figure]


def data_csv(rows: Sequence[DataRow]) -> str:
    """Return the rows of a figure as CSV; a missing value is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def label(text: str) -> str:
    """Return a name from a record as a figure can show it: printable, and not too long."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return printable if len(printable) <= LONGEST_LABEL else f"{printable[: LONGEST_LABEL - 1]}…"
