"""The values of the broker's HTTP API: runs, jobs, clusters and events, shared by the API and its client.

Timestamps are emulated seconds since the origin of their run, and durations are emulated seconds. Names that begin with
``host`` are in host seconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from emulator.model.documents import DocumentModel, Real, WholeNumber
from emulator.model.job import DilationFactor, JobName, JobSpecification, JobState, TimeScale
from emulator.model.rules import StatedRules
from emulator.model.scheduling import Sources, StatedClaiming, StatedScheduling

DEFAULT_RUN = 0
"""The default run, for jobs that belong to no measurement or campaign; it has dilation 1 and never ends."""


LARGEST_NUMBER = 2**53
"""The largest integer that all JSON readers keep exact; the number of a job, run or event never exceeds it."""

SubmissionKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
Number = Annotated[WholeNumber, Field(ge=0, le=LARGEST_NUMBER)]


class RunState(StrEnum):
    """The state of a run: preparing (its links are programmed), then running, then ended."""

    PREPARING = "preparing"
    RUNNING = "running"
    ENDED = "ended"


class RunRequest(StatedScheduling):
    """The request with which a measurement or campaign takes the testbed.

    Scheduling decisions depend only on `policy`, `quota`, `queue`, `rules`, `seed` and the keys for scanning. A policy
    or queue that is a class in a file (``mypolicy.py:Mine``) is loaded from the text of that file in `sources`.
    `host_clocks_ahead_s` says of clusters on other hosts by how many host seconds the clock there is ahead of the
    broker's: timestamps that are taken there are corrected by it.
    """

    name: JobName
    dilation: DilationFactor = 1.0
    policy: str = "wf"
    queue: str = "placement"
    rules: StatedRules = StatedRules()
    paced_middleware: bool = True
    seed: Annotated[WholeNumber, Field(ge=0, lt=2**63)] = 0
    claiming: StatedClaiming = StatedClaiming()
    time_scale: TimeScale = 1.0
    sources: Sources = Field(default_factory=dict)
    host_clocks_ahead_s: dict[str, Real] = Field(default_factory=dict)


DEFAULT_RUN_REQUEST = RunRequest(name="standing", policy="by-kind")
"""The request of the default run: each kind of request goes to the policy that places it."""


class RunView(DocumentModel):
    """A run of the broker; `host_origin_s` (wall clock) is None until the run is started."""

    id: int
    state: RunState
    request: RunRequest
    host_origin_s: float | None = None


class Submission(DocumentModel):
    """A job for a run; by default for the default run.

    The client may choose a `key`. A repeated submission with the same key returns the same job instead of a new one.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "specification": {"application": "poisson", "arguments": {"grid": 400}, "components": [8, 8]},
                    "key": "night-1",
                }
            ]
        }
    )

    specification: JobSpecification
    run: Number = DEFAULT_RUN
    intended_arrival_s: Annotated[Real, Field(ge=0, le=1e12)] | None = None
    key: SubmissionKey | None = None


class ComponentView(DocumentModel):
    """A placed component: its cluster and, once it is claimed, its allocation under the local resource manager.

    `nodes` names the node of each task if the policy chose them.
    """

    cluster: str
    processors: int
    nodes: tuple[str, ...] = ()
    allocation: str | None = None
    claimed_s: float | None = None


class JobView(DocumentModel):
    """A job with all its data. `result` is the application's own record; `reason` says why a job failed.

    The fields of the claiming procedure are the number of `claiming_tries`, the time `claim_due_s` of the last try (or
    of the next one, if the last failed), `planned_start_s`, `additional_claiming_s`, by which the start was postponed
    in all, and `estimated_transfer_s`, the estimated time of the file transfers.
    """

    id: int
    run: int
    specification: JobSpecification
    state: JobState
    reason: str = ""
    placement_tries: int = 0
    claiming_tries: int = 0
    components: tuple[ComponentView, ...] = ()
    intended_arrival_s: float | None = None
    submitted_s: float
    placed_s: float | None = None
    estimated_transfer_s: float | None = None
    claim_due_s: float | None = None
    planned_start_s: float | None = None
    additional_claiming_s: float | None = None
    claimed_s: float | None = None
    started_s: float | None = None
    finished_s: float | None = None
    released_s: float | None = None
    overhead_late_s: float | None = None
    exit_code: int | None = None
    result: dict[str, Any] | None = None


class QueueEntryView(DocumentModel):
    """A waiting job; `position` counts from 1 in the order in which jobs are tried."""

    position: int
    job: int
    run: int
    name: str
    application: str
    request: str
    components: tuple[int, ...]
    processors: int
    submitted_s: float
    waited_s: float
    placement_tries: int


class OutputView(DocumentModel):
    """The standard output and standard error of a job."""

    output: str
    error: str


class HealthView(DocumentModel):
    """The health of the broker: whether all clusters answer it, and the clusters that do not.

    A cluster that is `unreachable` has no connection; one that is `silent` does not say how many processors are idle.
    While the broker is *degraded*, its journal cannot be written, for the given `reason`.
    """

    status: str
    unreachable: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    reason: str = ""


class ErrorView(DocumentModel):
    """The reason of a refused request: one sentence, and the name of the error in ``emulator.model.errors``."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"error": "There is no job 7 (`testbed jobs` lists those there are).", "kind": "UnknownName"}]
        }
    )

    error: str
    kind: str


class ClusterView(DocumentModel):
    """A cluster as its local resource manager reports it."""

    name: str
    nodes: int
    processors: int
    idle: int
    reachable: bool = True


class EventKind(StrEnum):
    """The kinds of events in the broker, in the usual order."""

    RUN_STARTED = "run-started"
    RUN_ENDING = "run-ending"
    RUN_ENDED = "run-ended"
    SUBMITTED = "submitted"
    DECISION = "decision"
    PLACED = "placed"
    COMPONENT_CLAIMED = "component-claimed"
    CLAIM_FAILED = "claim-failed"
    GIVEN_BACK = "given-back"
    FILE_ARRIVED = "file-arrived"
    CLAIMED = "claimed"
    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    CLUSTER_LOST = "cluster-lost"
    CLUSTER_SILENT = "cluster-silent"
    CLUSTER_ANSWERS = "cluster-answers"
    POLICY_FAILED = "policy-failed"


class EventView(DocumentModel):
    """One event of the broker's journal.

    `job` is the job at the time of the event, so that the event that ends a job (finished, failed, cancelled) holds its
    whole record. `detail` holds the data of this kind of event, for example the decision or the cluster.
    """

    sequence: int
    run: int
    kind: EventKind
    time_s: float
    host_moment_s: float
    job: JobView | None = None
    detail: dict[str, Any] = Field(default_factory=dict)
