"""A job: its specification, its states, and the timestamps of its life.

`JobSpecification` is the document (a YAML job file, or a request body of the API). `Placement` (from ``placement``)
maps components to clusters. `Timeline` holds the timestamps, in emulated seconds of the run's clock. All derived times
are computed from them: queue time, overhead, wait, execution and response time, as in "Communication-Aware Job
Placement Policies", section 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import Field, StringConstraints, model_validator

from emulator.model.documents import Count, DocumentModel, Real
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.files import FileName
from emulator.model.interconnects import WhichInterconnect
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.topology import Name, Topology
from emulator.model.units import BYTES_PER_MEGABYTE

__all__ = ["Component", "JobKind", "JobName", "JobSpecification", "JobState", "Placement", "Timeline"]

JobName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
ArgumentName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
CommandWord = Annotated[str, StringConstraints(pattern=r"\A[ -~]*\z", max_length=4096)]
PROGRAM: Final = re.compile(r"(?:\.?/)?[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9._+-]+)*")
PLAIN: Final = "plain"
"""The application name of plain jobs in records."""
OWN: Final = "own"
"""The application name in records of MPI jobs that run a program of the user's own."""
MAX_COMMAND_WORDS: Final = 256
MAX_COMMAND_CHARACTERS: Final = 32_768
Command = Annotated[tuple[CommandWord, ...], Field(max_length=MAX_COMMAND_WORDS)]
RunTimeLimit = Annotated[Real, Field(ge=1e-6, le=1e7)]
DilationFactor = Annotated[Real, Field(ge=1e-6, le=10_000)]
TimeScale = Annotated[Real, Field(ge=1e-6, le=1e6)]
ProcessorSpeed = Annotated[Real, Field(ge=1e-6, le=1e6)]
DEFAULT_RUN_TIME_LIMIT_S = 86_400.0
LIMIT_REACHED: Final = "The run-time limit was reached."
"""Why a job failed that ran longer than its run-time limit."""
MAX_COMPONENTS = 64
MAX_COMPONENT_PROCESSORS = 1_000_000
MAX_SPLITS = 64
Size = Annotated[Count, Field(le=MAX_COMPONENT_PROCESSORS)]
Split = Annotated[tuple[Size, ...], Field(min_length=1, max_length=MAX_COMPONENTS)]


class JobKind(StrEnum):
    """The kind of program that a job runs: one MPI program as ranks, or a program without MPI once per processor."""

    MPI = "mpi"
    PLAIN = "plain"


class Numerics(StrEnum):
    """Whether ranks really compute: in every iteration, or only in some, paced as ever, so that no solution results."""

    REAL = "real"
    SAMPLED = "sampled"


class JobSpecification(DocumentModel):
    """A job as a user submits it: an application with its arguments, and the processors it asks for.

    A program of the user's own is a `command` instead of an application and arguments. The ranks of an MPI job run it;
    in a plain job it runs once on each processor, without MPI. It is a list of words, which no shell interprets. The
    first is a program in the home folder, else on the nodes' path, or an absolute path.

    `interconnect` chooses which of the topology's interconnects carries messages inside clusters; by default it follows
    from the number of clusters of the job. `processor_speed` says how many times as fast as the topology's processors
    the job's are: it divides what computing takes, never what messages take. With sampled `numerics` only the first
    iterations and some later ones really compute, in the same time. `queue` names the cluster whose local queue
    receives the job, where the discipline has local queues. A flexible request may state its `least_component` and
    `most_components`, or the `splits` it admits, the preferred one first. `file` is the logical name of the input file
    that every component reads; the broker transfers it to the sites of the components.

    Policies that choose nodes, which tasks share in time, read three things of a task: the memory that it holds on its
    node (`memory_mb`), the share of a processor that it uses when alone (`processor_share`), and how long the job takes
    when alone (`time_alone_s`), which is the user's estimate in place of `run_time_limit_s`.
    """

    called: ClassVar[str] = "job"

    name: JobName = "job"
    kind: JobKind = JobKind.MPI
    application: Name = PLAIN
    arguments: dict[ArgumentName, int | float | bool | JobName] = Field(default_factory=dict, max_length=32)
    command: Command = ()
    components: Split
    request: RequestKind = RequestKind.NON_FIXED
    clusters: tuple[Name, ...] = ()
    queue: Name | None = None
    least_component: Size = 1
    most_components: Annotated[Count, Field(le=MAX_COMPONENTS)] | None = None
    splits: Annotated[tuple[Split, ...], Field(max_length=MAX_SPLITS)] = ()
    run_time_limit_s: RunTimeLimit = DEFAULT_RUN_TIME_LIMIT_S
    interconnect: WhichInterconnect | None = None
    processor_speed: ProcessorSpeed = 1.0
    numerics: Numerics = Numerics.REAL
    file: FileName | None = None
    memory_mb: Annotated[Real, Field(ge=0, le=1e9)] = 0.0
    processor_share: Annotated[Real, Field(gt=0, le=1)] = 1.0
    time_alone_s: RunTimeLimit | None = None

    @model_validator(mode="before")
    @classmethod
    def _own_program_is_named(cls, stated: Any) -> Any:
        if isinstance(stated, Mapping) and stated.get("command") and stated.get("kind", JobKind.MPI) == JobKind.MPI:
            return {"application": OWN, **stated}
        return stated

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.request is RequestKind.FIXED and not self.clusters:
            raise ValueError("clusters: a fixed request names one cluster per component")
        if self.kind is JobKind.PLAIN or self.command:
            self._check_command()
        elif self.application in (PLAIN, OWN):
            raise ValueError("application: this key is missing (or a command: an MPI program of your own)")
        try:
            self._request(tuple(range(len(self.clusters))))
        except InvalidInput as error:
            raise ValueError(str(error)) from error
        return self

    def _check_command(self) -> None:
        applications_only: dict[str, object] = {
            "application": PLAIN if self.kind is JobKind.PLAIN else OWN, "arguments": {}, "interconnect": None,
            "processor_speed": 1.0, "numerics": Numerics.REAL,
        }  # fmt: skip
        for key, default in applications_only.items():
            if getattr(self, key) != default:
                raise ValueError(f"{key}: a job with a command, or of the kind {JobKind.PLAIN}, cannot state this")
        if not self.command:
            raise ValueError(f"command: a job of the kind {JobKind.PLAIN} names its program")
        program = self.command[0]
        if not PROGRAM.fullmatch(program) or {".", ".."} & set(program.removeprefix("./").split("/")):
            raise ValueError(
                f"command.0: a program is a name, a path in the home folder or an absolute path, not {program[:60]!r}"
            )
        if sum(len(word) for word in self.command) > MAX_COMMAND_CHARACTERS:
            raise ValueError(f"command: it may have {MAX_COMMAND_CHARACTERS} characters at most")

    @property
    def estimate_s(self) -> float | None:
        """The user's estimate of the execution time: the time alone, or a run-time limit; None without either."""
        if self.time_alone_s is not None:
            return self.time_alone_s
        return None if self.run_time_limit_s == DEFAULT_RUN_TIME_LIMIT_S else self.run_time_limit_s

    def request_in(self, topology: Topology) -> JobRequest:
        """Return the request, with its clusters as indices of `topology`.

        Raises:
            UnknownName: if a cluster does not exist.
            ImpossibleRequest: if the request is larger than the system, or a component fits no cluster it may go to.
        """
        request = self._request(tuple(topology.index(name) for name in self.clusters))
        _check_possible(self.name, request, topology)
        return request

    def queue_in(self, topology: Topology) -> int | None:
        """Return the index of the cluster whose local queue receives the job; None if it names none.

        Raises:
            UnknownName: if that cluster does not exist.
        """
        return None if self.queue is None else topology.index(self.queue)

    def _request(self, clusters: tuple[int, ...]) -> JobRequest:
        return JobRequest(
            self.request,
            self.components,
            clusters,
            self.least_component,
            self.most_components,
            self.splits,
            self.file,
            self.estimate_s,
            round(self.memory_mb * BYTES_PER_MEGABYTE),
            self.processor_share,
        )


def _check_possible(job: str, request: JobRequest, topology: Topology) -> None:
    if request.processors > topology.processors:
        raise ImpossibleRequest(
            f"Job {job!r} asks for {request.processors} processors, but {topology.name!r} has {topology.processors}."
        )
    largest = max(cluster.processors for cluster in topology.clusters)
    if request.kind is not RequestKind.FLEXIBLE and max(request.components) > largest:
        raise ImpossibleRequest(
            f"Job {job!r} has a component of {max(request.components)} processors, "
            f"but the largest cluster of {topology.name!r} has {largest}."
        )
    for index in set(request.clusters):
        requested = sum(size for size, at in zip(request.components, request.clusters, strict=True) if at == index)
        cluster = topology.clusters[index]
        if requested > cluster.processors:
            raise ImpossibleRequest(
                f"Job {job!r} asks for {requested} processors in cluster {cluster.name!r}, "
                f"which has {cluster.processors}."
            )


class JobState(StrEnum):
    """The state of a job; the last three are final."""

    QUEUED = "queued"
    CLAIMING = "claiming"
    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether a job in this state has ended."""
        return self in (JobState.FINISHED, JobState.FAILED, JobState.CANCELLED)


@dataclass(slots=True)
class Timeline:
    """The timestamps of a job in emulated seconds since the run's origin; None until they are known."""

    submitted_s: float
    placed_s: float | None = None
    claimed_s: float | None = None
    started_s: float | None = None
    finished_s: float | None = None

    @property
    def queue_time_s(self) -> float | None:
        """The time from submission to successful placement."""
        return _between(self.submitted_s, self.placed_s)

    @property
    def overhead_s(self) -> float | None:
        """The time from placement to start, which the middleware takes."""
        return _between(self.placed_s, self.started_s)

    @property
    def processor_gained_time_s(self) -> float | None:
        """The time from placement to successful claim (PGT), in which other jobs may use the processors."""
        return _between(self.placed_s, self.claimed_s)

    @property
    def processor_wasted_time_s(self) -> float | None:
        """The time from successful claim to start (PWT), in which the processors are held and unused."""
        return _between(self.claimed_s, self.started_s)

    @property
    def wait_time_s(self) -> float | None:
        """The time from submission to start (TWT in the Close-to-Files paper)."""
        return _between(self.submitted_s, self.started_s)

    @property
    def execution_time_s(self) -> float | None:
        """The time from start to finish."""
        return _between(self.started_s, self.finished_s)

    @property
    def response_time_s(self) -> float | None:
        """The time from submission to finish."""
        return _between(self.submitted_s, self.finished_s)


def _between(earlier_s: float | None, later_s: float | None) -> float | None:
    return None if earlier_s is None or later_s is None else later_s - earlier_s
