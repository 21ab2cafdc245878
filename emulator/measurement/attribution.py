"""The parts of each extension factor, from the runs of a measurement and of its controls.

This module chooses the runs for the settings of an attribution; the arithmetic is in `fidelity.attribution`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from emulator.containers.wan.controls import speedup
from emulator.fidelity.attribution import WHOLE, Attribution, Contribution, Larger, Setting, Timing, attribute
from emulator.model.cell_rows import AttributionRow
from emulator.model.clock import Dilation
from emulator.model.topology import Topology
from emulator.model.views import JobView
from emulator.runs.cell_sessions import SessionRuns
from emulator.runs.control_runs import (
    LARGER_DILATION,
    LATENCY_ALONE,
    RATE_ALONE,
    UNSHARED,
    WITHOUT_WIDE_AREA,
    ControlRun,
)
from emulator.runs.extension_factors import judged
from emulator.runs.matrix import LARGER_BY, Cell, Layout
from emulator.runs.recording import EndedJob

_SETTINGS: Final[Mapping[Setting, ControlRun]] = {
    Setting.WITHOUT_WIDE_AREA: WITHOUT_WIDE_AREA,
    Setting.LATENCY_ALONE: LATENCY_ALONE,
    Setting.RATE_ALONE: RATE_ALONE,
    Setting.UNSHARED: UNSHARED,
    Setting.WITHOUT_WIDE_AREA_LARGER: LARGER_DILATION,
}
"""The control run in which a co-allocated cell is run under a setting."""

_Runs = Mapping[Setting, Sequence[EndedJob]]


def attribution_rows(
    layout: Layout, topology: Topology, measurement: SessionRuns, controls: Mapping[ControlRun, SessionRuns]
) -> tuple[AttributionRow, ...]:
    """Return the parts of the factor of every cell over several clusters, in the order of the matrix.

    The `controls` repeat the `measurement`. A cell of which some run is missing, or that has no single cluster to be
    compared with, has none.
    """
    return tuple(row for cells in layout.problems for row in _of_problem(cells, topology, measurement, controls))


def _of_problem(
    cells: Sequence[Cell], topology: Topology, measurement: SessionRuns, controls: Mapping[ControlRun, SessionRuns]
) -> Iterator[AttributionRow]:
    single = next((cell for cell in cells if cell.variant.is_single), None)
    for cell in cells:
        if single is None or cell.clusters == 1 or cell.synchronized:
            continue
        runs = _runs(cell, single, measurement, controls)
        if all(runs.values()):
            yield from _rows(cell, runs, topology)


def _runs(cell: Cell, single: Cell, measurement: SessionRuns, controls: Mapping[ControlRun, SessionRuns]) -> _Runs:
    """Return every setting's jobs."""
    made = {
        Setting.SINGLE: (measurement, single),
        Setting.COALLOCATED: (measurement, cell),
        Setting.SINGLE_LARGER: (controls[LARGER_DILATION], single),
        **{setting: (controls[control_run], cell) for setting, control_run in _SETTINGS.items()},
    }
    return {setting: session.of(used.name) for setting, (session, used) in made.items()}


def _rows(cell: Cell, runs: _Runs, topology: Topology) -> Iterator[AttributionRow]:
    timings = {setting: [_timing(job) for job in jobs] for setting, jobs in runs.items()}
    dilation = runs[Setting.SINGLE][0].dilation
    left, left_larger = (1 / speedup(topology, Dilation(factor)) for factor in (dilation, LARGER_BY * dilation))
    found: Attribution = attribute(timings, Larger(LARGER_BY, left, left_larger))
    singles = timings[Setting.SINGLE]
    single_s = sum(run.runtime_s for run in singles) / len(singles)
    verdict = judged([job for jobs in runs.values() for job in jobs])
    parts: dict[str, Contribution] = {part.value: contribution for part, contribution in found.parts.items()}
    for part, contribution in {**parts, WHOLE: found.whole}.items():
        yield AttributionRow(
            **cell.columns,
            dilation=dilation,
            part=part,
            single_share=contribution.single,
            added=contribution.added,
            added_s=contribution.added * single_s,
            ci_low=contribution.low,
            ci_high=contribution.high,
            n=len(timings[Setting.COALLOCATED]),
            verdict=verdict.judgement,
        )


def _timing(job: JobView) -> Timing:
    record: Mapping[str, Any] = job.result or {}
    return Timing(float(record["runtime_s"]), float(record["compute_s"]["max"]))
