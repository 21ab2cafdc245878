"""What must be true of a testbed's books once all jobs have ended, whatever was done to it meanwhile. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.model.job import JobKind, JobState
from emulator.model.views import EventKind, EventView, JobView

ENDINGS = {
    EventKind.FINISHED: JobState.FINISHED,
    EventKind.FAILED: JobState.FAILED,
    EventKind.CANCELLED: JobState.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Began:
    """What a process of a job wrote down when it began: where it ran, and its number there."""

    job: int
    cluster: str
    process: int


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster as its administrators see it: its jobs in Slurm, its processors, and what runs of jobs."""

    held: tuple[str, ...]
    processors: int
    idle: int
    processes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Books:
    """Everything that is written down: `accepted` holds the job that each submission's key became."""

    accepted: Mapping[str, int]
    jobs: Sequence[JobView]
    events: Sequence[EventView]
    began: Sequence[Began]
    sites: Mapping[str, Site] = field(default_factory=dict)
    wrong_links: Sequence[str] = ()


def began_of(lines: Sequence[str], cluster: str) -> list[Began]:
    """Read the lines that processes wrote in a cluster: the job's label (``RUN-JOB``) and the process's number.

    Raises:
        ValueError: if a line is anything else.
    """
    read = []
    for line in lines:
        label, process = line.split()
        read.append(Began(int(label.partition("-")[2]), cluster, int(process)))
    return read


def errors(books: Books) -> list[str]:
    """Return everything that is wrong, a sentence each."""
    return [*_of_acceptance(books), *_of_endings(books), *_of_processes(books), *_of_sites(books)]


def _of_acceptance(books: Books) -> Iterator[str]:
    listed = Counter(job.id for job in books.jobs)
    accepted = Counter(books.accepted.values())
    for key, job in books.accepted.items():
        if listed[job] != 1:
            yield f"Job {job}, accepted under {key!r}, is listed {listed[job]} times."
        if accepted[job] > 1:
            yield f"Job {job} stands for more than one submission, {key!r} among them."
    for job in sorted(listed.keys() - accepted.keys()):
        yield f"Job {job} is listed and was never accepted."


def _of_endings(books: Books) -> Iterator[str]:
    endings: dict[int, list[JobState]] = defaultdict(list)
    for event in books.events:
        if event.job is not None and event.kind in ENDINGS:
            endings[event.job.id].append(ENDINGS[event.kind])
    for job in books.jobs:
        if endings[job.id] != [job.state]:
            found = ", ".join(endings[job.id]) or "none"
            yield f"Job {job.id} is {job.state}, and its endings are: {found}."
    numbers = [event.sequence for event in books.events]
    if sorted(set(numbers)) != numbers:
        yield "The events are not in the order of their numbers, or one is there twice."


def _of_processes(books: Books) -> Iterator[str]:
    began = Counter(books.began)
    for process, times in began.items():
        if times > 1:
            yield f"Process {process.process} of job {process.job} began {times} times in {process.cluster}."
    known = {job.id: job for job in books.jobs}
    ran: dict[int, Counter[str]] = defaultdict(Counter)
    for process in began:
        ran[process.job][process.cluster] += 1
    for number in sorted(ran.keys() - known.keys()):
        yield f"Job {number} ran and is not listed."
    for job in books.jobs:
        if job.specification.kind is JobKind.PLAIN:
            yield from _of_job(job, ran[job.id])


def _of_job(job: JobView, ran: Mapping[str, int]) -> Iterator[str]:
    placed: Counter[str] = Counter()
    for part in job.components:
        placed[part.cluster] += part.processors
    if job.state is JobState.FINISHED and Counter(ran) != placed:
        yield f"Job {job.id} finished, placed as {dict(placed)}, and its processes began as {dict(ran)}."
    for cluster in sorted(ran.keys() - placed.keys()):
        yield f"Job {job.id} ran in {cluster}, where it was not placed."


def _of_sites(books: Books) -> Iterator[str]:
    for name, site in books.sites.items():
        if site.held:
            yield f"Slurm of {name} still holds: {'; '.join(site.held)}."
        if site.idle != site.processors:
            yield f"Only {site.idle} of {site.processors} processors of {name} are idle."
        if site.processes:
            yield f"Processes are left in {name}: {'; '.join(site.processes)}."
    yield from books.wrong_links
