"""Making the control runs of a measurement: the same jobs with another program of the wide area or another dilation.

Each is recorded in a folder of the measurement's directory, with a part for each dilation. It is resumed like the
measurement: its finished jobs are not run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from emulator.model.clock import Dilation
from emulator.model.records import MANIFEST_FILE
from emulator.runs.cell_sessions import Session, SessionRuns
from emulator.runs.control_runs import ControlRun, control_runs_of
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Cell, Matrix
from emulator.runs.progress import ReportProgress
from emulator.runs.resuming import read_attempts
from emulator.runs.run_directory import next_attempt

ProblemsByDilation = Mapping[float, Sequence[Sequence[Cell]]]
"""The cells of each problem as they were run, by the dilation at which they were."""


def run_controls(
    testbed: Testbed, matrix: Matrix, problems: ProblemsByDilation, path: Path, report_progress: ReportProgress
) -> dict[ControlRun, SessionRuns]:
    """Make the control runs of `matrix` that the measurement in `path` does not have yet, and return all of them.

    Raises:
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost, or no job of a run finished.
    """
    control_runs = control_runs_of(matrix)
    made = {}
    for number, control_run in enumerate(control_runs, start=1):
        report = _named_reports(f"{control_run.folder} ({number} of {len(control_runs)})", report_progress)
        folder = path / control_run.folder
        sessions = [
            _run(testbed, control_run, matrix, factor, cells, folder, report)
            for factor, cells in sorted(problems.items())
        ]
        made[control_run] = SessionRuns.together(sessions)
    return made


def _run(
    testbed: Testbed,
    control_run: ControlRun,
    matrix: Matrix,
    factor: float,
    problems: Sequence[Sequence[Cell]],
    folder: Path,
    report_progress: ReportProgress,
) -> SessionRuns:
    """Run what is missing of a control run for the problems that were measured at the dilation `factor`."""
    layout, dilation = control_run.layout(problems), Dilation(control_run.larger_by * factor)
    session = Session(control_run.matrix(matrix), layout, dilation, next_attempt(folder), control_run.control)
    if (folder / MANIFEST_FILE).is_file():
        session = replace(session, finished=read_attempts(folder).finished(layout, matrix.repeat, dilation))
    if not session.jobs:
        return SessionRuns({name: tuple(jobs) for name, jobs in session.finished.items()})
    return session.run(testbed, report_progress)


def _named_reports(name: str, report_progress: ReportProgress) -> ReportProgress:
    """Return a reporter that puts `name` before each stage."""
    return lambda progress: report_progress(replace(progress, stage=f"{name}: {progress.stage}"))
