"""The records of a run: the row types of its files, and its manifest. Column names are field names.

Timestamps are emulated seconds since the run's origin. `ROW_FILES` maps files to their row types. The base class of
rows is in ``rows``; the rows about measured cells are in ``cell_rows``, those about the host and the links in
``evidence``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field

from emulator.model.cell_rows import (
    AttributionRow,
    BorderExchangeRow,
    CommunicationRow,
    ExtensionFactorRow,
    InvarianceRow,
    ReproductionRow,
)
from emulator.model.documents import DocumentModel
from emulator.model.evidence import EvidenceRow, EvidenceSummary, LinkCheck, LinkFaultRow
from emulator.model.rows import Names, Row, Sizes
from emulator.model.topology import Topology

FORMAT_VERSION: Final = 1
MANIFEST_FILE: Final = "manifest.json"
DECISIONS_FILE: Final = "decisions.jsonl"
SCHEDULE_FILE: Final = "schedule.jsonl"


class JobRow(Row):
    """A job that has ended: its request, its placement, all timestamps and derived times, and its verdict.

    `components` are sizes in processors in the order of the request, `execution_clusters` the cluster of each.
    `estimate_s` is the user's estimate of the execution time.
    `runtime_s` is the application's own time from its first to its last iteration, a part of `execution_time_s`.
    `host_lateness_s` is an upper bound, in host seconds, on how much late phases lengthened `runtime_s`.
    `interconnects` names the interconnects of its messages. `given_up_s` is when a job that was never placed left the
    queue: it was given up, or it failed or was cancelled there.

    The timestamps and periods of the claiming procedure (the Close-to-Files paper, section 3): `placed_s` is its JPT,
    `estimated_transfer_s` its FTT, and `claim_due_s` its JCT (of the last try). `planned_start_s` is its JST after all
    postponements, which sum to `additional_claiming_s` (ACT). `processor_gained_time_s` (PGT) is the time from
    placement to successful claim, in which other jobs could use the processors. `processor_wasted_time_s` (PWT) is the
    time from claim to start, in which no job could. `wait_time_s` (submission to start) is its TWT.
    """

    job: int
    name: str
    application: str
    arguments: str = ""
    request: str
    components: Sizes
    requested_clusters: Names = ()
    file: str = ""
    processors: int
    estimate_s: float | None = None
    state: str
    reason: str = ""
    placement_tries: int = 0
    claiming_tries: int = 0
    execution_clusters: Names = ()
    clusters: int | None = None
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
    given_up_s: float | None = None
    queue_time_s: float | None = None
    overhead_s: float | None = None
    processor_gained_time_s: float | None = None
    processor_wasted_time_s: float | None = None
    wait_time_s: float | None = None
    execution_time_s: float | None = None
    response_time_s: float | None = None
    overhead_late_s: float | None = None
    exit_code: int | None = None
    iterations: int | None = None
    runtime_s: float | None = None
    iteration_s: float | None = None
    interconnects: str = ""
    phases: int | None = None
    late_phases: int | None = None
    host_lateness_s: float | None = None
    host_cpu_s: float | None = None
    verdict: str
    verdict_reasons: str = ""


class ComponentRow(Row):
    """A component of a placed job: its cluster, its allocation there, and when it held its processors."""

    job: int
    component: int
    cluster: str
    processors: int
    allocation: str | None = None
    placed_s: float | None = None
    claimed_s: float | None = None
    released_s: float | None = None


class TransferRow(Row):
    """The transfer of a job's input `file` to one of its clusters, from its first byte on, and the rate that it had.

    A transfer that several jobs wait for is that of the `job` that waited first. In a simulation it begins when the job
    is placed, or as long after it as in the mean of the live run that is simulated.
    """

    job: int
    file: str
    source: str
    target: str
    size_bytes: float
    began_s: float
    arrived_s: float
    rate_mbit: float | None = None


class UtilizationRow(Row):
    """The use of a cluster from `time_s` on, split as in the Close-to-Files paper; the rest of `processors` is idle.

    Jobs of the run hold `claimed_processors`: `executing_processors`, on which a job executes (actual co-allocation),
    and `wasted_processors`, which wait for their job's start (its PWT). `gained_processors` are those of placed jobs
    that are not claimed yet (PGT), which others can use. Local and dummy jobs hold `background_processors`; None
    without a background load.
    """

    time_s: float
    cluster: str
    processors: int
    claimed_processors: int
    executing_processors: int
    wasted_processors: int | None = None
    gained_processors: int | None = None
    background_processors: int | None = None


class BackgroundRow(Row):
    """The processors of a cluster that dummy jobs, local users' jobs and the grid's jobs hold, from `time_s` on."""

    time_s: float
    cluster: str
    processors: int
    dummy_processors: int
    local_processors: int
    grid_processors: int


class LocalBurstRow(Row):
    """A burst of processor time of a local user, which ended at `time_s`, `delay_s` later than it would have alone.

    `beside` is the number of parallel tasks on the node when it was asked for.
    """

    time_s: float
    cluster: str
    node: str
    beside: int
    processor_s: float
    delay_s: float


class LinkRow(Row):
    """One measurement of the wide area: the requested value, the measured value, and the error.

    `moment` says whether it was made before or after the run. `source` and `target` are clusters; two sources that
    share a link are joined by ``+``. One-way delays and waits are in the columns that end in `_s`, rates in those that
    end in `_mbit`, and shares of lost packets in the last two columns.
    """

    moment: str
    dilation: float
    source: str
    target: str
    quantity: str
    asked_s: float | None = None
    measured_s: float | None = None
    asked_mbit: float | None = None
    measured_mbit: float | None = None
    asked_loss: float | None = None
    measured_loss: float | None = None
    within: bool


class PilotRow(Row):
    """A pilot: a short run of a job, or of several at once, that showed whether a dilation suffices.

    `trial` names what was run, `problem` the problem or campaign whose dilation it tells. `iterations` and
    `iteration_s` are those of its first job, without what it sends only once. `binding` names the measure that was
    nearest to what a pilot may show, or farthest beyond it. `strain` says how far: up to 1 the dilation suffices.
    `folder` holds its records, beside this file.
    """

    problem: str
    trial: str
    dilation: float
    jobs: int = 1
    iterations: int | None = None
    iteration_s: float | None = None
    host_duration_s: float
    late_phase_share: float | None = None
    lateness_share: float | None = None
    cpu_pressure: float | None = None
    binding: str = ""
    strain: float
    verdict: str
    reasons: str = ""
    folder: str = ""


class SupersededRow(Row):
    """A run of a measured cell that no longer counts, because it was run again: at its dilation, or at a larger one.

    `job` is its number in the ``jobs.csv`` beside this file; `because` says how it was run again.
    """

    job: int
    name: str
    dilation: float
    verdict: str
    reasons: str = ""
    because: str


class ExecutionTimeRow(Row):
    """The execution times in a simulation of jobs of one problem over the same parts, and where they come from.

    `components` are the processors in each of the `execution_clusters`. `source` is *stated* if the workload states the
    execution time in one cluster, *measured* if it comes from a live run or from measured factors, and *predicted* if
    it comes from the model. `execution_s` is the mean of the `jobs`. `extension_factor` is relative to one cluster;
    `low` and `high` are its 95% interval, if the topology states the uncertainty of predictions.
    """

    application: str
    grid: int | None = None
    processors: int
    components: Sizes
    execution_clusters: Names
    clusters: int
    execution_s: float
    extension_factor: float | None = None
    low: float | None = None
    high: float | None = None
    source: str
    jobs: int


ROW_FILES: Final[dict[type[Row], str]] = {
    JobRow: "jobs.csv",
    ComponentRow: "components.csv",
    TransferRow: "transfers.csv",
    UtilizationRow: "utilization.csv",
    BackgroundRow: "background.csv",
    LocalBurstRow: "local_bursts.csv",
    LinkRow: "links.csv",
    ExtensionFactorRow: "extension_factors.csv",
    CommunicationRow: "communication.csv",
    BorderExchangeRow: "border_exchange.csv",
    ExecutionTimeRow: "execution_times.csv",
    ReproductionRow: "reproduction.csv",
    AttributionRow: "attribution.csv",
    InvarianceRow: "invariance.csv",
    EvidenceRow: "evidence.csv",
    LinkFaultRow: "link_faults.csv",
    PilotRow: "pilots.csv",
    SupersededRow: "superseded.csv",
}


class RunKind(StrEnum):
    """The kind of run that a run directory records."""

    CAMPAIGN = "campaign"
    SIMULATION = "simulation"
    MEASUREMENT = "measurement"


class RunProgress(StrEnum):
    """The progress of a run. A directory whose run has ended but says *running* is that of a run that died."""

    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"


class ImageRecord(DocumentModel):
    """The contents of one of the testbed's images.

    `base` is what its base was made from: the digest of a public image, or mmdebstrap's suite. `packages` lists its
    Debian packages as ``name=version``, separated by spaces.
    """

    reference: str
    base: str | None = None
    packages: str = ""


class StatedVersion(DocumentModel, extra="ignore"):
    """The format version that a manifest states, whatever else is in it."""

    format_version: int = FORMAT_VERSION


class Manifest(DocumentModel):
    """The description of a run: everything needed to understand, judge and repeat it.

    `control` says which parts of the wide area a control run kept; `topology` holds the wide area as the run used it.
    The links of `unshaped_clusters` were real: they were neither shaped nor measured. `defects` are figures that were
    called valid and failed a later check, one sentence each. `plan` holds the dilation of each problem and how it was
    found; of old runs it is a prediction. `background` says how the background load kept to its band, and `simulated`
    what a simulation was made from: the run that it is like, and where its execution times come from. `like` is the
    directory, without the folders around it, of the live run whose schedule a live run repeats. `versions` says which
    program made the run, and on what.
    Execution times, arrivals, scans, overhead and files of the workload were divided by `time_scale`; all records are
    in divided seconds.
    """

    format_version: int = FORMAT_VERSION
    kind: RunKind
    name: str
    progress: RunProgress = RunProgress.RUNNING
    verdict: str
    verdict_reasons: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()
    topology: Topology
    workload: dict[str, Any]
    jobs: int
    policy: str
    queue: str
    seed: Annotated[int, Field(ge=0)]
    dilation: float
    paced_middleware: bool
    time_scale: float = 1.0
    control: str = "as-asked"
    unshaped_clusters: tuple[str, ...] = ()
    router_backend: str | None = None
    link_checks: tuple[LinkCheck, ...] = ()
    evidence: EvidenceSummary | None = None
    missing_traffic_share: float | None = None
    background: dict[str, Any] | None = None
    simulated: dict[str, Any] | None = None
    like: str | None = None
    plan: dict[str, Any] | None = None
    host_began_at: str
    host_ended_at: str | None = None
    host_origin_s: float | None = None
    host: dict[str, Any]
    versions: dict[str, str]
    images: dict[str, ImageRecord] = Field(default_factory=dict)
