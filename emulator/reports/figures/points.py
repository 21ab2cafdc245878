"""Points with intervals, a line of the figure for each quantity and a colour for each of what is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from emulator.reports.figures.drawing import COLOURS, one_legend, panels
from emulator.reports.figures.figure import DataRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True, slots=True)
class Point:
    """A value of `quantity` for one of what is compared, `name`; without an interval its ends are None."""

    name: str
    quantity: str
    value: float
    low: float | None
    high: float | None


def point_of(row: DataRow, name: str, value: str, low: str, high: str) -> Point:
    """Return the point of a row of a figure's data, by the columns that hold its name, value and ends."""
    found, ends = row[value], [None if row[end] is None else float(row[end] or 0.0) for end in (low, high)]
    return Point(str(row[name]), str(row["quantity"]), float(found or 0.0), *ends)


def drawn_points(points: Sequence[Point], quantities: Mapping[str, str], same_at: float, x_label: str) -> Figure:
    """Draw `points` beside each other on the lines of their `quantities`, in order and by their titles.

    A vertical line stands at `same_at`, where nothing differs.
    """
    names, lines = list(dict.fromkeys(point.name for point in points)), list(quantities)
    figure, (axis,) = panels(0.16 * len(points) + 1.3)
    for place, name in enumerate(names):
        for number, point in enumerate(point for point in points if point.name == name):
            has_interval = point.low is not None and point.high is not None
            errors = [[point.value - (point.low or 0.0)], [(point.high or 0.0) - point.value]] if has_interval else None
            at = lines.index(point.quantity) + 0.6 * (place - (len(names) - 1) / 2) / len(names)
            axis.errorbar(
                [point.value], [at], xerr=errors, fmt=_MARKERS[place % len(_MARKERS)],
                color=COLOURS[place % len(COLOURS)], markersize=4.5, capsize=2.5, linewidth=1.0,
                label=name if number == 0 else None,
            )  # fmt: skip
    axis.axvline(same_at, color="#000000", linewidth=0.7)
    axis.set_yticks(range(len(lines)), list(quantities.values()))
    axis.set_ylim(len(lines) - 0.5, -0.5)
    axis.set_xlabel(x_label)
    one_legend(figure, [axis], columns=3)
    return figure
