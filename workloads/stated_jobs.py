"""Jobs that a campaign takes from a job list or a log, instead of drawing them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, PositiveInt, model_validator

from emulator.model.documents import DocumentModel, validate
from emulator.model.errors import InvalidInput
from emulator.model.job import MAX_COMPONENT_PROCESSORS, MAX_COMPONENTS
from emulator.model.stream import StreamJob
from workloads.job_lists import ListedJob, StatedArguments, read_listed_jobs
from workloads.swf import read_swf
from workloads.swf_stream import swf_jobs

MOST_JOBS: Final = 20_000
"""A campaign's record holds its jobs; longer lists are simulated as they are, without a campaign."""

SEED: Final = "{seed}"
"""What stands for the seed in the name of a file."""

Seconds = Annotated[float, Field(ge=0)]


class JobList(DocumentModel):
    """A job list (``.jsonl``) or a log (``.swf``, ``.swf.gz``) in `file`, which alone may be stated.

    If ``{seed}`` stands in `file`, each seed has a file of its own. `component_limit` splits the jobs of a log into
    components of at most this size. `interarrival_factor` multiplies all arrival times.
    """

    file: Annotated[str, Field(min_length=1)]
    component_limit: PositiveInt | None = None
    interarrival_factor: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _file_alone(cls, stated: Any) -> Any:
        return {"file": stated} if isinstance(stated, str) else stated

    @property
    def is_per_seed(self) -> bool:
        """Whether each seed has a file of its own."""
        return SEED in self.file

    def file_of(self, seed: int) -> str:
        """Return the file that holds the jobs with this seed."""
        return self.file.replace(SEED, str(seed))

    def spaced(self, factor: float) -> JobList:
        """Return the same with arrival times multiplied by `factor` once more."""
        return self.model_copy(update={"interarrival_factor": factor * (self.interarrival_factor or 1.0)})


class StatedJob(DocumentModel):
    """A job of a list: when it arrives, its execution time in one cluster, and what it asks for.

    `estimate_s` is the user's estimate. Without an `application` it runs that of its campaign. `queue` is the index of
    the cluster that it is submitted to, for disciplines with local queues; without one it is drawn. Its `arguments`
    override those of its campaign.
    """

    arrival_s: Seconds
    service_s: Seconds
    components: Annotated[
        tuple[Annotated[PositiveInt, Field(le=MAX_COMPONENT_PROCESSORS)], ...],
        Field(min_length=1, max_length=MAX_COMPONENTS),
    ]
    application: str = ""
    estimate_s: Seconds | None = None
    queue: Annotated[int, Field(ge=0)] | None = None
    arguments: StatedArguments | None = None


def read_stated_jobs(jobs: JobList, path: Path, clusters: Sequence[int]) -> tuple[tuple[StatedJob, ...], int]:
    """Read the file at `path` as `jobs` says; return its jobs in order of arrival, and how many were left out.

    The first job arrives at 0 or when it says. A log is split for `clusters` of these sizes in processors, and its
    records that cannot be simulated are left out.

    Raises:
        InvalidInput: if the file cannot be read, holds no job or too many, or is neither a list nor a log.
    """
    found, left_out = _found(path, jobs, clusters)
    if len(found) > MOST_JOBS:
        raise InvalidInput(
            f"{path}: has {len(found)} jobs, and a campaign takes at most {MOST_JOBS} from a list (`testbed simulate "
            f"{path}` takes all of them)."
        )
    stated = (validate(job, StatedJob, source=f"{path}, job {number}") for number, job in found)
    return tuple(spaced_jobs(stated, jobs.interarrival_factor or 1.0)), left_out


def spaced_jobs(jobs: Iterable[StatedJob], factor: float) -> list[StatedJob]:
    """Return `jobs` with their arrival times multiplied by `factor`."""
    return [job.model_copy(update={"arrival_s": job.arrival_s * factor}) for job in jobs]


def is_list(path: Path) -> bool:
    """Return whether a file is a job list, by its name."""
    return path.suffix.lower() == ".jsonl"


def is_log(path: Path) -> bool:
    """Return whether a file is a log in the Standard Workload Format, by its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return suffixes[-1:] == [".swf"] or suffixes[-2:] == [".swf", ".gz"]


def _found(path: Path, jobs: JobList, clusters: Sequence[int]) -> tuple[list[tuple[int, dict[str, object]]], int]:
    """Return what a file says of its jobs, each with its number, and how many records of a log were left out."""
    if is_list(path):
        if jobs.component_limit is not None:
            raise InvalidInput(f"{path}: component_limit: a job list states components; leave it out.")
        return [(job.id, _of_list(job)) for job in read_listed_jobs(path)], 0
    if is_log(path):
        found = swf_jobs(read_swf(path), path, clusters=clusters, component_limit=jobs.component_limit)
        return [(job.id, _of_log(job)) for job in found.jobs], len(found.left_out)
    raise InvalidInput(f"{path}: job_list: neither a job list (.jsonl) nor a log (.swf, .swf.gz).")


def _of_list(job: ListedJob) -> dict[str, object]:
    return {**job.model_dump(exclude={"id"}), "arguments": job.arguments or None}


def _of_log(job: StreamJob) -> dict[str, object]:
    """Return what a record says; a log has no queues of this system: theirs are drawn."""
    return {
        "arrival_s": job.arrival_s, "service_s": job.service_s, "components": job.request.components,
        "application": job.application, "estimate_s": job.request.estimate_s,
    }  # fmt: skip
