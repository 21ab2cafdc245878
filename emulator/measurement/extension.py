"""Measuring extension factors: the same jobs in one cluster and spread over several, one job at a time.

A `Matrix` says what to measure; `measure` runs it in a new directory, `resume` what an earlier attempt left to run. The
product is a row for each cell, and a directory with every job behind it. `runs.matrix` lays out the cells,
`planning.choices` chooses the dilation of each problem; `dilation_sessions` and `control_runs` run them;
`runs.extension_factors`, `communication`, `attribution` and `invariance` make the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from emulator.fidelity.measures import RunMeasures
from emulator.fidelity.verdict import Verdict, judge_run
from emulator.measurement.attribution import attribution_rows
from emulator.measurement.communication import CommunicationRows, communication_rows
from emulator.measurement.control_runs import ProblemsByDilation, run_controls
from emulator.measurement.dilation_sessions import DilationSessions, announced, known_choices, problems_by_dilation
from emulator.measurement.invariance import defects, invariance_rows
from emulator.model.cell_rows import (
    AttributionRow,
    BorderExchangeRow,
    CommunicationRow,
    ExtensionFactorRow,
    InvarianceRow,
)
from emulator.model.records import RunProgress
from emulator.planning.choices import DilationChoice, asked_choices, tried_choices
from emulator.planning.planned_hosts import resources_of
from emulator.planning.planned_runs import check_possible, planned_cells
from emulator.runs.cell_sessions import SessionRuns
from emulator.runs.control_runs import CHECK, control_runs_of
from emulator.runs.extension_factors import MeasuredCell, measured_cells
from emulator.runs.holding import Testbed, real_time_if_failed
from emulator.runs.matrix import Layout, Matrix, Problem, lay_out
from emulator.runs.progress import ReportProgress
from emulator.runs.resuming import Earlier, read_earlier
from emulator.runs.run_directory import (
    PILOTS_FOLDER,
    check_free,
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


def measure(
    testbed: Testbed,
    matrix: Matrix,
    path: Path,
    report_progress: ReportProgress,
    *,
    even_if_hopeless: bool = False,
    every_run_counts: bool = False,
) -> Measured:
    """Measure `matrix` on `testbed` and record everything in the directory `path`.

    What is not valid is run again, unless `every_run_counts`.

    Raises:
        InvalidInput: if the matrix cannot be meant or cannot run on this testbed, or `path` is taken.
        Hopeless: if the testbed's hosts cannot hold it, unless it is to run `even_if_hopeless`.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost, or no job finished at all.
    """
    check_free(path)
    layout = lay_out(matrix, testbed.topology)
    if not even_if_hopeless:
        check_possible(planned_cells(layout.cells, testbed.topology, matrix.repeat), resources_of(testbed))
    return _Attempt(testbed, matrix, layout, path, report_progress, every_run_counts=every_run_counts).run()


def resume(testbed: Testbed, path: Path, report_progress: ReportProgress) -> Measured:
    """Run what is missing of the measurement in the directory `path`, and complete its result.

    Raises:
        InvalidInput: if there is nothing to resume in `path`, it was measured on another topology, or this testbed
            cannot make its control runs.
        TestbedBusy: if another run holds the testbed, or another process still writes the measurement.
        RunFailed: if the testbed was lost.
    """
    earlier = read_earlier(path, testbed.topology)
    layout = lay_out(earlier.matrix, testbed.topology)
    return _Attempt(testbed, earlier.matrix, layout, path, report_progress, earlier).run()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt at the measurement in `path`, after what an `earlier` one left."""

    testbed: Testbed
    matrix: Matrix
    layout: Layout
    path: Path
    report_progress: ReportProgress
    earlier: Earlier | None = None
    every_run_counts: bool = False

    def run(self) -> Measured:
        """Run what is missing of the measurement and then of its controls, and write the result."""
        for control_run in control_runs_of(self.matrix):
            # A wide area of which this cannot be left is refused before anything runs.
            self.testbed.wide_area.under(control_run.control)
        with real_time_if_failed(self.testbed):
            known = {} if self.earlier is None else known_choices(self.layout, self.earlier)
            choices = self._choices(known)
            self.report_progress(announced(list(choices.values()), self.matrix, self.testbed.topology))
            sessions = DilationSessions(
                self.testbed, self.matrix, self.path, choices, self.earlier, self.every_run_counts
            )
            for made in sessions.run(self.report_progress):
                measured = self._product(made, sessions.choices)
        if not control_runs_of(self.matrix):
            return measured
        return self._controlled(made, problems_by_dilation(sessions.choices.values()), measured)

    def _choices(self, known: dict[Problem, DilationChoice]) -> dict[Problem, DilationChoice]:
        """Return the dilation of every problem: as asked, as `known` from earlier, or by pilots."""
        if self.matrix.dilation is not None:
            return asked_choices(self.layout, self.matrix.dilation)
        missing = [cells for cells in self.layout.problems if cells[0].problem not in known]
        if not missing:
            return known
        resources = resources_of(self.testbed)
        folder = self.path / PILOTS_FOLDER
        return known | tried_choices(self.testbed, self.matrix, missing, folder, resources, self.report_progress)

    def _product(self, made: SessionRuns, choices: Mapping[Problem, DilationChoice]) -> Measured:
        """Write the rows of all cells and the verdict on what is measured so far, and return them."""
        cells = measured_cells(self.layout, made.finished)
        communication = CommunicationRows()
        if self.matrix.communication:
            communication = communication_rows(self.layout, made.finished)
        replace_rows(self.path, ExtensionFactorRow, [cell.row for cell in cells])
        replace_rows(self.path, CommunicationRow, communication.totals)
        replace_rows(self.path, BorderExchangeRow, communication.processes)
        verdict, whole = self._judged(made), not made.failures and self._is_whole(made)
        self._update_manifest(
            {
                "progress": _progress(whole=whole and not control_runs_of(self.matrix)),
                "plan": {"problems": [choice.record() for choice in choices.values()]},
                "verdict": verdict.judgement,
                "verdict_reasons": verdict.reasons,
                "jobs": self.matrix.repeat * len(self.layout.cells),
                "host_ended_at": host_now(),
            }
        )
        return Measured(cells, communication, verdict, made.failures)

    def _is_whole(self, made: SessionRuns) -> bool:
        return all(len(made.of(cell.name)) >= self.matrix.repeat for cell in self.layout.cells)

    def _controlled(self, made: SessionRuns, problems: ProblemsByDilation, measured: Measured) -> Measured:
        """Make the missing control runs, write their rows, and return `measured` with them."""
        testbed, topology = self.testbed, self.testbed.topology
        controls = run_controls(testbed, self.matrix, problems, self.path, self.report_progress)
        failures = measured.failures + tuple(failure for control in controls.values() for failure in control.failures)
        attribution = attribution_rows(self.layout, topology, made, controls) if self.matrix.attribute else ()
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
        verdicts = [job.verdict for jobs in made.finished.values() for job in jobs]
        expected = self.matrix.repeat * len(self.layout.cells)
        return judge_run(RunMeasures(made.checks, expected, jobs_failed=len(made.failures)), verdicts)


def _progress(*, whole: bool) -> RunProgress:
    return RunProgress.COMPLETE if whole else RunProgress.INCOMPLETE
