"""The figures of a study: bars of response times, curves of response against load, or bars of gross over net."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from emulator.reports.figures.drawing import few_ticks_of_ten
from emulator.reports.pictures import as_png, blank_figure
from emulator.reports.shared_figures import shared_figure
from emulator.studies.catalogue import Chart, Measures
from emulator.studies.simulation_study import Row, StudyResult
from emulator.studies.statements import Quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS: Final = 3
CHART_INCHES: Final = (4.0, 2.7)
SHORTEST_S: Final = 0.9
"""Just below the mean service of the synthetic streams, below which no response time is."""

KINDS: Final = {Quantity.LOCAL_RESPONSE: "1 component", Quantity.GLOBAL_RESPONSE: "several"}


def study_figure(result: StudyResult) -> bytes:
    """Return the study's figure as PNG, a chart per workload; the same result gives the same bytes."""
    if result.study.measures is Measures.SHARED_NODES:
        return shared_figure(result)
    charts = result.study.charts
    columns = min(COLUMNS, len(charts))
    rows = math.ceil(len(charts) / columns)
    figure = blank_figure((CHART_INCHES[0] * columns, CHART_INCHES[1] * rows + 0.5))
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for chart, axis in zip(charts, axes, strict=False):
        axis.set_title(chart.workload, fontsize=9)
        axis.tick_params(labelsize=6)
        _DRAWN[result.study.measures](result, chart, axis)
    for axis in axes[len(charts) :]:
        axis.set_visible(False)
    figure.suptitle(f"{result.study.title} ({result.study.figures})", fontsize=10)
    return as_png(figure)


def _draw_responses(result: StudyResult, chart: Chart, axis: Axes) -> None:
    """Draw overall response at each load, then response by number of components at the headline load."""
    rows = [row for row in result.rows if row.workload == chart.workload]
    loads = sorted({row.load for row in rows if row.load is not None})
    headline_load = next(row.load for row in rows if row.at == result.headline)
    groups = [f"{load:.2f}" for load in loads] + [f"{kind}\nat {headline_load:.2f}" for kind in KINDS.values()]
    width = 0.8 / len(chart.queues)
    for place, queue in enumerate(chart.queues):
        own = sorted((row for row in rows if row.queue == queue), key=lambda row: row.load or 0.0)
        headline = next(row for row in own if row.at == result.headline)
        shown = [(row, Quantity.RESPONSE) for row in own] + [(headline, kind) for kind in KINDS]
        values, errors = zip(*(_value(row, quantity) for row, quantity in shown), strict=True)
        at = [index + width * (place - (len(chart.queues) - 1) / 2) for index in range(len(groups))]
        bars: Any = axis.bar(at, values, width, yerr=errors, label=queue, error_kw={"elinewidth": 0.7})
        for bar, (row, _) in zip(bars, shown, strict=True):
            if row.saturated > 0:
                bar.set_hatch("////")
    axis.set_xticks(range(len(groups)), groups)
    axis.set_yscale("log")
    axis.set_ylim(bottom=SHORTEST_S)
    few_ticks_of_ten(axis, "y")
    axis.set_ylabel("response time (s)", fontsize=7)
    axis.legend(fontsize=6)


def _draw_curves(result: StudyResult, chart: Chart, axis: Axes) -> None:
    """Draw response against gross utilization, and where each policy saturates."""
    for place, queue in enumerate(chart.queues):
        points = [point for point in result.curves if (point.workload, point.queue) == (chart.workload, queue)]
        colour = f"C{place}"
        axis.plot(
            [point.load for point in points], [point.response_s for point in points], ".-", color=colour, label=queue
        )
        row = next(row for row in result.rows if (row.workload, row.queue) == (chart.workload, queue))
        axis.axvline(row.found[Quantity.MAXIMAL_GROSS].value, linestyle=":", linewidth=0.9, color=colour)
    few_ticks_of_ten(axis, "y")
    axis.set_xlabel("gross utilization", fontsize=7)
    axis.set_ylabel("response time (s)", fontsize=7)
    axis.legend(fontsize=6)


def _draw_gaps(result: StudyResult, chart: Chart, axis: Axes) -> None:
    """Draw gross over net utilization under each policy."""
    rows = [row for row in result.rows if row.workload == chart.workload]
    values, errors = zip(*(_value(row, Quantity.GROSS_OVER_NET) for row in rows), strict=True)
    axis.bar([row.queue for row in rows], values, yerr=errors, color=[f"C{place}" for place in range(len(rows))])
    axis.set_ylim(1.0, 1.25)
    axis.set_ylabel("gross / net", fontsize=7)


def _value(row: Row, quantity: Quantity) -> tuple[float, float]:
    """Return the mean and half the interval; zeros where there are no such jobs."""
    around = row.found.get(quantity)
    if around is None:
        return 0.0, 0.0
    return around.value, 0.0 if around.high is None else around.high - around.value


_DRAWN: Final = {
    Measures.RESPONSE: _draw_responses,
    Measures.SATURATION: _draw_curves,
    Measures.UTILIZATION: _draw_gaps,
}
