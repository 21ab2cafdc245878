"""Measuring extension factors: the same jobs in one cluster and spread over several, one job at a time.

A `Matrix` says what to measure; `measure` runs it in a new directory, `resume` what an earlier attempt left to run. The
product is a row for each cell, and the directory with every single job behind it. Which cells there are is ``matrix``'s
affair, running them ``cell_runs``', the rows ``extension_rows``' and ``communication``'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.campaigns.cell_runs import CellRuns, Finished, run_in_turn, turns
from emulator.campaigns.communication import CommunicationRows, communication_rows
from emulator.campaigns.conduct import Tell, begun_manifest, checked_links, conclude, recorded
from emulator.campaigns.extension_rows import MeasuredCell, judged, measured_cells
from emulator.campaigns.holding import Testbed, held
from emulator.campaigns.matrix import Layout, Matrix, lay_out
from emulator.campaigns.resuming import read_earlier
from emulator.campaigns.run_directory import (
    check_free,
    next_attempt,
    read_manifest,
    replace_manifest,
    replace_rows,
)
from emulator.campaigns.surroundings import host_now
from emulator.fidelity.measures import LinkCheck, RunMeasures
from emulator.fidelity.verdict import Verdict, judge_run
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.records import BorderExchangeRow, CommunicationRow, ExtensionFactorRow, RunKind, RunProgress
from emulator.model.views import RunRequest


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement's product; `failures` says of each cell that was given up why, in a sentence."""

    cells: tuple[MeasuredCell, ...]
    communication: CommunicationRows
    verdict: Verdict
    failures: tuple[str, ...]


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
        """Run what is left, and write the product."""
        matrix, earlier = self.matrix, self.finished or {}
        asked = {"name": matrix.name, "dilation": matrix.dilation, "paced_middleware": False}
        request = validate(asked, RunRequest, source="measure")
        jobs = len(turns(self.layout, matrix.repeat, earlier))
        manifest = begun_manifest(testbed, RunKind.MEASUREMENT, request, matrix.model_dump(mode="json"), jobs)
        with held(testbed, request) as run, recorded(testbed, run, manifest, self.records) as recorder:
            with checked_links(testbed, recorder, tell) as checks:
                runs = run_in_turn(testbed, run, recorder, self.layout, matrix.repeat, earlier, tell)
            conclude(testbed, run, recorder, checks, jobs)
            return self._product(runs, [*self.checks, *checks])

    def _product(self, runs: CellRuns, checks: Sequence[LinkCheck]) -> Measured:
        """The rows of all cells, written beside what they come from, and the verdict on all attempts together."""
        dilation, links = Dilation(self.matrix.dilation), judge_run(RunMeasures(tuple(checks)), [])
        cells = measured_cells(self.layout, runs.finished, dilation, links)
        communication = CommunicationRows()
        if self.matrix.communication:
            communication = communication_rows(self.layout, runs.finished, dilation, links)
        replace_rows(self.path, ExtensionFactorRow, [cell.row for cell in cells])
        replace_rows(self.path, CommunicationRow, communication.totals)
        replace_rows(self.path, BorderExchangeRow, communication.processes)
        verdict = self._judged(runs, checks, dilation)
        progress = RunProgress.INCOMPLETE if runs.failures else RunProgress.COMPLETE
        changes = {
            "progress": progress,
            "verdict": verdict.judgement,
            "verdict_reasons": verdict.reasons,
            "jobs": self.matrix.repeat * len(self.layout.cells),
            "host_ended_at": host_now(),
        }
        replace_manifest(self.path, read_manifest(self.path).model_copy(update=changes))
        return Measured(cells, communication, verdict, runs.failures)

    def _judged(self, runs: CellRuns, checks: Sequence[LinkCheck], dilation: Dilation) -> Verdict:
        verdicts = [judged([job], dilation, Verdict()) for jobs in runs.finished.values() for job in jobs]
        expected = self.matrix.repeat * len(self.layout.cells)
        return judge_run(RunMeasures(tuple(checks), expected, jobs_failed=len(runs.failures)), verdicts)
