"""The figures of a report: those that a run has data for, and those that set several runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from emulator.model.records import RunKind
from emulator.reports.figures.background import background
from emulator.reports.figures.claiming import claiming
from emulator.reports.figures.factors import attribution, factors
from emulator.reports.figures.figure import ReportFigure
from emulator.reports.figures.gantt import gantt
from emulator.reports.figures.links import links
from emulator.reports.figures.policy_ratios import policy_ratios
from emulator.reports.figures.queue_length import queue_length, queue_lengths
from emulator.reports.figures.reported_run import ReportedRun
from emulator.reports.figures.run_differences import run_differences
from emulator.reports.figures.time_groups import time_groups
from emulator.reports.figures.times import times
from emulator.reports.figures.utilization import utilization

Chosen = Callable[[ReportedRun], ReportFigure | None]

_OF_A_STREAM: Final[tuple[Chosen, ...]] = (
    gantt,
    utilization,
    background,
    queue_length,
    lambda run: times([run]),
    time_groups,
    claiming,
)
_OF_A_MEASUREMENT: Final[tuple[Chosen, ...]] = (gantt,)
_OF_EVERY_RUN: Final[tuple[Chosen, ...]] = (lambda run: factors([run]), attribution, links)


def figures_of_run(run: ReportedRun) -> list[ReportFigure]:
    """Return the figures of one run; the times of a measurement's jobs depend on when each was submitted."""
    is_measurement = run.records.manifest.kind is RunKind.MEASUREMENT
    makers = (*(_OF_A_MEASUREMENT if is_measurement else _OF_A_STREAM), *_OF_EVERY_RUN)
    return [figure for make in makers if (figure := make(run)) is not None]


def figures_of_all(runs: Sequence[ReportedRun]) -> list[ReportFigure]:
    """Return the figures that set runs side by side; none for a single run."""
    streams = [run for run in runs if run.records.manifest.kind is not RunKind.MEASUREMENT and run.jobs]
    found = [factors(runs)] if len(runs) > 1 else []
    if len(streams) > 1:
        compared = [*policy_ratios(streams), run_differences(streams)]
        found = [times(streams), *compared, queue_lengths(streams), *found]
    return [figure for figure in found if figure is not None]
