"""The runs beside a measurement's own: the same jobs with the wide area programmed otherwise, or at another dilation.

Each is a recorded run in a folder of the measurement's directory, resumed like the measurement: jobs that it holds are
not run again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from emulator.campaigns.conduct import Tell
from emulator.campaigns.holding import Testbed
from emulator.campaigns.matrix import Cell, Layout, Matrix
from emulator.campaigns.recorded_cells import Session, SessionRuns
from emulator.campaigns.resuming import read_attempts
from emulator.campaigns.run_directory import next_attempt
from emulator.containers.wan.controls import Control
from emulator.fidelity.invariance import LARGER_BY
from emulator.model.records import MANIFEST_FILE


@dataclass(frozen=True, slots=True)
class ControlRun:
    """A run in `folder` under a `control`, at `larger_by` times the measurement's dilation.

    It runs the cells over several clusters; `single`, that in one cluster, too; all of them if nothing is controlled.
    """

    folder: str
    control: Control
    larger_by: float = 1.0
    single: bool = False

    def holds(self, cell: Cell) -> bool:
        """Whether it runs `cell`; no synchronized one, since there is no factor of those."""
        wanted = cell.clusters > 1 or (self.single and cell.way.is_single) or self.control is Control.AS_ASKED
        return wanted and not cell.synchronized

    def layout(self, layout: Layout) -> Layout:
        """The cells that it runs, of all."""
        problems = (tuple(cell for cell in cells if self.holds(cell)) for cells in layout.problems)
        return Layout(tuple(cells for cells in problems if cells), ())

    def matrix(self, matrix: Matrix) -> Matrix:
        """What it measures, for its own records: nothing is controlled within a control run."""
        changes = {"dilation": self.larger_by * matrix.dilation, "attribute": False, "check": False}
        return matrix.model_copy(update={**changes, "communication": False})


CHECK: Final = ControlRun("check", Control.AS_ASKED, LARGER_BY)
WITHOUT_WIDE_AREA: Final = ControlRun("control-without-wide-area", Control.WITHOUT_WIDE_AREA)
LATENCY_ALONE: Final = ControlRun("control-latency-alone", Control.LATENCY_ALONE)
RATE_ALONE: Final = ControlRun("control-rate-alone", Control.RATE_ALONE)
UNSHARED: Final = ControlRun("control-unshared", Control.UNSHARED)
LARGER_DILATION: Final = ControlRun("control-larger-dilation", Control.WITHOUT_WIDE_AREA, LARGER_BY, single=True)
ATTRIBUTING: Final = (WITHOUT_WIDE_AREA, LATENCY_ALONE, RATE_ALONE, UNSHARED, LARGER_DILATION)
"""The control runs that an attribution needs."""


def control_runs_of(matrix: Matrix) -> tuple[ControlRun, ...]:
    """The runs that `matrix` asks for beside its own."""
    return (*(ATTRIBUTING if matrix.attribute else ()), *((CHECK,) if matrix.check else ()))


def run_controls(
    testbed: Testbed, matrix: Matrix, layout: Layout, path: Path, tell: Tell
) -> dict[ControlRun, SessionRuns]:
    """Make the runs that `matrix` asks for beside its own, which `path` holds, as far as they are not made yet.

    Raises:
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost, or no job of a run finished.
    """
    asked = control_runs_of(matrix)
    made = {}
    for number, control_run in enumerate(asked, start=1):
        told = _telling(f"{control_run.folder} ({number} of {len(asked)})", tell)
        made[control_run] = _run(testbed, control_run, matrix, layout, path / control_run.folder, told)
    return made


def _run(
    testbed: Testbed, control_run: ControlRun, matrix: Matrix, layout: Layout, folder: Path, tell: Tell
) -> SessionRuns:
    session = Session(control_run.matrix(matrix), control_run.layout(layout), folder, control_run.control)
    if (folder / MANIFEST_FILE).is_file():
        earlier = read_attempts(folder)
        finished = earlier.finished(session.layout, matrix.repeat)
        session = replace(session, records=next_attempt(folder), finished=finished, checks=earlier.checks)
    with session.carried_out(testbed, tell) as made:
        return made


def _telling(name: str, tell: Tell) -> Tell:
    """Tells whatever is told as the progress of the control run of that name."""
    return lambda progress: tell(replace(progress, stage=f"{name}: {progress.stage}"))
