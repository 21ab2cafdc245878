"""Measuring extension factors: the same jobs in one cluster and spread over several, one job at a time.

A `Matrix` says what to measure; `measure` runs it in a new directory, `resume` what an earlier attempt left to run. The
product is a row for each cell, and a directory with every job behind it. `runs.matrix` lays out the cells,
`runs.cell_sessions` and `control_runs` run them; `runs.extension_factors`, `communication`, `attribution` and
`invariance` make the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from emulator.fidelity.measures import RunMeasures
from emulator.fidelity.verdict import Verdict, judge_run
from emulator.measurement.attribution import attribution_rows
from emulator.measurement.communication import CommunicationRows, communication_rows
from emulator.measurement.control_runs import run_controls
from emulator.measurement.invariance import defects, invariance_rows
from emulator.model.comparison_rows import AttributionRow, InvarianceRow
from emulator.model.evidence import LinkCheck
from emulator.model.records import (
    BorderExchangeRow,
    CommunicationRow,
    ExtensionFactorRow,
    RunProgress,
)
from emulator.runs.cell_runs import Finished
from emulator.runs.cell_sessions import Session, SessionRuns
from emulator.runs.control_runs import CHECK, control_runs_of
from emulator.runs.extension_factors import MeasuredCell, judged, measured_cells
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Layout, Matrix, lay_out
from emulator.runs.progress import ReportProgress
from emulator.runs.resuming import read_earlier
from emulator.runs.run_directory import (
    check_free,
    next_attempt,
    read_manifest,
    replace_manifest,
    replace_rows,
)
from emulator.runs.surroundings import host_now


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of a measurement; `failures` has a sentence for each cell that was given up.

    `attribution` and `invariance` are there if the matrix asked for them.
    """

    cells: tuple[MeasuredCell, ...]
    communication: CommunicationRows
    verdict: Verdict
    failures: tuple[str, ...]
    attribution: tuple[AttributionRow, ...] = ()
    invariance: tuple[InvarianceRow, ...] = ()

    @property
    def defects(self) -> tuple[str, ...]:
        """A sentence for each valid figure that did not hold at twice the dilation."""
        return defects(self.invariance)


def measure(testbed: Testbed, matrix: Matrix, path: Path, report_progress: ReportProgress) -> Measured:
    """Measure `matrix` on `testbed` and record everything in the directory `path`.

    Raises:
        InvalidInput: if the matrix cannot be meant or cannot run on this testbed, or `path` is taken.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost, or no job finished.
    """
    check_free(path)
    layout = lay_out(matrix, testbed.topology)
    return _Attempt(matrix, layout, path, path).run(testbed, report_progress)


def resume(testbed: Testbed, path: Path, report_progress: ReportProgress) -> Measured:
    """Run what is missing of the measurement in the directory `path`, and complete its result.

    Raises:
        InvalidInput: if there is nothing to resume in `path`, or it was measured on another topology.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost.
    """
    earlier = read_earlier(path, testbed.topology)
    layout = lay_out(earlier.matrix, testbed.topology)
    finished = earlier.finished(layout, earlier.matrix.repeat)
    attempt = _Attempt(earlier.matrix, layout, path, next_attempt(path), finished, earlier.checks)
    return attempt.run(testbed, report_progress)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt at the measurement in `path`, with records in `records`, after `finished` jobs and their `checks`."""

    matrix: Matrix
    layout: Layout
    path: Path
    records: Path
    finished: Finished | None = None
    checks: tuple[LinkCheck, ...] = ()

    def run(self, testbed: Testbed, report_progress: ReportProgress) -> Measured:
        """Run what is missing of the measurement and then of its controls, and write the result."""
        finished = self.finished or {}
        session = Session(self.matrix, self.layout, self.records, finished=finished, checks=self.checks)
        with session.run(testbed, report_progress) as made:
            measured = self._product(made)
        return self._controlled(testbed, made, measured, report_progress) if control_runs_of(self.matrix) else measured

    def _product(self, made: SessionRuns) -> Measured:
        """Write the rows of all cells and the verdict on all attempts together, and return them."""
        runs, dilation = made.runs, made.dilation
        cells = measured_cells(self.layout, runs.finished, dilation, made.checks)
        communication = CommunicationRows()
        if self.matrix.communication:
            communication = communication_rows(self.layout, runs.finished, dilation, made.checks)
        replace_rows(self.path, ExtensionFactorRow, [cell.row for cell in cells])
        replace_rows(self.path, CommunicationRow, communication.totals)
        replace_rows(self.path, BorderExchangeRow, communication.processes)
        verdict = self._judged(made)
        self._update_manifest(
            {
                "progress": _progress(whole=not runs.failures and not control_runs_of(self.matrix)),
                "verdict": verdict.judgement,
                "verdict_reasons": verdict.reasons,
                "jobs": self.matrix.repeat * len(self.layout.cells),
                "host_ended_at": host_now(),
            }
        )
        return Measured(cells, communication, verdict, runs.failures)

    def _controlled(
        self, testbed: Testbed, made: SessionRuns, measured: Measured, report_progress: ReportProgress
    ) -> Measured:
        """Make the missing control runs, write their rows, and return `measured` with them."""
        controls = run_controls(testbed, self.matrix, self.layout, self.path, report_progress)
        failures = measured.failures + tuple(
            failure for control in controls.values() for failure in control.runs.failures
        )
        attribution = attribution_rows(self.layout, testbed.topology, made, controls) if self.matrix.attribute else ()
        invariance = invariance_rows(self.layout, made, controls[CHECK]) if self.matrix.check else ()
        measured = replace(measured, failures=failures, attribution=attribution, invariance=invariance)
        replace_rows(self.path, AttributionRow, attribution)
        replace_rows(self.path, InvarianceRow, invariance)
        self._update_manifest(
            {"progress": _progress(whole=not failures), "defects": measured.defects, "host_ended_at": host_now()}
        )
        return measured

    def _update_manifest(self, changes: Mapping[str, object]) -> None:
        replace_manifest(self.path, read_manifest(self.path).model_copy(update=dict(changes)))

    def _judged(self, made: SessionRuns) -> Verdict:
        runs = made.runs
        verdicts = [judged([job], made.dilation, Verdict()) for jobs in runs.finished.values() for job in jobs]
        expected = self.matrix.repeat * len(self.layout.cells)
        return judge_run(RunMeasures(made.checks, expected, jobs_failed=len(runs.failures)), verdicts)


def _progress(*, whole: bool) -> RunProgress:
    return RunProgress.COMPLETE if whole else RunProgress.INCOMPLETE
