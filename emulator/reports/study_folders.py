"""The results of studies in a folder, as `testbed study` left them, and their figures for a report."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emulator.model.errors import InvalidInput
from emulator.model.records import MANIFEST_FILE
from emulator.reports.figures.drawing import COLOURS, few_ticks_of_ten, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure, label
from emulator.reports.shared_figures import SHOWN_QUANTITIES, SHOWN_RULES
from emulator.reports.study_pages import HEADINGS
from emulator.studies.simulation_study import HEADLINE_SHARE
from emulator.studies.statements import Quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CLAIMS: Final = "-claims.csv"
_HEADLINE: Final = f"at {HEADLINE_SHARE:g} "
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
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


def read_studies(path: Path) -> list[StudyFolder]:
    """Read the results of every study in the folder `path`.

    Raises:
        InvalidInput: if the table of a study is missing, or holds no numbers.
    """
    return [_read(file) for file in sorted(path.glob(f"*{_CLAIMS}"))]


def _read(claims: Path) -> StudyFolder:
    name = claims.name.removesuffix(_CLAIMS)
    found = claims.with_name(f"{name}.csv")
    try:
        rows = [_numbers(row) for row in _rows(found)]
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise InvalidInput(f"{found}: is no table of a study ({error}).") from error
    for column in _TEXT_COLUMNS:
        if rows and column not in rows[0]:
            raise InvalidInput(f"{found}: is no table of a study (it has no column {column!r}).")
    try:
        return StudyFolder(name, rows, _rows(claims))
    except (OSError, ValueError, csv.Error) as error:
        raise InvalidInput(f"{claims}: is no table of claims ({error}).") from error


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def _numbers(row: Mapping[str, str]) -> DataRow:
    return {
        column: cell if column in _TEXT_COLUMNS else None if cell == "" else float(cell) for column, cell in row.items()
    }


def study_figures(study: StudyFolder) -> list[ReportFigure]:
    """Return the figure of a study: each quantity by workload and queue, at the load where claims are decided."""
    if any(row.get(Quantity.MAKESPAN) is not None for row in study.found):
        return [_shared_figure(study.found)]
    headline = [row for row in study.found if str(row["at"]).startswith(_HEADLINE)] or list(study.found)
    quantities = [quantity for quantity in HEADINGS if any(row.get(quantity) is not None for row in headline)]
    if not quantities:
        return []
    at = str(headline[0]["at"])
    loads = f" Loads are gross utilizations {at}; the data hold all loads." if at.startswith(_HEADLINE) else ""
    return [
        ReportFigure(
            "study",
            "What the study found",
            f"Means of the replications with 95% intervals.{loads}",
            study.found,
            lambda: _draw(headline, quantities),
        )
    ]


def _shared_figure(found: Sequence[DataRow]) -> ReportFigure:
    """Return the figure of a study of shared nodes: compositions downwards, a mark per workload and rule."""
    headline = [row for row in found if row["at"] == found[0]["at"]]
    turned: list[DataRow] = []
    for row in headline:
        composition, _, rule = str(row["queue"]).partition("/")
        if rule in SHOWN_RULES:
            turned.append({**row, "workload": composition, "queue": f"{row['workload']}, {rule}"})
    return ReportFigure(
        "study",
        "What the study found",
        f"Means of the replications with 95% intervals, {found[0]['at']}; the data hold the others.",
        found,
        lambda: _draw(turned, SHOWN_QUANTITIES),
    )


def _draw(rows: Sequence[DataRow], quantities: Sequence[str]) -> Figure:
    workloads = list(dict.fromkeys(str(row["workload"]) for row in rows))
    figure, axes = panels(0.3 * len(workloads) + 1.2, 1, len(quantities), sharey=True)
    for axis, quantity in zip(axes, quantities, strict=True):
        _draw_quantity(axis, rows, quantity, workloads)
        axis.set_xlabel(next(text for key, text in HEADINGS.items() if key == quantity))
    axes[0].set_yticks(range(len(workloads)), [label(workload) for workload in workloads])
    axes[0].set_ylim(len(workloads) - 0.5, -0.5)
    one_legend(figure, axes)
    return figure


def _draw_quantity(axis: Axes, rows: Sequence[DataRow], quantity: str, workloads: Sequence[str]) -> None:
    queues = list(dict.fromkeys(str(row["queue"]) for row in rows))
    for place, queue in enumerate(queues):
        of_queue = [row for row in rows if row["queue"] == queue and row.get(quantity) is not None]
        values = [_number(row, quantity, 0.0) for row in of_queue]
        at = [workloads.index(str(row["workload"])) + 0.14 * (place - (len(queues) - 1) / 2) for row in of_queue]
        found = list(zip(of_queue, values, strict=True))
        below = [max(0.0, value - _number(row, f"{quantity}_low", value)) for row, value in found]
        above = [max(0.0, _number(row, f"{quantity}_high", value) - value) for row, value in found]
        axis.errorbar(
            values, at, xerr=[below, above], fmt=_MARKERS[place % len(_MARKERS)], color=COLOURS[place % len(COLOURS)],
            markersize=3.5, linewidth=0.8, label=queue,
        )  # fmt: skip
    if quantity.endswith("_s"):
        few_ticks_of_ten(axis)


def _number(row: DataRow, column: str, otherwise: float) -> float:
    """Return the number in a column, or `otherwise` if there is none."""
    value = row.get(column)
    return otherwise if value is None else float(value)
