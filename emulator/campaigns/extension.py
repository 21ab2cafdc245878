"""Measuring extension factors: the same jobs in one cluster and spread over several, one job at a time.

A `Matrix` says what to measure; `measure` runs it in a new directory, `resume` what an earlier attempt left to run. The
product is a row for each cell, and the directory with every single job behind it. Which cells there are is ``matrix``'s
affair, running them ``recorded_cells``' and ``control_runs``', the rows ``extension_rows``', ``communication``'s,
``attribution``'s and ``invariance``'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from emulator.campaigns.attribution import attribution_rows
from emulator.campaigns.cell_runs import Finished
from emulator.campaigns.communication import CommunicationRows, communication_rows
from emulator.campaigns.conduct import Tell
from emulator.campaigns.control_runs import CHECK, control_runs_of, run_controls
from emulator.campaigns.extension_rows import MeasuredCell, judged, measured_cells
from emulator.campaigns.holding import Testbed
from emulator.campaigns.invariance import defects, invariance_rows
from emulator.campaigns.matrix import Layout, Matrix, lay_out
from emulator.campaigns.recorded_cells import Session, SessionRuns
from emulator.campaigns.resuming import read_earlier
from emulator.campaigns.run_directory import (
    check_free,
    next_attempt,
    read_manifest,
    replace_manifest,
    replace_rows,
)
from emulator.campaigns.surroundings import host_now
from emulator.fidelity.measures import RunMeasures
from emulator.fidelity.verdict import Verdict, judge_run
from emulator.model.attribution import AttributionRow, InvarianceRow
from emulator.model.evidence import LinkCheck
from emulator.model.records import (
    BorderExchangeRow,
    CommunicationRow,
    ExtensionFactorRow,
    RunProgress,
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement's product; `failures` says of each cell that was given up why, in a sentence.

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
        """The figures that were valid and did not hold at twice the dilation, a sentence each."""
        return defects(self.invariance)


def measure(testbed: Testbed, matrix: Matrix, path: Path, tell: Tell) -> Measured:
    """Measure `matrix` on `testbed` and record everything in the directory `path`.

    Raises:
        InvalidInput: if the matrix cannot be meant or cannot run on this testbed, or `path` is taken.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost, or no job finished.
    """
    check_free(path)
    layout = lay_out(matrix, testbed.topology)
    return _Attempt(matrix, layout, path, path).carry_out(testbed, tell)


def resume(testbed: Testbed, path: Path, tell: Tell) -> Measured:
    """Run what the measurement in the directory `path` has not yet, and complete its product.

    Raises:
        InvalidInput: if there is nothing to resume in `path`, or it was measured on another topology.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost.
    """
    earlier = read_earlier(path, testbed.topology)
    layout = lay_out(earlier.matrix, testbed.topology)
    finished = earlier.finished(layout, earlier.matrix.repeat)
    attempt = _Attempt(earlier.matrix, layout, path, next_attempt(path), finished, earlier.checks)
    return attempt.carry_out(testbed, tell)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt at the measurement in `path`, its records in `records`, after what is `finished` and its `checks`."""

    matrix: Matrix
    layout: Layout
    path: Path
    records: Path
    finished: Finished | None = None
    checks: tuple[LinkCheck, ...] = ()

    def carry_out(self, testbed: Testbed, tell: Tell) -> Measured:
        """Run what is left, of the measurement and then of its controls, and write the product."""
        finished = self.finished or {}
        session = Session(self.matrix, self.layout, self.records, finished=finished, checks=self.checks)
        with session.carried_out(testbed, tell) as made:
            measured = self._product(made)
        return self._controlled(testbed, made, measured, tell) if control_runs_of(self.matrix) else measured

    def _product(self, made: SessionRuns) -> Measured:
        """The rows of all cells, written beside what they come from, and the verdict on all attempts together."""
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

    def _controlled(self, testbed: Testbed, made: SessionRuns, measured: Measured, tell: Tell) -> Measured:
        """`measured` with what the control runs say of it, made as far as they are not, written beside it."""
        controls = run_controls(testbed, self.matrix, self.layout, self.path, tell)
        failures = measured.failures + tuple(it for control in controls.values() for it in control.runs.failures)
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
