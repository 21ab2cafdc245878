"""Repeating a published table: making its missing measurements in one directory.

Every problem of the table is an ordinary measurement in a folder of its own, with a suitable dilation and length. So an
interrupted reproduction is resumed as `measure` resumes: name its directory again. The request is in
``reproduction.yaml`` there; `reproduction_rows` makes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from apps.registry import largest_share
from emulator.fidelity.calibration import predicted_compute_s
from emulator.measurement.extension import measure, resume
from emulator.model.documents import document_text, read_document
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.processor import REFERENCE_APPLICATION, Processor
from emulator.model.records import MANIFEST_FILE, RunProgress
from emulator.model.topology import Topology
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Matrix, Problem, lay_out
from emulator.runs.progress import ProgressReport, ReportProgress
from emulator.runs.run_directory import RunRecords, check_free, read_manifest, read_run
from emulator.studies.published_tables import Reproduction

REPRODUCTION_FILE: Final = "reproduction.yaml"
_COMPUTE_AIM_S: Final = 3.0
_FEWEST_ITERATIONS, _MOST_ITERATIONS = 6, 60


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
    testbed: Testbed,
    reproduction: Reproduction,
    path: Path,
    report_progress: ReportProgress,
    *,
    even_if_hopeless: bool = False,
) -> Reproduced:
    """Measure every problem of `reproduction` on `testbed`, into folders of the new directory `path`.

    Raises:
        UnknownName: if there is no such table.
        InvalidInput: if a problem cannot be meant, or `path` is taken.
        Hopeless: if this host cannot hold a problem, unless it is to run `even_if_hopeless`.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost, or no job of a problem finished; `resume_reproduction` runs the rest.
    """
    check_free(path)
    reproduction.problems()
    path.mkdir(parents=True, exist_ok=True)
    (path / REPRODUCTION_FILE).write_text(document_text(reproduction), encoding="utf-8")
    return resume_reproduction(testbed, path, report_progress, even_if_hopeless=even_if_hopeless)


def resume_reproduction(
    testbed: Testbed, path: Path, report_progress: ReportProgress, *, even_if_hopeless: bool = False
) -> Reproduced:
    """Measure what is missing of the reproduction in `path`, and return all of it.

    Raises:
        InvalidInput: if `path` holds no reproduction, or what is there was measured on another topology.
        TestbedBusy: if another run holds the testbed, or another process still writes the problem that is resumed.
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
        part = path / problem.name
        report = _numbered(report_progress, number, len(problems))
        failures += _measure(testbed, matrix, part, report, even_if_hopeless=even_if_hopeless)
        parts.append(read_run(part))
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
    """Return the measurement of `problem` on `topology`; pilots choose its dilation unless one was asked for."""
    table, processor = reproduction.table, topology.processor
    return Matrix(
        applications=(problem.application,),
        grids=(problem.grid or 1,),
        processors=(problem.processors,),
        clusters=table.clusters,
        repeat=reproduction.repeat,
        iterations=reproduction.iterations or _iterations(problem, processor),
        dilation=reproduction.dilation,
        communication=table.communication,
        as_coallocated=table.as_coallocated,
        processor_speed=reproduction.processor_speed or table.processor_speed,
    )


def _measure(
    testbed: Testbed, matrix: Matrix, path: Path, report_progress: ReportProgress, *, even_if_hopeless: bool
) -> tuple[str, ...]:
    """Measure what is missing of a problem in its folder; return a sentence for each cell that was given up."""
    if not (path / MANIFEST_FILE).is_file():
        return measure(testbed, matrix, path, report_progress, even_if_hopeless=even_if_hopeless).failures
    if read_manifest(path).progress is not RunProgress.COMPLETE:
        return resume(testbed, path, report_progress).failures
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
