"""What the broker shows of itself over HTTP: runs, jobs, clusters and events, shared by its API and its client.

Moments and durations are emulated seconds since the origin of the run they belong to; names that begin with ``host``
are host seconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from emulator.model.claiming import StatedClaiming
from emulator.model.documents import DocumentModel
from emulator.model.job import JobName, JobSpecification, JobState, TimeScale
from emulator.model.rules import StatedRules
from emulator.model.scanning import StatedScanning
from emulator.model.sources import Sources

STANDING_RUN = 0
"""The run that jobs submitted outside of any measurement or campaign belong to; it has dilation 1 and never ends."""


LARGEST_NUMBER = 2**53
"""The largest integer that every reader of JSON keeps exact; no number of a job, run or event exceeds it."""

SubmissionKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
Number = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]


class RunState(StrEnum):
    """A run is prepared (its links are programmed), then running, then ended."""

    PREPARING = "preparing"
    RUNNING = "running"
    ENDED = "ended"


class RunRequest(StatedScanning):
    """What a measurement or campaign asks for when it takes hold of the testbed.

    `policy`, `queue`, `rules`, `seed` and how the queue is scanned are all that its decisions depend on; a policy or
    queue that is a class in a file (``mypolicy.py:Mine``) is loaded from the text of that name in `sources`.
    """

    name: JobName
    dilation: Annotated[float, Field(gt=0, le=10_000)] = 1.0
    policy: str = "wf"
    queue: str = "placement"
    rules: StatedRules = StatedRules()
    paced_middleware: bool = True
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    claiming: StatedClaiming = StatedClaiming()
    time_scale: TimeScale = 1.0
    sources: Sources = Field(default_factory=dict)


STANDING_REQUEST = RunRequest(name="standing", policy="by-kind")
"""What the standing run would have asked for: every kind of request goes to the policy that places it."""


class RunView(DocumentModel):
    """A run as the broker knows it; `host_origin_s` (wall clock) is None until it is started."""

    id: int
    state: RunState
    request: RunRequest
    host_origin_s: float | None = None


class Submission(DocumentModel):
    """A job for a run; without one it goes to the standing run.

    Under a `key` of the client's choice a job is submitted once: the same submission again gives the same job.
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
    run: Number = STANDING_RUN
    intended_arrival_s: Annotated[float, Field(ge=0, le=1e12)] | None = None
    key: SubmissionKey | None = None


class ComponentView(DocumentModel):
    """A placed component: where it is, and its allocation under the local resource manager once claimed."""

    cluster: str
    processors: int
    allocation: str | None = None
    claimed_s: float | None = None


class JobView(DocumentModel):
    """All that is known of a job. `result` is the application's own record, `reason` says why a job failed.

    Of the claiming procedure: how many `claiming_tries` there were, the moment `claim_due_s` of the last of them or, if
    it failed, of the next, the planned start, by how much that was put off, and the estimated time of the files'
    transfer.
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
    """A waiting job; `position` counts from 1 in the order in which jobs would be tried."""

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
    """What a job wrote: its standard output and its standard error."""

    output: str
    error: str


class HealthView(DocumentModel):
    """Whether every cluster answers the broker, and which do not."""

    status: str
    unreachable: tuple[str, ...] = ()


class ErrorView(DocumentModel):
    """Why a request was refused: one sentence, and the name of its kind in ``emulator.model.errors``."""

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
    """What happens in the broker, in the order it happens."""

    RUN_STARTED = "run-started"
    RUN_ENDING = "run-ending"
    RUN_ENDED = "run-ended"
    SUBMITTED = "submitted"
    DECISION = "decision"
    PLACED = "placed"
    COMPONENT_CLAIMED = "component-claimed"
    CLAIM_FAILED = "claim-failed"
    FILE_ARRIVED = "file-arrived"
    CLAIMED = "claimed"
    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    CLUSTER_LOST = "cluster-lost"
    POLICY_FAILED = "policy-failed"


class EventView(DocumentModel):
    """One event of the broker's journal.

    `job` is the job concerned, as it then was: the event that ends a job (finished, failed, cancelled) therefore holds
    its whole record. `detail` holds the decision, the cluster, or whatever else the kind calls for.
    """

    sequence: int
    run: int
    kind: EventKind
    time_s: float
    host_moment_s: float
    job: JobView | None = None
    detail: dict[str, Any] = Field(default_factory=dict)
