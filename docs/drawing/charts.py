"""Charts of numbers that a command wrote, or that the model gives."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apps.grid import equal_components
from emulator.fidelity.iteration.predicted import ModelJob, predicted
from emulator.model.catalogue import topology_named
from emulator.model.project import PROJECT_ROOT
from emulator.reports.figures.drawing import one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRIDS: Final = (100, 1000, 4000)
CLUSTERS: Final = (1, 2, 4)
PROCESSORS: Final = 16
PARTS: Final = {"compute": "compute", "borders": "border exchange", "meeting": "meeting"}
SHARED: Final = PROJECT_ROOT / "docs" / "results" / "non-dedicated.csv"


def predicted_parts() -> ReportFigure:
    """Return what an iteration of Poisson consists of by the model, on 16 processors over 1, 2 and 4 clusters."""
    topology = topology_named("das2-2003")
    rows: list[DataRow] = []
    for grid in GRIDS:
        for clusters in CLUSTERS:
            names = topology.cluster_names[:clusters]
            parts = tuple(zip(names, equal_components(PROCESSORS, clusters), strict=True))
            found = predicted(topology, ModelJob("poisson", grid, parts))
            times = {"compute": found.compute_s, "borders": found.border_exchange_s, "meeting": found.meeting_s}
            rows.append({"grid": grid, "clusters": clusters, **{part: 1000 * times[part] for part in PARTS}})
    shows = "Parts of an iteration by the model, in milliseconds."
    return ReportFigure("predicted", "An iteration of Poisson by the model", shows, rows, lambda: _parts(rows))


def _parts(rows: list[DataRow]) -> Figure:
    figure, axes = panels(2.5, 1, len(GRIDS))
    for axis, grid in zip(axes, GRIDS, strict=True):
        own = [row for row in rows if row["grid"] == grid]
        bottom = [0.0] * len(own)
        for part, words in PARTS.items():
            heights = [float(row[part] or 0.0) for row in own]
            axis.bar([str(row["clusters"]) for row in own], heights, 0.6, bottom=bottom, label=words)
            bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
        axis.set(title=f"grid {grid}", xlabel="clusters")
    axes[0].set_ylabel("an iteration (ms)")
    one_legend(figure, axes)
    return figure


def table_errors(file: Path) -> ReportFigure:
    """Return the error of every row of a fitted table when it was left out of the fit."""
    with file.open(encoding="utf-8") as text:
        found = [row for row in csv.DictReader(text) if row["left_out_error"]]
    rows: list[DataRow] = [
        {
            "grid": int(row["grid"]),
            "clusters": row["split"].count("+") + 1,
            "known_ms": 1000 * float(row["known_s"]),
            "error_percent": 100 * float(row["left_out_error"]),
        }
        for row in found
    ]
    shows = "Each point is a row of the table, predicted by a fit to the others."
    return ReportFigure("table-errors", "Rows of the table, left out", shows, rows, lambda: _errors(rows))


def _errors(rows: list[DataRow]) -> Figure:
    figure, (axis,) = panels(2.8)
    numbers = sorted({int(row["clusters"] or 0) for row in rows})
    for number, marker in zip(numbers, "osD^", strict=False):
        own = [row for row in rows if row["clusters"] == number]
        words = "1 cluster" if number == 1 else f"{number} clusters"
        at, errors = [[float(row[key] or 0.0) for row in own] for key in ("known_ms", "error_percent")]
        axis.plot(at, errors, marker, markersize=4, label=words)
    axis.axhline(0.0, color="black", linewidth=0.6)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set(xlabel="known iteration (ms)", ylabel="error of the prediction (%)")
    one_legend(figure, [axis])
    return figure


def shared_nodes() -> ReportFigure:
    """Return the mean turnaround in SIT by composition, at the three interarrival times of the study."""
    with SHARED.open(encoding="utf-8") as text:
        found = [row for row in csv.DictReader(text) if row["workload"] == "sit" and row["queue"].endswith("/linux")]
    rows: list[DataRow] = [
        {
            "composition": row["queue"].partition("/")[0],
            "interarrival": row["at"],
            **{key: float(row[key]) for key in ("turnaround_s", "turnaround_s_low", "turnaround_s_high")},
        }
        for row in found
    ]
    shows = "Mean time from arrival to end, with 95% intervals over the replications."
    return ReportFigure("shared-nodes", "Turnaround of SIT under linux", shows, rows, lambda: _turnarounds(rows))


def _turnarounds(rows: list[DataRow]) -> Figure:
    loads = list(dict.fromkeys(str(row["interarrival"]) for row in rows))
    figure, axes = panels(2.6, 1, len(loads), sharey=True)
    for axis, load in zip(axes, loads, strict=True):
        own = [row for row in rows if row["interarrival"] == load]
        means = [float(row["turnaround_s"] or 0.0) for row in own]
        highs = [float(row["turnaround_s_high"] or 0.0) for row in own]
        errors = [high - mean for high, mean in zip(highs, means, strict=True)]
        axis.bar([str(row["composition"]) for row in own], means, 0.7, yerr=errors, error_kw={"elinewidth": 0.8})
        axis.tick_params(axis="x", rotation=60)
        axis.set_title(load)
    axes[0].set_ylabel("turnaround (s)")
    return figure
