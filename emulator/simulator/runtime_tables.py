"""Extension factors from files: the measured factors of a run, or published execution times.

The header of a CSV file tells its kind. ``extension_factors.csv``, written by `testbed measure`, holds a factor and a
verdict per configuration. A table of execution times (``application, processors, components, runtime_s``, as in
``workloads/reference/das2_execution_times_for_simulation.csv``) gives a factor as the time over several clusters
divided by the time in one. Void rows are skipped. So are rows of jobs in one cluster that used the interconnect of
co-allocated jobs, because no simulated job does, and rows of unequal parts if equal ones over as many clusters were
measured, too.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput
from emulator.simulator.runtime import FactorTable, MeasuredTime

_MEASURED: Final = ("application", "processors", "clusters", "extension_factor")
_PUBLISHED: Final = ("application", "processors", "components", "runtime_s")
_VOID: Final = "void"

Key = tuple[str, int, int]
Value = TypeVar("Value")


def read_factors(path: Path, grid: int | None = None) -> FactorTable:
    """Return the extension factors in the CSV file at `path`.

    If an application was measured on several grids, only the factors on `grid` are used.

    Raises:
        InvalidInput: if the file cannot be read, is neither kind of table, holds an invalid value, has two different
            values for one configuration, or lacks a single-cluster time. The message names file, line and field.
    """
    return FactorTable(_read(path, grid))


def joined_factors(paths: Sequence[Path], grid: int | None = None) -> FactorTable:
    """Return the extension factors in all of the CSV files at `paths`, each read as by `read_factors`.

    Raises:
        InvalidInput: as `read_factors`, or if two files have different factors for one configuration.
    """
    times: dict[Key, MeasuredTime] = {}
    for path in paths:
        for key, time in _read(path, grid).items():
            known = times.setdefault(key, time)
            if known.spread / known.single != time.spread / time.single:
                application, processors, clusters = key
                raise InvalidInput(
                    f"{path}: application: has another factor of {application!r} on "
                    f"{number_of(processors, 'processor')} over {number_of(clusters, 'cluster')} than a table "
                    "before it: keep the line that is meant."
                )
    return FactorTable(times)


def _read(path: Path, grid: int | None) -> dict[Key, MeasuredTime]:
    """Return the execution times in a file, as `read_factors` takes them."""
    try:
        with path.open(newline="", encoding="utf-8") as text:
            rows = list(csv.DictReader(text))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: cannot be read as a table ({getattr(error, 'strerror', '') or error}).") from error
    # What a line has beyond the header stands under None.
    header = [name for name in rows[0] if name is not None] if rows else []
    if set(_MEASURED) <= set(header):
        return _measured(path, rows, grid)
    if set(_PUBLISHED) <= set(header):
        return _published(path, rows)
    raise InvalidInput(
        f"{path}: holds neither extension factors ({', '.join(_MEASURED)}) nor execution times "
        f"({', '.join(_PUBLISHED)}), but {', '.join(header) or 'nothing'}."
    )


def _measured(path: Path, rows: list[dict[str, str]], grid: int | None) -> dict[Key, MeasuredTime]:
    times: dict[Key, MeasuredTime] = {}
    other_grids = _other_grids(path, rows, grid)
    for unequal in (False, True):
        of_equal_parts = set(times)
        for line, row in enumerate(rows, start=2):
            if row.get("verdict") == _VOID or not row["extension_factor"] or _has_unequal_parts(row) is not unequal:
                continue
            if row["clusters"] == "1" and row.get("interconnect_coallocated"):
                continue
            if (row["application"], row.get("grid")) in other_grids:
                continue
            factor, key = _positive(path, line, row, "extension_factor"), _key(path, line, row, "clusters")
            if key not in of_equal_parts:
                _enter(times, path, line, key, MeasuredTime(factor, 1.0))
    return times


def _has_unequal_parts(row: Mapping[str, str]) -> bool:
    """Return whether the parts of a measured job, such as ``24+12``, were not equal."""
    return len(set((row.get("components") or "").split("+"))) > 1


def _other_grids(path: Path, rows: list[dict[str, str]], grid: int | None) -> set[tuple[str, str | None]]:
    """Return each (application, grid) to skip, for applications that were measured on `grid` and on other grids.

    Raises:
        InvalidInput: if an application was measured on several grids, but not on `grid`.
    """
    grids_of: dict[str, set[str | None]] = {}
    for row in rows:
        grids_of.setdefault(row["application"], set()).add(row.get("grid"))
    found: set[tuple[str, str | None]] = set()
    for application, grids in grids_of.items():
        if grid is None or len(grids) == 1:
            continue
        if str(grid) not in grids:
            listed = ", ".join(sorted(filter(None, grids), key=lambda size: (len(size), size)))
            raise InvalidInput(f"{path}: grid: {application!r} was measured on {listed}, not on {grid}.")
        found |= {(application, other) for other in grids if other != str(grid)}
    return found


def _published(path: Path, rows: list[dict[str, str]]) -> dict[Key, MeasuredTime]:
    times_s: dict[Key, float] = {}
    line_of: dict[Key, int] = {}
    for line, row in enumerate(rows, start=2):
        key = _key(path, line, row, "components")
        _enter(times_s, path, line, key, _positive(path, line, row, "runtime_s"))
        line_of[key] = line
    times: dict[Key, MeasuredTime] = {}
    for (application, processors, clusters), time_s in times_s.items():
        single_s = times_s.get((application, processors, 1))
        if single_s is None:
            line = line_of[application, processors, clusters]
            raise InvalidInput(
                f"{path}, line {line}: components: there is no time of {application!r} on "
                f"{number_of(processors, 'processor')} in a single cluster to hold this one against."
            )
        times[application, processors, clusters] = MeasuredTime(time_s, single_s)
    return times


def _key(path: Path, line: int, row: Mapping[str, str], spread: str) -> Key:
    numbers = [_positive(path, line, row, field) for field in ("processors", spread)]
    for field, number in zip(("processors", spread), numbers, strict=True):
        if number != int(number):
            raise InvalidInput(f"{path}, line {line}: {field}: must be a whole number, not {row[field]!r}.")
    if not row["application"]:
        raise InvalidInput(f"{path}, line {line}: application: is missing.")
    return row["application"].lower(), int(numbers[0]), int(numbers[1])


def _positive(path: Path, line: int, row: Mapping[str, str], field: str) -> float:
    try:
        value = float(row[field])
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InvalidInput(f"{path}, line {line}: {field}: must be a positive number, not {row[field]!r}.")
    return value


def _enter(table: dict[Key, Value], path: Path, line: int, key: Key, value: Value) -> None:
    if table.setdefault(key, value) != value:
        application, processors, clusters = key
        raise InvalidInput(
            f"{path}, line {line}: application: the file says two things of {application!r} on "
            f"{number_of(processors, 'processor')} over {number_of(clusters, 'cluster')}: name the grid that is "
            "meant (--grid), or keep the lines that are."
        )
