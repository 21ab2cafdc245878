"""From the runs of a measurement and of its controls to what each extension factor is made of.

Which runs are the settings of an attribution is said here; its arithmetic is ``fidelity.attribution``'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from emulator.campaigns.control_runs import (
    LARGER_DILATION,
    LATENCY_ALONE,
    RATE_ALONE,
    UNSHARED,
    WITHOUT_WIDE_AREA,
    ControlRun,
)
from emulator.campaigns.matrix import Cell, Layout
from emulator.campaigns.recorded_cells import SessionRuns
from emulator.containers.wan.controls import speedup
from emulator.fidelity.attribution import WHOLE, Attribution, Contribution, Larger, Setting, Timing, attribute
from emulator.fidelity.invariance import LARGER_BY
from emulator.fidelity.verdict import Verdict
from emulator.model.attribution import AttributionRow
from emulator.model.topology import Topology
from emulator.model.views import JobView

_SETTINGS: Final[Mapping[Setting, ControlRun]] = {
    Setting.WITHOUT_WIDE_AREA: WITHOUT_WIDE_AREA,
    Setting.LATENCY_ALONE: LATENCY_ALONE,
    Setting.RATE_ALONE: RATE_ALONE,
    Setting.UNSHARED: UNSHARED,
    Setting.WITHOUT_WIDE_AREA_LARGER: LARGER_DILATION,
}
"""The control run in which a co-allocated cell is run under a setting."""

_Runs = Mapping[Setting, tuple[SessionRuns, Sequence[JobView]]]


def attribution_rows(
    layout: Layout, topology: Topology, asked: SessionRuns, controls: Mapping[ControlRun, SessionRuns]
) -> tuple[AttributionRow, ...]:
    """The parts of the factor of every cell over several clusters, in the order of the matrix.

    `asked` is the measurement itself. A cell of which some run is missing, or that has no single cluster to be compared
    with, has none.
    """
    return tuple(row for cells in layout.problems for row in _of_problem(cells, topology, asked, controls))


def _of_problem(
    cells: Sequence[Cell], topology: Topology, asked: SessionRuns, controls: Mapping[ControlRun, SessionRuns]
) -> Iterator[AttributionRow]:
    single = next((cell for cell in cells if cell.way.is_single), None)
    for cell in cells:
        if single is None or cell.clusters == 1 or cell.synchronized:
            continue
        runs = _runs(cell, single, asked, controls)
        if all(jobs for _, jobs in runs.values()):
            yield from _rows(cell, runs, topology, asked)


def _runs(cell: Cell, single: Cell, asked: SessionRuns, controls: Mapping[ControlRun, SessionRuns]) -> _Runs:
    """Every setting's session, and its jobs."""
    made = {
        Setting.SINGLE: (asked, single),
        Setting.COALLOCATED: (asked, cell),
        Setting.SINGLE_LARGER: (controls[LARGER_DILATION], single),
        **{setting: (controls[control_run], cell) for setting, control_run in _SETTINGS.items()},
    }
    return {setting: (session, session.finished.get(it.name, ())) for setting, (session, it) in made.items()}


def _rows(cell: Cell, runs: _Runs, topology: Topology, asked: SessionRuns) -> Iterator[AttributionRow]:
    timings = {setting: [_timing(job) for job in jobs] for setting, (_, jobs) in runs.items()}
    left, left_larger = (1 / speedup(topology, it.dilation) for it in (asked, runs[Setting.SINGLE_LARGER][0]))
    found: Attribution = attribute(timings, Larger(LARGER_BY, left, left_larger))
    singles = timings[Setting.SINGLE]
    single_s = sum(run.runtime_s for run in singles) / len(singles)
    verdict = Verdict.worst_of(session.judged(jobs) for session, jobs in runs.values())
    parts: dict[str, Contribution] = {part.value: it for part, it in found.parts.items()}
    for part, contribution in {**parts, WHOLE: found.whole}.items():
        yield AttributionRow(
            **cell.columns,
            dilation=asked.dilation.factor,
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
