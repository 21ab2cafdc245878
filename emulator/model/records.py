"""What a run leaves behind: the row types of its files and its manifest. Column names are field names.

Moments are emulated seconds since the run's origin. Which file holds which rows: `ROW_FILES`. What a row is, ``rows``
says; what is seen of the host and of the links while a run lasts is ``evidence``'s.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from emulator.model.attribution import AttributionRow, InvarianceRow
from emulator.model.documents import DocumentModel
from emulator.model.evidence import EvidenceRow, EvidenceSummary, LinkCheck, LinkFaultRow
from emulator.model.reproduction import ReproductionRow
from emulator.model.rows import Names, Row, Sizes
from emulator.model.topology import Topology

FORMAT_VERSION: Final = 1
MANIFEST_FILE: Final = "manifest.json"
DECISIONS_FILE: Final = "decisions.jsonl"
SCHEDULE_FILE: Final = "schedule.jsonl"


class JobRow(Row):
    """A job that has ended: what it asked for, where it ran, every moment, every derived time, its verdict.

    `components` are sizes in processors in the order of the request, `execution_clusters` the cluster of each.
    `runtime_s` is the application's own time from its first to its last iteration, within `execution_time_s`.
    `host_lateness_s` bounds the host time by which `runtime_s` is too long because phases ended late.
    `interconnects` names what its messages went over.

    The moments and periods of the claiming procedure (the Close-to-Files paper, section 3): `placed_s` is its JPT,
    `estimated_transfer_s` its FTT, `claim_due_s` its JCT (of the last try), `planned_start_s` its JST as last put off
    by `additional_claiming_s` (ACT) in all. `processor_gained_time_s` (PGT) is placement to successful claim, in which
    others could use the processors; `processor_wasted_time_s` (PWT) is claim to start, in which nobody could;
    `wait_time_s` (submission to start) is its TWT.
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
    """A component of a job that was placed: its cluster, its allocation there, and when it held its processors."""

    job: int
    component: int
    cluster: str
    processors: int
    allocation: str | None = None
    placed_s: float | None = None
    claimed_s: float | None = None
    released_s: float | None = None


class UtilizationRow(Row):
    """From `time_s` on: processors of a cluster that jobs of the run hold, and those on which a job executes."""

    time_s: float
    cluster: str
    processors: int
    claimed_processors: int
    executing_processors: int


class LinkRow(Row):
    """One measurement of the wide area, `moment` being before or after the run; asked, measured, and the error.

    `source` and `target` are clusters, two sources joined by ``+`` where they share a link. Delays are one-way and, as
    waits, in the columns that end in `_s`; rates in those that end in `_mbit`; shares of lost packets in the last two.
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


class ExtensionFactorRow(Row):
    """How much longer an application runs over `clusters` clusters than in one: the mean of `n` runs, with a 95% CI."""

    application: str
    grid: int | None = None
    processors: int
    components: Sizes
    clusters: int
    interconnect_single: str = ""
    interconnect_coallocated: str = ""
    dilation: float
    runtime_s: float
    iteration_s: float | None = None
    extension_factor: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n: int
    verdict: str


class CommunicationRow(Row):
    """What communication costs the runs of a cell in all their `iterations`: the mean of `n` runs, with a 95% CI.

    `communication_s` is the total communication time of the measurement study on DAS-2: from the last process's end of
    computation to the last one's end of communication, summed over the iterations; `least_s` and `most_s` are those of
    single runs. `exchange` is how borders go (steps, overlapped), `synchronized` whether a barrier precedes them.
    `border_exchange_bytes` is what the process that moves most sends and receives in an iteration; `data_rate_mbit`, of
    synchronized runs, is that amount over communication time.
    """

    application: str
    grid: int | None = None
    processors: int
    components: Sizes
    clusters: int
    interconnect: str = ""
    dilation: float
    exchange: str = ""
    synchronized: bool
    iterations: int
    communication_s: float
    ci_low: float | None = None
    ci_high: float | None = None
    least_s: float
    most_s: float
    border_exchange_bytes: int | None = None
    data_rate_mbit: float | None = None
    n: int
    verdict: str


class BorderExchangeRow(Row):
    """How long one process of a cell's jobs exchanged borders in all iterations, by direction; the mean of `n` runs.

    `process` is its rank, `column` (from the left) and `row` (from the bottom) its place in the process grid,
    `component` the one that it belongs to, all from 0. Directions are missing where all borders go at once.
    """

    application: str
    grid: int | None = None
    processors: int
    clusters: int
    interconnect: str = ""
    synchronized: bool
    process: int
    column: int
    row: int
    component: int
    top_s: float | None = None
    bottom_s: float | None = None
    left_s: float | None = None
    right_s: float | None = None
    total_s: float
    n: int


ROW_FILES: Final[dict[type[Row], str]] = {
    JobRow: "jobs.csv",
    ComponentRow: "components.csv",
    UtilizationRow: "utilization.csv",
    LinkRow: "links.csv",
    ExtensionFactorRow: "extension_factors.csv",
    CommunicationRow: "communication.csv",
    BorderExchangeRow: "border_exchange.csv",
    ReproductionRow: "reproduction.csv",
    AttributionRow: "attribution.csv",
    InvarianceRow: "invariance.csv",
    EvidenceRow: "evidence.csv",
    LinkFaultRow: "link_faults.csv",
}


class RunKind(StrEnum):
    """What a run directory is the record of."""

    CAMPAIGN = "campaign"
    MEASUREMENT = "measurement"


class RunProgress(StrEnum):
    """How far a run came: a directory left in state running is that of a run that died."""

    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"


class Manifest(DocumentModel):
    """What a run was: everything needed to understand, judge and repeat it.

    `control` says what of the wide area was left to it; `topology` holds the wide area as it then was; the links of
    `unshaped_clusters` were real ones, of which nothing was asked and nothing measured. `defects` are
    figures that were called valid and did not hold when they were checked, a sentence each. `plan` is what was
    predicted of the run, with what it then showed. Execution times, arrivals, scans, overhead and files of the workload
    were divided by `time_scale`; all records are in seconds so divided.
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
    seed: int
    dilation: float
    paced_middleware: bool
    time_scale: float = 1.0
    control: str = "as-asked"
    unshaped_clusters: tuple[str, ...] = ()
    router_backend: str | None = None
    link_checks: tuple[LinkCheck, ...] = ()
    evidence: EvidenceSummary | None = None
    plan: dict[str, Any] | None = None
    host_began_at: str
    host_ended_at: str | None = None
    host_origin_s: float | None = None
    host: dict[str, Any]
    versions: dict[str, str]
