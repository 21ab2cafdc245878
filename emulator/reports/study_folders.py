"""The results of studies in a folder, as `testbed study` left them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.records import MANIFEST_FILE
from emulator.reports.figures.figure import DataRow
from emulator.reports.figures.reported_run import labels_of

_CLAIMS: Final = "-claims.csv"
_TEXT_COLUMNS: Final = ("workload", "queue", "at")


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """The findings of a study: a row per workload, queue and load, and a row per part of each claim."""

    label: str
    found: Sequence[DataRow]
    claims: Sequence[Mapping[str, str]]


def is_study_folder(path: Path) -> bool:
    """Return whether `path` holds the results of studies, and is no run's directory."""
    return path.is_dir() and not (path / MANIFEST_FILE).exists() and any(path.glob(f"*{_CLAIMS}"))


def read_studies(*folders: Path) -> list[StudyFolder]:
    """Read the results of every study in `folders`; where names repeat, labels have the folders above as well.

    Raises:
        InvalidInput: if the table of a study is missing, or holds no numbers.
    """
    claims = [file for folder in folders for file in sorted(folder.glob(f"*{_CLAIMS}"))]
    labels = labels_of([file.with_name(_name(file)) for file in claims])
    return [_read(file, label) for file, label in zip(claims, labels, strict=True)]


def _name(claims: Path) -> str:
    return claims.name.removesuffix(_CLAIMS)


def _read(claims: Path, label: str) -> StudyFolder:
    found = claims.with_name(f"{_name(claims)}.csv")
    try:
        rows = [_numbers(row) for row in _rows(found)]
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise InvalidInput(f"{found}: is no table of a study ({error}).") from error
    for column in _TEXT_COLUMNS:
        if rows and column not in rows[0]:
            raise InvalidInput(f"{found}: is no table of a study (it has no column {column!r}).")
    try:
        return StudyFolder(label, rows, _rows(claims))
    except (OSError, ValueError, csv.Error) as error:
        raise InvalidInput(f"{claims}: is no table of claims ({error}).") from error


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def _numbers(row: Mapping[str, str]) -> DataRow:
    return {
        column: cell if column in _TEXT_COLUMNS else None if cell == "" else float(cell) for column, cell in row.items()
    }
