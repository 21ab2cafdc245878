"""The links of the wide area: the delay and rate that were asked, and those that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from emulator.model.records import LinkRow
from emulator.reports.figures.drawing import COLOURS, one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure, label
from emulator.reports.figures.reported_run import ReportedRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINKS: Final = 30
"""Links that a panel shows; of more, those that are farthest from what was asked."""

MOMENTS: Final = {"before": ("o", COLOURS[0]), "after": ("s", COLOURS[1])}
OUTSIDE: Final = COLOURS[5]


class _Measured(NamedTuple):
    """A measurement of a link, in the unit of its panel."""

    link: str
    moment: str
    asked: float
    measured: float
    within: bool


def links(run: ReportedRun) -> ReportFigure | None:
    """Return the figure of the links of `run`; None if none was measured."""
    rows = run.records.links
    delays, rates = _delays(rows), _rates(rows)
    if not delays and not rates:
        return None
    shown = [_farthest(measured) for measured in (delays, rates)]
    thin = "" if len(shown[0]) + len(shown[1]) == len(delays) + len(rates) else (
        f" Only the {MOST_LINKS} links farthest from what was asked are drawn."
    )  # fmt: skip
    outside = sum(not measured.within for measured in (*delays, *rates))
    found = "All are within their tolerance." if not outside else f"{outside} are outside their tolerance (crossed)."
    return ReportFigure(
        "links",
        "Links: asked and measured",
        f"One-way delays and rates before and after the run; a short line is what was asked. {found}{thin}",
        link_rows(rows),
        lambda: _draw(shown[0], shown[1]),
    )


def link_rows(rows: Sequence[LinkRow]) -> list[DataRow]:
    """Return the measurements of the wide area as they are recorded."""
    return [row.model_dump(mode="json") for row in rows]


def _delays(rows: Sequence[LinkRow]) -> list[_Measured]:
    return [
        _Measured(_link(row), row.moment, 1000 * row.asked_s, 1000 * row.measured_s, row.within)
        for row in rows
        if row.quantity == "delay" and row.asked_s is not None and row.measured_s is not None
    ]


def _rates(rows: Sequence[LinkRow]) -> list[_Measured]:
    return [
        _Measured(_link(row), row.moment, row.asked_mbit, row.measured_mbit, row.within)
        for row in rows
        if row.quantity == "rate" and row.asked_mbit is not None and row.measured_mbit is not None
    ]


def _link(row: LinkRow) -> str:
    return f"{label(row.source)} → {label(row.target)}"


def _farthest(found: Sequence[_Measured]) -> list[_Measured]:
    names = list(dict.fromkeys(measured.link for measured in found))
    if len(names) <= MOST_LINKS:
        return list(found)
    error = dict.fromkeys(names, 0.0)
    for measured in found:
        off = abs(measured.measured / measured.asked - 1) if measured.asked else 0.0
        error[measured.link] = max(error[measured.link], off)
    kept = set(sorted(names, key=lambda name: -error[name])[:MOST_LINKS])
    return [measured for measured in found if measured.link in kept]


def _draw(delays: Sequence[_Measured], rates: Sequence[_Measured]) -> Figure:
    found = [(measured, text) for measured, text in ((delays, "delay (ms)"), (rates, "rate (Mbit/s)")) if measured]
    most = max(len({measured.link for measured in of_panel}) for of_panel, _ in found)
    figure, axes = panels(0.17 * most + 1.1, 1, len(found))
    for axis, (of_panel, text) in zip(axes, found, strict=True):
        _draw_panel(axis, of_panel)
        axis.set_xlabel(text)
    one_legend(figure, axes)
    return figure


def _draw_panel(axis: Axes, found: Sequence[_Measured]) -> None:
    names = list(dict.fromkeys(measured.link for measured in found))
    asked = {measured.link: measured.asked for measured in found}
    places = range(len(names))
    axis.plot([asked[name] for name in names], places, "|", color="#000000", markersize=9, label="asked")
    for moment, (marker, colour) in MOMENTS.items():
        of_moment = [measured for measured in found if measured.moment == moment]
        at = [names.index(measured.link) for measured in of_moment]
        axis.plot(
            [measured.measured for measured in of_moment], at, marker, color=colour, markersize=3.5, label=moment,
            fillstyle="none",
        )  # fmt: skip
    outside = [measured for measured in found if not measured.within]
    if outside:
        at = [names.index(measured.link) for measured in outside]
        axis.plot([measured.measured for measured in outside], at, "x", color=OUTSIDE, label="outside its tolerance")
    axis.set_yticks(places, names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlim(0, 1.06 * max(max(measured.asked, measured.measured) for measured in found))
