"""Repeating a published table: running what is left of its measurements into one directory.

Every problem of the table is an ordinary measurement in a folder of its own, at a dilation and of a length that suit
it; so what `measure` can resume is resumed here, and a reproduction that was interrupted is taken up by naming its
directory again. What was asked for stands there in ``reproduction.yaml``; the rows are ``reproduction_rows``' affair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from emulator.campaigns.conduct import Progress, Tell
from emulator.campaigns.extension import measure, resume
from emulator.campaigns.holding import Testbed
from emulator.campaigns.matrix import DEFAULT_DILATION, Layout, Matrix, Problem, lay_out
from emulator.campaigns.plan_records import Settled
from emulator.campaigns.published_tables import Reproduction
from emulator.campaigns.run_directory import RunRecords, check_free, read_manifest, read_run
from emulator.campaigns.work import largest_share
from emulator.fidelity.calibration import predicted_compute_s
from emulator.model.documents import document_text, read_document
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.processor import REFERENCE_APPLICATION, Processor
from emulator.model.records import RunProgress
from emulator.model.topology import Topology

REPRODUCTION_FILE: Final = "reproduction.yaml"
_COMPUTE_AIM_S: Final = 3.0
_FEWEST_ITERATIONS, _MOST_ITERATIONS = 6, 60

Planned = Callable[[Layout], Settled]
"""The dilation at which cells are measured, and the plan that is kept with them."""


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What there is of a reproduction: the records of each problem.

    `left_out` says of each problem or cell that cannot be run why, `failures` of each cell that was given up.
    """

    asked: Reproduction
    parts: tuple[RunRecords, ...]
    left_out: tuple[str, ...]
    failures: tuple[str, ...] = ()


def reproduce(testbed: Testbed, asked: Reproduction, path: Path, tell: Tell, planned: Planned) -> Reproduced:
    """Measure every problem of `asked` on `testbed`, into folders of the new directory `path`.

    `planned` says at which dilation each is measured.

    Raises:
        UnknownName: if there is no such table.
        InvalidInput: if a problem cannot be meant, or `path` is taken.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost, or no job of a problem finished; `resume_reproduction` runs the rest.
    """
    check_free(path)
    asked.problems()
    path.mkdir(parents=True, exist_ok=True)
    (path / REPRODUCTION_FILE).write_text(document_text(asked), encoding="utf-8")
    return resume_reproduction(testbed, path, tell, planned)


def resume_reproduction(testbed: Testbed, path: Path, tell: Tell, planned: Planned) -> Reproduced:
    """Measure what the reproduction in `path` has not yet, and return all of it.

    Raises:
        InvalidInput: if `path` holds no reproduction, or what is there was measured on another topology.
        TestbedBusy: if another run holds the testbed.
        RunFailed: as `reproduce`.
    """
    asked = asked_in(path)
    left_out: list[str] = []
    failures: list[str] = []
    parts: list[RunRecords] = []
    problems = asked.problems()
    for number, problem in enumerate(problems, start=1):
        try:
            matrix = matrix_of(asked, problem, testbed.topology)
            layout = lay_out(matrix, testbed.topology)
        except ImpossibleRequest as error:
            left_out.append(str(error))
            continue
        left_out += layout.left_out
        part = _Part(matrix, layout, path / problem.name, planned)
        failures += part.measure(testbed, _numbered(tell, number, len(problems)))
        parts.append(read_run(part.path))
    if not parts:
        raise ImpossibleRequest(left_out[0])
    return Reproduced(asked, tuple(parts), tuple(left_out), tuple(failures))


def asked_in(path: Path) -> Reproduction:
    """What the reproduction in `path` was asked to repeat.

    Raises:
        InvalidInput: if there is none.
    """
    file = path / REPRODUCTION_FILE
    if not file.is_file():
        raise InvalidInput(f"{path}: holds no reproduction (it has no {REPRODUCTION_FILE}).")
    return read_document(file, Reproduction)


def matrix_of(asked: Reproduction, problem: Problem, topology: Topology) -> Matrix:
    """The measurement that `problem` is, on `topology`; its dilation is the planner's to choose unless it was asked."""
    table, processor = asked.table, topology.processor
    return Matrix(
        applications=(problem.application,),
        grids=(problem.grid or 1,),
        processors=(problem.processors,),
        clusters=table.clusters,
        repeat=asked.repeat,
        iterations=asked.iterations or _iterations(problem, processor),
        dilation=asked.dilation or DEFAULT_DILATION,
        communication=table.communication,
        as_coallocated=table.as_coallocated,
        time_scale=asked.time_scale or table.time_scale,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A problem: its measurement, and the folder where that is or will be."""

    matrix: Matrix
    layout: Layout
    path: Path
    planned: Planned

    def measure(self, testbed: Testbed, tell: Tell) -> tuple[str, ...]:
        """Measure what is missing; returns a sentence for each cell that was given up."""
        if not self.path.exists():
            settled = self.planned(self.layout)
            matrix = self.matrix.model_copy(update={"dilation": settled.dilation})
            measured = measure(testbed, matrix, self.path, tell)
            settled.keep(self.path)
            return measured.failures
        if read_manifest(self.path).progress is not RunProgress.COMPLETE:
            return resume(testbed, self.path, tell).failures
        return ()


def _numbered(tell: Tell, number: int, problems: int) -> Tell:
    def told(progress: Progress) -> None:
        tell(replace(progress, stage=f"problem {number} of {problems}, {progress.stage}"))

    return told


def _iterations(problem: Problem, processor: Processor) -> int | None:
    """Few enough to be quick: iterations of Poisson are alike. None: the application's own length."""
    if problem.application != REFERENCE_APPLICATION or processor.unpaced:
        return None
    work = largest_share(problem.application, problem.grid or 1, problem.processors)
    compute_s = predicted_compute_s(processor, problem.application, work)
    return round(min(max(_COMPUTE_AIM_S / compute_s, _FEWEST_ITERATIONS), _MOST_ITERATIONS))
