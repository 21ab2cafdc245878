"""The figure of the study of non-dedicated clusters: execution, turnaround, makespan and latency, as in the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from emulator.reports.figures.drawing import one_legend
from emulator.reports.pictures import as_png, blank_figure
from emulator.studies.simulation_study import Row, StudyResult
from emulator.studies.statements import Quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_RULES: Final = ("linux", "ccs")
SHOWN_QUANTITIES: Final = (Quantity.EXECUTION, Quantity.TURNAROUND, Quantity.MAKESPAN, Quantity.LATENCY)
PUBLISHED: Final = {
    Quantity.EXECUTION: "Fig. 7: execution (s)",
    Quantity.TURNAROUND: "Fig. 8: turnaround (s)",
    Quantity.MAKESPAN: "Fig. 9: makespan (s)",
    Quantity.LATENCY: "Fig. 10: latency beside jobs (s)",
}
CHART_INCHES: Final = (3.4, 2.7)


def shared_figure(result: StudyResult) -> bytes:
    """Return the figure as PNG: a row per workload, a column per quantity, bars by composition and rule."""
    workloads = list(dict.fromkeys(row.workload for row in result.rows))
    rows, columns = len(workloads), len(SHOWN_QUANTITIES)
    figure = blank_figure((CHART_INCHES[0] * columns, CHART_INCHES[1] * rows + 0.5))
    axes = figure.subplots(rows, columns, squeeze=False)
    for workload, line in zip(workloads, axes, strict=True):
        for quantity, axis in zip(SHOWN_QUANTITIES, line, strict=True):
            own = [row for row in result.rows if row.workload == workload and row.at == result.headline]
            _draw(own, quantity, axis)
            axis.set_title(f"{workload.upper()}, {PUBLISHED[quantity]}", fontsize=8)
    one_legend(figure, [axes[0][0]])
    figure.suptitle(f"{result.study.title} ({result.study.figures})", fontsize=10)
    return as_png(figure)


def _draw(rows: list[Row], quantity: Quantity, axis: Axes) -> None:
    compositions = list(dict.fromkeys(row.queue.partition("/")[0] for row in rows))
    width = 0.8 / len(SHOWN_RULES)
    for place, rule in enumerate(SHOWN_RULES):
        found = {row.queue.partition("/")[0]: row.found.get(quantity) for row in rows if row.queue.endswith(f"/{rule}")}
        around = [found.get(composition) for composition in compositions]
        values = [0.0 if one is None else one.value for one in around]
        errors = [0.0 if one is None or one.high is None else one.high - one.value for one in around]
        at: Any = [index + width * (place - (len(SHOWN_RULES) - 1) / 2) for index in range(len(compositions))]
        axis.bar(at, values, width, yerr=errors, label=rule, error_kw={"elinewidth": 0.7})
    axis.set_xticks(range(len(compositions)), compositions, rotation=60, fontsize=6)
    axis.tick_params(axis="y", labelsize=6)
