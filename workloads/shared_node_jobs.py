"""Jobs for clusters whose nodes are shared: the workloads SIT and DIT of the 3DBackfilling paper, and a user's lists.

Both have 90 jobs of CG, IS, MG and BT, equally likely, of 2, 4 or 8 tasks, equally likely, in a Poisson stream. The
paper prints no interarrival times: *DIT* is read as one whose mean interarrival time is the mean execution time, *SIT*
as one with half of that.

A list has one JSON object a line: ``{"id": 1, "arrival_s": 0, "tasks": 4, "program": "cg"}``. Instead of a program it
may state ``pattern``, ``steps``, ``execution_s``, ``processor_share`` and ``memory_mb``; what is stated beside a
program replaces the program's own. ``estimate_s`` is the user's estimate; without it the job has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt

from emulator.model.documents import DocumentModel, validate
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.request import JobRequest, RequestKind
from emulator.model.units import BYTES_PER_MEGABYTE
from workloads.distributions import Exponential, stream, uniform_choices
from workloads.json_lines import parsed_line, placed_lines
from workloads.parallel_programs import PROGRAMS, SIZES, Steps, program_named, steps_of

PUBLISHED_JOBS: Final = 90
MOST_TASKS: Final = 1024


@dataclass(frozen=True, slots=True)
class SharedNodeJob:
    """A job of a stream: when it arrives, what it asks for, and what its tasks do."""

    id: int
    arrival_s: float
    name: str
    request: JobRequest
    steps: Steps

    @property
    def tasks(self) -> int:
        """The number of its tasks, each on a node of its own."""
        return self.request.processors


def _mean_execution_s() -> float:
    times_s = [program.execution_s.of(tasks) for program in PROGRAMS.values() for tasks in SIZES]
    return sum(times_s) / len(times_s)


MEAN_EXECUTION_S: Final = _mean_execution_s()
"""The mean execution time of the published programs and sizes, each job alone."""

INTERARRIVAL_S: Final = {"sit": MEAN_EXECUTION_S / 2, "dit": MEAN_EXECUTION_S}
"""The mean interarrival times of the published workloads, as read here."""


def published_jobs(
    workload: str,
    seed: int,
    *,
    jobs: int = PUBLISHED_JOBS,
    interarrival_factor: float = 1.0,
    estimate_factor: float | None = 1.0,
    components: int = 1,
) -> list[SharedNodeJob]:
    """Draw the jobs of SIT or DIT.

    `interarrival_factor` scales the interarrival times as read. The estimate of a job is its execution time alone times
    `estimate_factor`; None gives no estimates. With several `components`, jobs are split into as many equal ones where
    their size allows.

    Raises:
        UnknownName: if there is no such workload.
        InvalidInput: if a number is out of range.
    """
    mean_s = INTERARRIVAL_S.get(workload.lower())
    if mean_s is None:
        raise UnknownName.among("workload", workload, list(INTERARRIVAL_S))
    _check_positive("jobs", jobs)
    _check_positive("interarrival factor", interarrival_factor)
    _check_positive("components", components)
    if estimate_factor is not None:
        _check_positive("estimate factor", estimate_factor)
    gaps = validate({"mean_s": mean_s * interarrival_factor}, Exponential, source="interarrival factor")
    gaps_s = gaps.draw_s(jobs, stream(seed, "interarrival"))
    programs = uniform_choices(tuple(PROGRAMS), jobs, stream(seed, "program"))
    sizes = uniform_choices(SIZES, jobs, stream(seed, "tasks"))
    drawn: list[SharedNodeJob] = []
    arrival_s = 0.0
    for id, (gap_s, program, tasks) in enumerate(zip(gaps_s, programs, sizes, strict=True), start=1):
        arrival_s += gap_s
        drawn.append(_published(id, arrival_s, program, tasks, estimate_factor, components))
    return drawn


def _published(
    id: int, arrival_s: float, name: str, tasks: int, estimate_factor: float | None, components: int
) -> SharedNodeJob:
    program = PROGRAMS[name]
    share = program.processor_percent.of(tasks) / 100
    execution_s = program.execution_s.of(tasks)
    split = components if tasks % components == 0 else 1
    request = JobRequest(
        RequestKind.TOTAL if split == 1 else RequestKind.NON_FIXED,
        (tasks // split,) * split,
        estimate_s=None if estimate_factor is None else execution_s * estimate_factor,
        memory_bytes=round(program.memory_mb.of(tasks) * BYTES_PER_MEGABYTE),
        processor_share=share,
    )
    return SharedNodeJob(id, arrival_s, name, request, steps_of(program.pattern, program.steps, execution_s, share))


class ListedSharedJob(DocumentModel):
    """A line of a list of jobs for shared nodes."""

    model_config = ConfigDict(strict=True)

    id: int
    arrival_s: Annotated[float, Field(ge=0)]
    tasks: Annotated[PositiveInt, Field(le=MOST_TASKS)]
    program: str | None = None
    pattern: str | None = None
    steps: PositiveInt | None = None
    execution_s: PositiveFloat | None = None
    processor_share: Annotated[float, Field(gt=0, le=1)] | None = None
    memory_mb: Annotated[float, Field(ge=0)] | None = None
    estimate_s: Annotated[float, Field(ge=0)] | None = None


def read_shared_jobs(path: Path) -> list[SharedNodeJob]:
    """Read the jobs in the file at `path`, in order of arrival.

    Raises:
        InvalidInput: if the file cannot be read, a line is no job, or two jobs have the same identity.
    """
    jobs: dict[int, SharedNodeJob] = {}
    for _, place, line in placed_lines(path):
        listed = parsed_line(line, ListedSharedJob, place)
        if listed.id in jobs:
            raise InvalidInput(f"{place}: id: job {listed.id} is listed twice.")
        jobs[listed.id] = _listed_job(listed, place)
    if not jobs:
        raise InvalidInput(f"{path}: holds no job.")
    return sorted(jobs.values(), key=lambda job: (job.arrival_s, job.id))


def _listed_job(listed: ListedSharedJob, place: str) -> SharedNodeJob:
    values: dict[str, float | int | str | None] = {}
    if listed.program is not None:
        try:
            values = _values_of(listed.program, listed.tasks)
        except UnknownName as error:
            raise UnknownName(f"{place}: program: {error}") from error
    stated = ("pattern", "steps", "execution_s", "processor_share", "memory_mb")
    values |= {name: getattr(listed, name) for name in stated if getattr(listed, name) is not None}
    missing = [name for name in stated if name not in values]
    if missing:
        raise InvalidInput(f"{place}: {missing[0]}: is missing (state it, or a program: {', '.join(PROGRAMS)}).")
    return _job_of(listed, values, place)


def _values_of(name: str, tasks: int) -> dict[str, float | int | str | None]:
    program = program_named(name)
    return {
        "pattern": program.pattern,
        "steps": program.steps,
        "execution_s": program.execution_s.of(tasks),
        "processor_share": program.processor_percent.of(tasks) / 100,
        "memory_mb": program.memory_mb.of(tasks),
    }


def _job_of(listed: ListedSharedJob, values: Mapping[str, float | int | str | None], place: str) -> SharedNodeJob:
    share = float(values["processor_share"] or 0.0)
    try:
        steps = steps_of(str(values["pattern"]), int(values["steps"] or 0), float(values["execution_s"] or 0.0), share)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from error
    request = JobRequest(
        RequestKind.TOTAL,
        (listed.tasks,),
        estimate_s=listed.estimate_s,
        memory_bytes=round(float(values["memory_mb"] or 0.0) * BYTES_PER_MEGABYTE),
        processor_share=share,
    )
    return SharedNodeJob(listed.id, listed.arrival_s, listed.program or "own", request, steps)


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise InvalidInput(f"{name}: must be positive and finite, not {value!r}.")
