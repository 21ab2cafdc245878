"""Job lists: files with one JSON object per line, for the jobs of a simulation and for their outcomes.

Input: ``{"id": 1, "arrival_s": 0.5, "service_s": 12, "components": [8, 8], "queue": 0}``. Disciplines with a
queue per cluster need ``queue``, others ignore it. ``application``, ``arguments`` (which only campaigns read) and
``estimate_s`` (the user's estimate, not the real time) may be added.
Output: ``{"id": 1, "start_s": 0.5, "finish_s": 12.5, "clusters": [0, 1]}``, with the cluster of each component. The
order of the lines does not matter: jobs are sorted by arrival, and at equal times by identity.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field, PositiveInt, StringConstraints

from emulator.model.documents import DocumentModel
from emulator.model.errors import InvalidInput
from emulator.model.job import MAX_COMPONENT_PROCESSORS, MAX_COMPONENTS, ArgumentName, JobName
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.model.whole_files import written_whole
from workloads.json_lines import parsed_line, placed_lines

Seconds = Annotated[float, Field(ge=0)]
StatedArguments = Annotated[dict[ArgumentName, int | float | bool | JobName], Field(max_length=32)]
Check = Callable[[StreamJob], None]
"""A function that raises `InvalidInput` if a job is refused; the reader adds the file and the line."""


class ListedJob(DocumentModel):
    """A line of a job list."""

    model_config = ConfigDict(strict=True)

    id: int
    arrival_s: Seconds
    service_s: Seconds
    components: Annotated[
        tuple[Annotated[PositiveInt, Field(le=MAX_COMPONENT_PROCESSORS)], ...],
        Field(min_length=1, max_length=MAX_COMPONENTS),
    ]
    queue: Annotated[int, Field(ge=0)] | None = None
    application: Annotated[str, StringConstraints(to_lower=True)] = ""
    arguments: StatedArguments = Field(default_factory=dict)
    estimate_s: Seconds | None = None


class JobOutcome(NamedTuple):
    """The outcome of a job: when it ran, and the cluster of each component in the order of its request."""

    id: int
    start_s: float
    finish_s: float
    clusters: tuple[int, ...]


def read_job_list(path: Path, check: Check = lambda job: None) -> list[StreamJob]:
    """Read the jobs in the file at `path`, in order of arrival; their requests are unordered.

    Raises:
        InvalidInput: if the file cannot be read, a line is not a job, two jobs have the same identity, or `check`
            refuses one; the message names the file, the line and the field.
    """
    jobs: list[StreamJob] = []
    requests: dict[tuple[tuple[int, ...], float | None], JobRequest] = {}
    for place, listed in _placed_jobs(path):
        job = _stream_job(listed, requests)
        try:
            check(job)
        except InvalidInput as error:
            raise InvalidInput(f"{place}: {error}") from error
        jobs.append(job)
    return sorted(jobs, key=lambda job: (job.arrival_s, job.id))


def read_listed_jobs(path: Path) -> list[ListedJob]:
    """Read the jobs in the file at `path` with all that their lines state, in order of arrival.

    Raises:
        InvalidInput: as `read_job_list`.
    """
    return sorted((listed for _, listed in _placed_jobs(path)), key=lambda listed: (listed.arrival_s, listed.id))


def write_job_list(jobs: Iterable[StreamJob], path: Path) -> None:
    """Write `jobs` to `path`, completely or not at all.

    Raises:
        InvalidInput: if the file cannot be written.
    """
    with written_whole(path) as text:
        for job in jobs:
            entry: dict[str, object] = {
                "id": job.id,
                "arrival_s": job.arrival_s,
                "service_s": job.service_s,
                "components": list(job.request.components),
            }
            optional = {"queue": job.queue, "application": job.application, "estimate_s": job.request.estimate_s}
            entry.update({key: value for key, value in optional.items() if value not in (None, "")})
            text.write(json.dumps(entry) + "\n")


def outcome_line(outcome: JobOutcome) -> str:
    """Return `outcome` as a line of a file of outcomes."""
    entry = {**outcome._asdict(), "clusters": list(outcome.clusters)}
    return json.dumps(entry) + "\n"


def _placed_jobs(path: Path) -> Iterator[tuple[str, ListedJob]]:
    """Yield the jobs of a list with their places in words, in the order of its lines."""
    line_of: dict[int, int] = {}
    for number, place, line in placed_lines(path):
        listed = parsed_line(line, ListedJob, place)
        if listed.id in line_of:
            raise InvalidInput(f"{place}: id: job {listed.id} stands in line {line_of[listed.id]} already.")
        line_of[listed.id] = number
        yield place, listed
    if not line_of:
        raise InvalidInput(f"{path}: holds no job.")


def _stream_job(listed: ListedJob, requests: dict[tuple[tuple[int, ...], float | None], JobRequest]) -> StreamJob:
    key = (listed.components, listed.estimate_s)
    request = requests.get(key)
    if request is None:
        request = JobRequest(RequestKind.UNORDERED, listed.components, estimate_s=listed.estimate_s)
        requests[key] = request
    return StreamJob(listed.id, listed.arrival_s, listed.service_s, request, listed.queue, listed.application)
