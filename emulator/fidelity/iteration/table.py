"""A table of known runtimes: one job a row, published or measured, from which `fitting` finds a topology's numbers."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator

from apps.grid import equal_components
from emulator.fidelity.iteration.predicted import ModelJob
from emulator.model.counts import number_of
from emulator.model.documents import DocumentModel, Name, validate
from emulator.model.errors import InvalidInput
from emulator.model.interconnects import WhichInterconnect
from emulator.model.topology import Topology

DEFAULT_SET: Final = "all"


class TableRow(DocumentModel):
    """A runtime that is known: `runtime_s` of `iterations`, the mean of `runs`.

    `clusters` is a number of clusters, which get equal parts of the job, or the parts' sizes (``24,16,8``); `on` names
    the clusters (the topology's first ones by default). Rows with equal `set` are of one day. `border_exchange_s` is
    the part of the runtime in which borders were exchanged, if that is known.
    """

    set: Name = DEFAULT_SET
    application: Name = "poisson"
    grid: PositiveInt
    processors: PositiveInt
    clusters: str = "1"
    on: str = ""
    interconnect: WhichInterconnect | None = None
    processors_per_node: PositiveInt | None = None
    iterations: PositiveInt
    runtime_s: PositiveFloat
    runs: PositiveInt = 1
    border_exchange_s: Annotated[float, Field(gt=0)] | None = None

    @field_validator("clusters", mode="before")
    @classmethod
    def _number_as_text(cls, given: object) -> object:
        return str(given) if isinstance(given, int) else given

    @model_validator(mode="after")
    def _adds_up(self) -> TableRow:
        if sum(self.split) != self.processors:
            raise ValueError(f"clusters: {self.clusters!r} does not divide {number_of(self.processors, 'processor')}")
        return self

    @property
    def split(self) -> tuple[int, ...]:
        """The sizes of the job's parts."""
        try:
            sizes = tuple(int(size) for size in self.clusters.split(","))
        except ValueError:
            raise ValueError(f"clusters: must be a number or sizes such as 24,16,8, not {self.clusters!r}") from None
        if min(sizes) < 1:
            raise ValueError(f"clusters: sizes must be at least 1, not {self.clusters!r}")
        if len(sizes) > 1:
            return sizes
        try:
            return equal_components(self.processors, sizes[0])
        except InvalidInput as error:
            raise ValueError(f"clusters: {error}") from None

    @property
    def iteration_s(self) -> float:
        """Seconds of an iteration."""
        return self.runtime_s / self.iterations

    @property
    def shown(self) -> str:
        """The row in a few words, for people."""
        inside = "" if self.interconnect is None else f", {self.interconnect.value}"
        return f"{self.application} {self.grid} on {'+'.join(map(str, self.split))}{inside} ({self.set})"

    def job(self, topology: Topology) -> ModelJob:
        """Return the row's job on `topology`.

        Raises:
            InvalidInput: if the topology has too few clusters, or not these.
        """
        named = tuple(name.strip() for name in self.on.split(",")) if self.on else tuple(topology.cluster_names)
        if len(named) < len(self.split):
            there = number_of(len(named), "cluster")
            raise InvalidInput(f"{self.shown}: {topology.name} has only {there} for this row.")
        for name in named:
            topology.cluster(name)
        parts = tuple(zip(named, self.split, strict=False))
        return ModelJob(self.application, self.grid, parts, self.interconnect, self.processors_per_node)

    @property
    def cell(self) -> tuple[object, ...]:
        """What rows have in common that are the same job, measured on different days."""
        which = self.interconnect
        if which is None:
            which = WhichInterconnect.SINGLE_CLUSTER if len(self.split) == 1 else WhichInterconnect.COALLOCATED
        return (self.application, self.grid, self.split, self.on, which)


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table, in order."""

    rows: tuple[TableRow, ...]

    @property
    def sets(self) -> tuple[str, ...]:
        """The days of the rows, in the order in which they are first named."""
        return tuple(dict.fromkeys(row.set for row in self.rows))

    @property
    def cells(self) -> dict[tuple[object, ...], list[int]]:
        """The indices of the rows of each cell: a row and its twins in other sets."""
        found: dict[tuple[object, ...], list[int]] = {}
        for index, row in enumerate(self.rows):
            found.setdefault(row.cell, []).append(index)
        return found

    def alone(self, index: int) -> int | None:
        """Return the row of the same job in one cluster and set, over that cluster's own interconnect, if any.

        The extension factor of a row is relative to it.
        """
        row = self.rows[index]
        for other, candidate in enumerate(self.rows):
            same = (candidate.set, candidate.application, candidate.grid, candidate.processors) == (
                row.set, row.application, row.grid, row.processors,
            )  # fmt: skip
            if same and len(candidate.split) == 1 and candidate.cell[-1] is WhichInterconnect.SINGLE_CLUSTER:
                return None if other == index else other
        return None


def read_table(path: Path) -> Table:
    """Read the CSV file at `path`; its first line names the columns, which are the fields of `TableRow`.

    Raises:
        InvalidInput: if it cannot be read, or a row is not valid; the message names the line and the column.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = (line for line in file if not line.startswith("#"))
            content = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}).") from error
    if not content:
        raise InvalidInput(f"{path}: has no rows (columns: {', '.join(TableRow.model_fields)}).")
    return Table(tuple(_row(fields, f"{path}, row {number}") for number, fields in enumerate(content, start=1)))


def table_of(rows: Sequence[Mapping[str, object]]) -> Table:
    """Return a table of rows that are stated as mappings.

    Raises:
        InvalidInput: if one is not valid.
    """
    return Table(tuple(_row(row, f"row {number}") for number, row in enumerate(rows, start=1)))


def _row(fields: Mapping[str, object], source: str) -> TableRow:
    if None in fields:
        raise InvalidInput(f'{source}: has more values than there are columns (quote sizes: "24,16,8").')
    given = {key: value for key, value in fields.items() if value not in (None, "")}
    return validate(given, TableRow, source=source)
