"""The Gantt chart of a run: the processors of each cluster, and which job held them when.

A record says how many processors of a cluster a component held, not which ones: each gets the lowest that are free.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from emulator.reports.figures.drawing import COLOURS, DARK_INK, GREY, LIGHT_COLOURS, panels
from emulator.reports.figures.figure import DataRow, ReportFigure, label
from emulator.reports.figures.reported_run import ReportedRun
from emulator.runs.timelines import WAITING, Stay, waiting_jobs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Corners = list[tuple[float, float]]

MOST_BARS: Final = 900
"""Components that a Gantt chart shows; of more, those around the longest queue."""

MOST_INCHES: Final = 100.0
"""The most height that clusters take in a Gantt chart; 300 inches are too many pixels for a picture."""

_NUMBER_WIDTH: Final = 0.006
"""The share of the width of the chart that each digit of a job's number takes."""

_LEAST_HEIGHT: Final = 0.11
"""The share of a cluster that a bar must have for a number."""


def gantt(run: ReportedRun) -> ReportFigure | None:
    """Return the Gantt chart of `run`; None if no job held processors."""
    rows = gantt_rows(run)
    if not rows:
        return None
    shown = _around_longest_queue(run, rows)
    left_out = ""
    if len(shown) < len(rows):
        jobs, all_jobs = len({row["job"] for row in shown}), len({row["job"] for row in rows})
        left_out = (
            f" Only {jobs} of {all_jobs} jobs are drawn: those around the longest queue. The data hold all of them."
        )
    return ReportFigure(
        "gantt",
        "Gantt chart",
        "Processors of each cluster over time. The components of a job have one colour and its number; a pale bar "
        f"holds processors that were claimed and waited for the start of their job.{left_out}",
        rows,
        lambda: _draw(run, shown),
    )


def gantt_rows(run: ReportedRun) -> list[DataRow]:
    """Return a row per component that held processors, in order of its claim."""
    held = [(stay, ends_s) for stay in run.stays if (ends_s := _until_s(stay)) is not None]
    return [
        {
            "job": stay.job,
            "name": stay.name,
            "component": stay.component,
            "cluster": stay.cluster,
            "processors": stay.processors,
            "claimed_s": stay.claimed_s,
            "started_s": stay.started_s,
            "finished_s": stay.finished_s,
            "held_until_s": ends_s,
        }
        for stay, ends_s in sorted(held, key=lambda entry: (entry[0].claimed_s or 0.0, entry[0].job))
    ]


def _until_s(stay: Stay) -> float | None:
    """Return when a component that was claimed gave its processors back; None if it never had any."""
    return None if stay.claimed_s is None else stay.released_s or stay.finished_s


def _around_longest_queue(run: ReportedRun, rows: Sequence[DataRow]) -> list[DataRow]:
    """Return consecutive rows, at most `MOST_BARS`, around the time at which most jobs waited."""
    if len(rows) <= MOST_BARS:
        return list(rows)
    queue = waiting_jobs(run)
    waiting = queue.values[WAITING]
    longest_s = queue.times_s[max(range(len(waiting)), key=waiting.__getitem__)] if waiting else 0.0
    before = sum(1 for row in rows if _number(row, "claimed_s") < longest_s)
    first = max(0, min(before - MOST_BARS // 2, len(rows) - MOST_BARS))
    return list(rows[first : first + MOST_BARS])


def _draw(run: ReportedRun, rows: Sequence[DataRow]) -> Figure:
    by_cluster: dict[str, list[DataRow]] = defaultdict(list)
    for row in rows:
        by_cluster[str(row["cluster"])].append(row)
    sizes = {name: size for name, size in run.sizes.items() if name in by_cluster}
    ratios = [max(size, max(sizes.values()) / 3) for size in sizes.values()]
    figure, axes = panels(min(0.9 * len(sizes), MOST_INCHES) + 1.2, len(sizes), sharex=True, height_ratios=ratios)
    begin_s = min(_number(row, "claimed_s") for row in rows)
    end_s = max(_number(row, "held_until_s") for row in rows)
    for axis, (name, size) in zip(axes, sizes.items(), strict=True):
        _draw_cluster(axis, by_cluster[name], size, end_s - begin_s)
        axis.set_ylim(0, size)
        axis.set_yticks([0, size])
        axis.set_ylabel(label(name), rotation=0, ha="right", va="center")
        axis.grid(visible=False, axis="y")
    axes[-1].set_xlim(begin_s, end_s if end_s > begin_s else begin_s + 1.0)
    axes[-1].set_xlabel("emulated time (s)")
    return figure


def _draw_cluster(axis: Axes, rows: Sequence[DataRow], size: int, span_s: float) -> None:
    from matplotlib.collections import PolyCollection

    pale: list[tuple[Corners, str]] = []
    strong: list[tuple[Corners, str]] = []
    for row, lanes in _on_processors(rows, size):
        started_s, ran_until_s = _execution(row)
        colour = COLOURS[int(_number(row, "job")) % len(COLOURS)]
        for bottom, height in _blocks(lanes):
            pale.append((_corners(_number(row, "claimed_s"), started_s, bottom, height), colour))
            strong.append((_corners(started_s, ran_until_s, bottom, height), colour))
            text = str(row["job"])
            wide = ran_until_s - started_s >= _NUMBER_WIDTH * (len(text) + 1) * span_s * 2
            if wide and height >= _LEAST_HEIGHT * size:
                ink = DARK_INK if colour in LIGHT_COLOURS else "white"
                middle_s = (started_s + ran_until_s) / 2
                axis.text(middle_s, bottom + height / 2, text, ha="center", va="center", fontsize=6, color=ink)
    for bars, options in ((pale, {"alpha": 0.35, "linewidth": 0}), (strong, {"edgecolor": GREY, "linewidth": 0.3})):
        colours = [colour for _, colour in bars]
        axis.add_collection(PolyCollection([corners for corners, _ in bars], facecolor=colours, **options))


def _on_processors(rows: Sequence[DataRow], size: int) -> Iterator[tuple[DataRow, list[int]]]:
    """Return each row with the processors that it gets: the lowest of its cluster that are free at its claim."""
    free = list(range(size))
    busy: list[tuple[float, int, list[int]]] = []
    for place, row in enumerate(rows):
        while busy and busy[0][0] <= _number(row, "claimed_s"):
            for processor in heapq.heappop(busy)[2]:
                heapq.heappush(free, processor)
        lanes = [heapq.heappop(free) for _ in range(min(int(_number(row, "processors")), len(free)))]
        heapq.heappush(busy, (_number(row, "held_until_s"), place, lanes))
        yield row, lanes


def _execution(row: DataRow) -> tuple[float, float]:
    """Return from when until when a component executed; a job that never started only held its processors."""
    until_s = _number(row, "held_until_s")
    started_s = until_s if row["started_s"] is None else _number(row, "started_s")
    return started_s, until_s if row["finished_s"] is None else _number(row, "finished_s")


def _corners(begin_s: float, end_s: float, bottom: int, height: int) -> Corners:
    return [(begin_s, bottom), (end_s, bottom), (end_s, bottom + height), (begin_s, bottom + height)]


def _blocks(lanes: Sequence[int]) -> list[tuple[int, int]]:
    """Return neighbouring processors as blocks: the lowest, and how many."""
    blocks: list[tuple[int, int]] = []
    for lane in sorted(lanes):
        if blocks and lane == sum(blocks[-1]):
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + 1)
        else:
            blocks.append((lane, 1))
    return blocks


def _number(row: DataRow, column: str) -> float:
    value = row[column]
    return 0.0 if value is None else float(value)
