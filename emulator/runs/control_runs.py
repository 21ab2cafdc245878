"""Control runs of a measurement: the same jobs with another program of the wide area, or at another dilation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emulator.containers.wan.controls import Control
from emulator.runs.matrix import LARGER_BY, Cell, Layout, Matrix


@dataclass(frozen=True, slots=True)
class ControlRun:
    """A run in `folder` under a `control`, at `larger_by` times the measurement's dilation.

    It runs the cells over several clusters; with `single` also the cell in one cluster; without a control all cells.
    """

    folder: str
    control: Control
    larger_by: float = 1.0
    single: bool = False

    def holds(self, cell: Cell) -> bool:
        """Return whether it runs `cell`; synchronized cells have no factor and are not run."""
        is_covered = cell.clusters > 1 or (self.single and cell.variant.is_single) or self.control is Control.AS_ASKED
        return is_covered and not cell.synchronized

    def layout(self, problems: Sequence[Sequence[Cell]]) -> Layout:
        """Return those cells of `problems` that it runs."""
        held = (tuple(cell for cell in cells if self.holds(cell)) for cells in problems)
        return Layout(tuple(cells for cells in held if cells), ())

    def matrix(self, matrix: Matrix) -> Matrix:
        """Return what it measures, for its own records: a control run has no controls itself."""
        return matrix.model_copy(update={"attribute": False, "check": False, "communication": False})


CHECK: Final = ControlRun("check", Control.AS_ASKED, LARGER_BY)
WITHOUT_WIDE_AREA: Final = ControlRun("control-without-wide-area", Control.WITHOUT_WIDE_AREA)
LATENCY_ALONE: Final = ControlRun("control-latency-alone", Control.LATENCY_ALONE)
RATE_ALONE: Final = ControlRun("control-rate-alone", Control.RATE_ALONE)
UNSHARED: Final = ControlRun("control-unshared", Control.UNSHARED)
LARGER_DILATION: Final = ControlRun("control-larger-dilation", Control.WITHOUT_WIDE_AREA, LARGER_BY, single=True)
ATTRIBUTING: Final = (WITHOUT_WIDE_AREA, LATENCY_ALONE, RATE_ALONE, UNSHARED, LARGER_DILATION)
"""The control runs that an attribution needs."""


def control_runs_of(matrix: Matrix) -> tuple[ControlRun, ...]:
    """Return the runs that `matrix` asks for beside its own."""
    return (*(ATTRIBUTING if matrix.attribute else ()), *((CHECK,) if matrix.check else ()))
