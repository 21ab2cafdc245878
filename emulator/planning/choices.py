"""The dilation of each problem of a measurement: asked for, found by pilots, or raised; and the length of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from apps.registry import application_named
from emulator.containers.wan.controls import Control
from emulator.fidelity.repetition import LARGER_BY, MOST_RAISES
from emulator.model.clock import Dilation
from emulator.model.topology import Topology
from emulator.planning.plan import (
    HOST_CHECK_S,
    Resources,
    floor_dilation,
    host_duration_s,
    host_run_s,
    likely_dilation,
)
from emulator.planning.planned_jobs import PlannedJob
from emulator.planning.planned_runs import planned_cells
from emulator.planning.trying import Subject, Trial, Tried, choose_dilations
from emulator.runs.control_runs import control_runs_of
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Cell, Layout, Matrix, Problem
from emulator.runs.progress import ReportProgress

FEWEST_ITERATIONS: Final = 20
HOST_RUN_AIM_S: Final = 6.0
"""The most host seconds for which the slowest cell of a problem iterates if no length is asked for."""


@dataclass(frozen=True, slots=True)
class DilationChoice:
    """The dilation of a problem, the cells with the length of their runs, and how it was found.

    `raised` counts how often it was doubled since; `fixed` ones never are.
    """

    problem: Problem
    cells: tuple[Cell, ...]
    dilation: float
    how: str
    fixed: bool = False
    raised: int = 0

    @property
    def may_raise(self) -> bool:
        """Whether the dilation may be doubled."""
        return not self.fixed and self.raised < MOST_RAISES

    def larger(self) -> DilationChoice:
        """Return this choice at the next larger dilation."""
        dilation = LARGER_BY * self.dilation
        return replace(self, dilation=dilation, raised=self.raised + 1, how=f"{self.how}, raised to {dilation:g}")

    def record(self) -> dict[str, object]:
        """Return it as a manifest keeps it."""
        problem = self.problem
        return {
            "application": problem.application,
            "grid": problem.grid,
            "processors": problem.processors,
            "dilation": self.dilation,
            "how": self.how,
        }


def asked_choices(layout: Layout, dilation: float) -> dict[Problem, DilationChoice]:
    """Return the choices where the user states the dilation."""
    return {
        cells[0].problem: DilationChoice(cells[0].problem, cells, dilation, "asked for", fixed=True)
        for cells in layout.problems
    }


def tried_choices(
    testbed: Testbed,
    matrix: Matrix,
    problems: Sequence[tuple[Cell, ...]],
    folder: Path,
    resources: Resources,
    report_progress: ReportProgress,
) -> dict[Problem, DilationChoice]:
    """Return the choices for `problems` by pilots on `testbed`, whose records go to `folder`.

    Raises:
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost.
    """
    subjects = [_subject(matrix, cells, testbed.topology, resources) for cells in problems]
    tried = choose_dilations(testbed, subjects, folder, report_progress, traffic=matrix.traffic)
    return {cells[0].problem: _choice(matrix, cells, tried[cells[0].problem.shown]) for cells in problems}


def guessed_choices(layout: Layout, matrix: Matrix, topology: Topology, resources: Resources) -> list[DilationChoice]:
    """Return what pilots will probably choose, for an estimate beforehand."""
    if matrix.dilation is not None:
        return list(asked_choices(layout, matrix.dilation).values())
    guessed = []
    for cells in layout.problems:
        run = planned_cells(cells, topology)
        dilation = likely_dilation(run, resources)
        slowest_s = max(job.iteration_s for job in run.jobs)
        cells = _of_suitable_length(matrix, cells, dilation, slowest_s)
        guessed.append(DilationChoice(cells[0].problem, cells, dilation, "guessed"))
    return guessed


@dataclass(frozen=True, slots=True)
class CellEstimate:
    """The estimated host seconds that the runs of a cell take together."""

    cell: Cell
    dilation: float
    host_s: float


def estimates(
    choices: Sequence[DilationChoice], matrix: Matrix, topology: Topology
) -> tuple[tuple[CellEstimate, ...], float]:
    """Return an estimate of each cell, and of everything with control runs and the links' checks."""
    found: list[CellEstimate] = []
    for choice in choices:
        run, dilation = planned_cells(choice.cells, topology), Dilation(choice.dilation)
        for cell, job in zip(choice.cells, run.jobs, strict=True):
            found.append(CellEstimate(cell, choice.dilation, matrix.repeat * host_run_s(job, dilation)))
    controls_s = sum(_controls_host_s(choice, matrix, topology) for choice in choices)
    sessions = len({choice.dilation for choice in choices}) * (1 + len(control_runs_of(matrix)))
    return tuple(found), sum(each.host_s for each in found) + controls_s + HOST_CHECK_S * sessions


def _controls_host_s(choice: DilationChoice, matrix: Matrix, topology: Topology) -> float:
    """Return the estimated host seconds of the control runs of a problem."""
    host_s = 0.0
    for control_run in control_runs_of(matrix):
        dilation = Dilation(control_run.larger_by * choice.dilation)
        cells = control_run.layout([choice.cells]).cells
        run = planned_cells(cells, control_run.control.of(topology, dilation), matrix.repeat)
        host_s += host_duration_s(run, dilation)
    return host_s


def _subject(matrix: Matrix, cells: Sequence[Cell], topology: Topology, resources: Resources) -> Subject:
    """Return the problem of `cells` with trials over the fewest and the most clusters; synchronized cells if all are.

    In one cluster an iteration is shortest, over the most clusters most of it crosses the wide area; all other cells
    lie between these, and their runs are judged in any case. Without a wide area, as in control runs, an iteration is
    shorter: then pilots start where that likely suffices.
    """
    plain = [cell for cell in cells if not cell.synchronized] or list(cells)
    run = planned_cells(plain, topology)
    counts = [cell.clusters for cell in plain]
    trials = tuple(
        _trial(cell, job)
        for cell, job in zip(plain, run.jobs, strict=True)
        if cell.clusters in (min(counts), max(counts))
    )
    floor = floor_dilation(run, resources)
    if matrix.attribute:
        without = Control.WITHOUT_WIDE_AREA.of(topology, Dilation(floor))
        floor = max(floor, likely_dilation(planned_cells(plain, without), resources))
    return Subject(cells[0].problem.shown, trials, floor)


def _trial(cell: Cell, job: PlannedJob) -> Trial:
    return Trial(cell.shown, (cell.specification,), (job.iteration_s,))


def _choice(matrix: Matrix, cells: tuple[Cell, ...], tried: Tried) -> DilationChoice:
    chosen = tried.chosen
    fitted = _of_suitable_length(matrix, cells, chosen.dilation, tried.slowest_s())
    return DilationChoice(cells[0].problem, fitted, chosen.dilation, chosen.how)


def _of_suitable_length(
    matrix: Matrix, cells: tuple[Cell, ...], dilation: float, iteration_s: float
) -> tuple[Cell, ...]:
    """Return `cells` with runs that are no longer than need be, if the user left their length open."""
    known = application_named(cells[0].problem.application)
    if matrix.iterations is not None or known.measured_length is not None or iteration_s <= 0:
        return cells
    fitting = round(HOST_RUN_AIM_S / Dilation(dilation).host_duration_s(iteration_s))
    return tuple(cell.of_length(min(cell.length, max(FEWEST_ITERATIONS, fitting))) for cell in cells)
