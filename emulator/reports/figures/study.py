"""What a study found, from its tables in a folder: each quantity by workload and queue, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from emulator.reports.figures.drawing import COLOURS, few_ticks_of_ten, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure, label
from emulator.reports.shared_figures import SHOWN_QUANTITIES, SHOWN_RULES
from emulator.reports.study_folders import StudyFolder
from emulator.reports.study_pages import HEADINGS
from emulator.studies.simulation_study import HEADLINE_SHARE
from emulator.studies.statements import Quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEADLINE: Final = f"at {HEADLINE_SHARE:g} "
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")


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
