"""Making the control runs of a measurement: the same jobs with another program of the wide area or another dilation.

Each is a recorded run in a folder of the measurement's directory. It is resumed like the measurement: its finished jobs
are not run again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from emulator.model.records import MANIFEST_FILE
from emulator.runs.cell_sessions import Session, SessionRuns
from emulator.runs.control_runs import ControlRun, control_runs_of
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Layout, Matrix
from emulator.runs.progress import ReportProgress
from emulator.runs.resuming import read_attempts
from emulator.runs.run_directory import next_attempt


def run_controls(
    testbed: Testbed, matrix: Matrix, layout: Layout, path: Path, report_progress: ReportProgress
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
        made[control_run] = _run(testbed, control_run, matrix, layout, path / control_run.folder, report)
    return made


def _run(
    testbed: Testbed,
    control_run: ControlRun,
    matrix: Matrix,
    layout: Layout,
    folder: Path,
    report_progress: ReportProgress,
) -> SessionRuns:
    session = Session(control_run.matrix(matrix), control_run.layout(layout), folder, control_run.control)
    if (folder / MANIFEST_FILE).is_file():
        earlier = read_attempts(folder)
        finished = earlier.finished(session.layout, matrix.repeat)
        session = replace(session, records=next_attempt(folder), finished=finished, checks=earlier.checks)
    with session.run(testbed, report_progress) as made:
        return made


def _named_reports(name: str, report_progress: ReportProgress) -> ReportProgress:
    """Return a reporter that puts `name` before each stage."""
    return lambda progress: report_progress(replace(progress, stage=f"{name}: {progress.stage}"))
