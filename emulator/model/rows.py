"""Rows of a run's CSV files: frozen values that are converted to cells of text and back.

Column names are field names and contain units. A missing value is an empty cell. Several values in one cell are joined
by ``+``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Self

from pydantic import BeforeValidator

from emulator.model.documents import DocumentModel

JOINED_BY: Final = "+"


def _split(cell: object) -> object:
    return tuple(part for part in cell.split(JOINED_BY) if part) if isinstance(cell, str) else cell


Sizes = Annotated[tuple[int, ...], BeforeValidator(_split)]
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]


def spread_over(clusters: int, components: Sequence[int]) -> str:
    """Return a number of clusters, with the sizes of a job's `components` there if these are not equal."""
    parts = "" if len(set(components)) < 2 else f" ({JOINED_BY.join(map(str, components))})"
    return f"{clusters}{parts}"


class Row(DocumentModel):
    """A line of a run's CSV file."""

    @classmethod
    def columns(cls) -> list[str]:
        """Return the header of a file of such rows."""
        return list(cls.model_fields)

    def cells(self) -> list[str]:
        """Return the values as text, in the order of `columns`."""
        return [_cell(getattr(self, column)) for column in self.columns()]

    @classmethod
    def from_cells(cls, cells: Mapping[str, str]) -> Self:
        """Build the row from `cells` (column to text); an empty cell is a missing value."""
        return cls.model_validate({column: cell for column, cell in cells.items() if cell != ""})


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return JOINED_BY.join(str(part) for part in value)
    return repr(value) if isinstance(value, float) else str(value)
