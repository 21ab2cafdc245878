"""Reading and writing of the Standard Workload Format, version 2.2, without loss.

A log is a header of ``;`` comments and a line of 18 numbers per job, -1 where a value is missing. A line that is not a
record is an error. A record that cannot be true (a job without processors, or one that ran longer than it was allowed)
is kept unchanged and reported as a `Remark`. Requested times and used times are different fields and are never mixed.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, get_type_hints

from emulator.model.errors import InvalidInput
from emulator.model.whole_files import written_whole

MISSING: Final = -1
PARTS: Final = frozenset({2, 3, 4})
"""Statuses of partial executions, of which a job with a record of its own was swapped out or checkpointed."""
CANCELLED: Final = 5
STATUSES: Final = frozenset({-1, 0, 1, *PARTS, CANCELLED})
"""The valid statuses: failed (0), completed (1), partial, cancelled; or missing (-1)."""


class SwfRecord(NamedTuple):
    """A job of a log: the format's 18 fields in their order, -1 where a value is missing."""

    job: int
    submit_s: float
    wait_s: float
    run_s: float
    allocated_processors: int
    cpu_s: float
    memory_kilobytes: float
    requested_processors: int
    requested_s: float
    requested_memory_kilobytes: float
    status: int
    user: int
    group: int
    executable: int
    queue: int
    partition: int
    preceding_job: int
    think_s: float

    @property
    def processors(self) -> int:
        """The requested processors, or the allocated ones if the request is missing."""
        return self.requested_processors if self.requested_processors != MISSING else self.allocated_processors

    def cells(self) -> list[str]:
        """Return the fields as they are written in a log."""
        return [str(int(value)) if float(value).is_integer() else repr(value) for value in self]


@dataclass(frozen=True, slots=True)
class Remark:
    """A doubt about the field `field` of the record in line `line` of a log."""

    line: int
    field: str
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.field}: {self.what}"


@dataclass(frozen=True, slots=True)
class SwfLog:
    """A log: its header lines without ``;``, its records with their line numbers, and remarks on doubtful records."""

    header: tuple[str, ...]
    records: tuple[SwfRecord, ...]
    lines: tuple[int, ...]
    remarks: tuple[Remark, ...]


_FIELDS: Final = SwfRecord._fields
_KINDS: Final = tuple(get_type_hints(SwfRecord).values())


def read_swf(path: Path) -> SwfLog:
    """Read the log in the file at `path`, which is gzipped if its name ends in ``.gz``, whatever its case.

    Raises:
        InvalidInput: if the file cannot be read or a line is not a record; the message names the file, the line and the
            field.
    """
    header: list[str] = []
    records: list[SwfRecord] = []
    lines: list[int] = []
    for number, line in enumerate(_text_lines(path), start=1):
        text = line.strip()
        if text.startswith(";"):
            header.append(text[1:].strip())
        elif text:
            records.append(_record(text.split(), f"{path}, line {number}"))
            lines.append(number)
    if not records:
        raise InvalidInput(f"{path}: holds no job.")
    return SwfLog(tuple(header), tuple(records), tuple(lines), tuple(_remarks(records, lines)))


def write_swf(header: Iterable[str], records: Iterable[SwfRecord], path: Path) -> None:
    """Write a log to `path`, completely or not at all.

    Raises:
        InvalidInput: if the file cannot be written.
    """
    with written_whole(path) as text:
        for line in header:
            text.write(f"; {line}\n" if line else ";\n")
        for record in records:
            text.write(" ".join(record.cells()) + "\n")


def _text_lines(path: Path) -> Iterator[str]:
    try:
        with (gzip.open(path, "rt", encoding="utf-8", errors="replace") if path.suffix.lower() == ".gz" else
              path.open(encoding="utf-8", errors="replace")) as text:  # fmt: skip
            yield from text
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}).") from error


def _record(cells: list[str], place: str) -> SwfRecord:
    if len(cells) == len(_FIELDS):
        try:
            values = [kind(cell) for kind, cell in zip(_KINDS, cells, strict=True)]
            # The sum is finite only if all values are. Checking it is faster than checking each value.
            if math.isfinite(sum(values)):
                return SwfRecord._make(values)
        except (ValueError, OverflowError):
            raise _unreadable(cells, place) from None
    raise _unreadable(cells, place)


def _unreadable(cells: list[str], place: str) -> InvalidInput:
    """Return the error for a line that is not a record."""
    if len(cells) != len(_FIELDS):
        missing = f"{_FIELDS[len(cells)]} is the first that is missing" if len(cells) < len(_FIELDS) else "too many"
        return InvalidInput(f"{place}: a job has {len(_FIELDS)} fields, but here are {len(cells)} ({missing}).")
    for name, cell, kind in zip(_FIELDS, cells, _KINDS, strict=True):
        try:
            finite = math.isfinite(kind(cell))
        except OverflowError:
            finite = False
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
            return InvalidInput(f"{place}: {name}: must be {expected}, not {cell!r}.")
        if not finite:
            return InvalidInput(f"{place}: {name}: must be finite, not {cell!r}.")
    return InvalidInput(f"{place}: the numbers are too large to be a job's.")


def _remarks(records: list[SwfRecord], lines: list[int]) -> Iterator[Remark]:
    seen: dict[int, int] = {}
    latest_s = -math.inf
    for record, line in zip(records, lines, strict=True):
        if record.job in seen:
            yield Remark(line, "job", f"number {record.job} stands in line {seen[record.job]} already")
        seen.setdefault(record.job, line)
        if record.submit_s < latest_s:
            yield Remark(line, "submit_s", f"{record.submit_s:g} is before the job above ({latest_s:g})")
        latest_s = max(latest_s, record.submit_s)
        for field, what in _doubts(record):
            yield Remark(line, field, what)


def _doubts(record: SwfRecord) -> Iterator[tuple[str, str]]:
    """Yield (field, doubt) for each value of `record` that cannot be true, judged by this record alone."""
    if record.submit_s < 0:
        yield "submit_s", f"{record.submit_s:g} is before the log's start"
    for field in ("wait_s", "run_s", "requested_s", "cpu_s"):
        value = getattr(record, field)
        if value < 0 and value != MISSING:
            yield field, f"{value:g} is negative"
    for field in ("allocated_processors", "requested_processors"):
        value = getattr(record, field)
        if value < 1 and value != MISSING:
            yield field, f"{value} processors are no job"
    if record.run_s == MISSING:
        yield "run_s", "the execution time is missing"
    if record.processors == MISSING:
        yield "requested_processors", "neither requested nor allocated processors are known"
    if MISSING != record.requested_s < record.run_s and record.requested_s >= 0:
        yield "run_s", f"ran {record.run_s:g} s, longer than the {record.requested_s:g} s requested"
    if record.status not in STATUSES:
        yield "status", f"{record.status} is no status"
