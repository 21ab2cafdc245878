"""Repeating a published table: making its missing measurements in one directory.

Every problem of the table is an ordinary measurement in a folder of its own, with a suitable dilation and length. So an
interrupted reproduction is resumed as `measure` resumes: name its directory again. The request is in
``reproduction.yaml`` there; `reproduction_rows` makes the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from apps.registry import largest_share
from emulator.fidelity.calibration import predicted_compute_s
from emulator.measurement.extension import measure, resume
from emulator.model.documents import document_text, read_document
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.processor import REFERENCE_APPLICATION, Processor
from emulator.model.records import RunProgress
from emulator.model.topology import Topology
from emulator.planning.plan_records import DilationChoice
from emulator.runs.holding import Testbed
from emulator.runs.matrix import DEFAULT_DILATION, Layout, Matrix, Problem, lay_out
from emulator.runs.progress import ProgressReport, ReportProgress
from emulator.runs.run_directory import RunRecords, check_free, read_manifest, read_run
from emulator.studies.published_tables import Reproduction

REPRODUCTION_FILE: Final = "reproduction.yaml"
_COMPUTE_AIM_S: Final = 3.0
_FEWEST_ITERATIONS, _MOST_ITERATIONS = 6, 60

Planned = Callable[[Layout], DilationChoice]
"""Chooses the dilation at which cells are measured, with the plan that is kept beside them."""


@dataclass(frozen=True, slots=True)
class Reproduced:
    """The records of each problem of a reproduction.

    `left_out` has the reason for each problem or cell that cannot be run, `failures` for each cell that was given up.
    """

    reproduction: Reproduction
    parts: tuple[RunRecords, ...]
    left_out: tuple[str, ...]
    failures: tuple[str, ...] = ()


def reproduce(
    testbed: Testbed, reproduction: Reproduction, path: Path, report_progress: ReportProgress, planned: Planned
) -> Reproduced:
    """Measure every problem of `reproduction` on `testbed`, into folders of the new directory `path`.

    `planned` says at which dilation each is measured.

    Raises:
        UnknownName: if there is no such table.
        InvalidInput: if a problem cannot be meant, or `path` is taken.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost, or no job of a problem finished; `resume_reproduction` runs the rest.
    """
    check_free(path)
    reproduction.problems()
    path.mkdir(parents=True, exist_ok=True)
    (path / REPRODUCTION_FILE).write_text(document_text(reproduction), encoding="utf-8")
    return resume_reproduction(testbed, path, report_progress, planned)


def resume_reproduction(testbed: Testbed, path: Path, report_progress: ReportProgress, planned: Planned) -> Reproduced:
    """Measure what is missing of the reproduction in `path`, and return all of it.

    Raises:
        InvalidInput: if `path` holds no reproduction, or what is there was measured on another topology.
        TestbedBusy: if another run holds the testbed.
        RunFailed: as `reproduce`.
    """
    reproduction = read_reproduction(path)
    left_out: list[str] = []
    failures: list[str] = []
    parts: list[RunRecords] = []
    problems = reproduction.problems()
    for number, problem in enumerate(problems, start=1):
        try:
            matrix = matrix_of(reproduction, problem, testbed.topology)
            layout = lay_out(matrix, testbed.topology)
        except ImpossibleRequest as error:
            left_out.append(str(error))
            continue
        left_out += layout.left_out
        part = _Part(matrix, layout, path / problem.name, planned)
        failures += part.measure(testbed, _numbered(report_progress, number, len(problems)))
        parts.append(read_run(part.path))
    if not parts:
        raise ImpossibleRequest(left_out[0])
    return Reproduced(reproduction, tuple(parts), tuple(left_out), tuple(failures))


def read_reproduction(path: Path) -> Reproduction:
    """Read what the reproduction in `path` was asked to repeat.

    Raises:
        InvalidInput: if there is none.
    """
    file = path / REPRODUCTION_FILE
    if not file.is_file():
        raise InvalidInput(f"{path}: holds no reproduction (it has no {REPRODUCTION_FILE}).")
    return read_document(file, Reproduction)


def matrix_of(reproduction: Reproduction, problem: Problem, topology: Topology) -> Matrix:
    """Return the measurement of `problem` on `topology`; the planner chooses its dilation unless one was asked for."""
    table, processor = reproduction.table, topology.processor
    return Matrix(
        applications=(problem.application,),
        grids=(problem.grid or 1,),
        processors=(problem.processors,),
        clusters=table.clusters,
        repeat=reproduction.repeat,
        iterations=reproduction.iterations or _iterations(problem, processor),
        dilation=reproduction.dilation or DEFAULT_DILATION,
        communication=table.communication,
        as_coallocated=table.as_coallocated,
        time_scale=reproduction.time_scale or table.time_scale,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A problem: its measurement, and the folder for that."""

    matrix: Matrix
    layout: Layout
    path: Path
    planned: Planned

    def measure(self, testbed: Testbed, report_progress: ReportProgress) -> tuple[str, ...]:
        """Measure what is missing; return a sentence for each cell that was given up."""
        if not self.path.exists():
            choice = self.planned(self.layout)
            matrix = self.matrix.model_copy(update={"dilation": choice.dilation})
            measured = measure(testbed, matrix, self.path, report_progress)
            choice.keep(self.path)
            return measured.failures
        if read_manifest(self.path).progress is not RunProgress.COMPLETE:
            return resume(testbed, self.path, report_progress).failures
        return ()


def _numbered(report_progress: ReportProgress, number: int, problems: int) -> ReportProgress:
    def report(progress: ProgressReport) -> None:
        report_progress(replace(progress, stage=f"problem {number} of {problems}, {progress.stage}"))

    return report


def _iterations(problem: Problem, processor: Processor) -> int | None:
    """Return a quick number of iterations, as those of Poisson are alike; None: the application's own length."""
    if problem.application != REFERENCE_APPLICATION or processor.unpaced:
        return None
    work = largest_share(problem.application, problem.grid or 1, problem.processors)
    compute_s = predicted_compute_s(processor, problem.application, work)
    return round(min(max(_COMPUTE_AIM_S / compute_s, _FEWEST_ITERATIONS), _MOST_ITERATIONS))
