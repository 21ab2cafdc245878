"""The plan of a run: its load on this host at a dilation, its tightest constraint, and the smallest faithful dilation.

Pure: measured costs, the host's resources and a list of jobs come in as values, a `Plan` comes out. Every constraint is
a share of something with two limits: up to the first the run is faithful, beyond the second it is hopeless, since the
verdict on it would be void or the host cannot hold it. Shares that a verdict judges must stay below half of the
verdict's own threshold: so far the prediction may be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from emulator.fidelity.thresholds import SUSPECT_ERROR, SUSPECT_LATE_PHASES, SUSPECT_OVERHEAD, VOID_ERROR
from emulator.model.clock import Dilation
from emulator.model.units import rate_bytes_per_s
from emulator.planning.costs import FULL_PACKET_BYTES, HostCosts, MessagesOver
from emulator.planning.lateness import Lateness, Neighbour
from emulator.planning.predicted_jobs import PlannedJob, PredictedJob, predict_job

SAFETY: Final = 2.0
"""By how much a prediction may be too small without a run that was planned as faithful being suspect."""

DILATIONS: Final = (
    0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0, 192.0, 256.0, 512.0,
)  # fmt: skip
"""The dilations among which the planner chooses."""

MOST_LATE_PHASES: Final = 0.8 * SUSPECT_LATE_PHASES
"""The share of phases that may end late: they bound no error, so that the verdict's own threshold is nearly reached."""

BUSIEST_CORES: Final = 0.5
"""The share of all cores that jobs may take: above it a rank that wakes mostly finds its core taken."""

BUSIEST_ROUTER: Final = 0.5
"""The share of a core that packets may take: above it they queue where no link makes them."""

FULLEST: Final = 0.9
"""The share of memory and of the disk that may be used."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What the host has to give: memory available now, and free bytes where records are written."""

    memory_bytes: int
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """The jobs of a run in order, and how they overlap.

    `beside` gives for a job, by its index, the others that run beside it and for which share of its time; `span_s` is
    from the first job's start to the last one's end (None: one job after another). `overhead_s` is what the middleware
    may take of each job's time (None: not paced), `full_link_mbit` the rate of the fastest access link that jobs use.
    `controls` run after the jobs, one after another: nothing is reported of them, but they must be faithful too.
    """

    jobs: tuple[PlannedJob, ...]
    clusters: int
    beside: Mapping[int, tuple[tuple[int, float], ...]] = field(default_factory=dict)
    span_s: float | None = None
    overhead_s: float | None = None
    full_link_mbit: float = 0.0
    controls: tuple[PlannedJob, ...] = ()

    @property
    def with_controls(self) -> PlannedRun:
        """All that runs as jobs, the own ones first."""
        return replace(self, jobs=(*self.jobs, *self.controls), controls=())


@dataclass(frozen=True, slots=True)
class Constraint:
    """A share, up to which the run is faithful, and beyond which it is hopeless (infinity: never)."""

    name: str
    share: float
    faithful: float
    hopeless: float = math.inf

    @property
    def strain(self) -> float:
        """The share relative to what is faithful: the largest of all constraints binds."""
        return self.share / self.faithful


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will be like at a dilation, and what it will ask of the host."""

    dilation: float
    jobs: tuple[PredictedJob, ...]
    constraints: tuple[Constraint, ...]
    late_phase_share: float
    host_cpu_s: float
    host_packets_per_s: float
    memory_bytes: int
    disk_bytes: int
    host_duration_s: float

    @property
    def binding(self) -> Constraint:
        """The constraint that is nearest to, or farthest beyond, what is faithful."""
        return max(self.constraints, key=lambda constraint: constraint.strain)

    @property
    def faithful(self) -> bool:
        """Whether every share is within what is faithful."""
        return all(constraint.strain <= 1.0 for constraint in self.constraints)

    @property
    def hopeless(self) -> tuple[Constraint, ...]:
        """The constraints that make the run void, or impossible."""
        return tuple(constraint for constraint in self.constraints if constraint.share > constraint.hopeless)


def plan(run: PlannedRun, dilation: Dilation, costs: HostCosts, resources: Resources) -> Plan:
    """What `run` will be like at `dilation`."""
    whole = run.with_controls
    predicted = _predicted(whole, dilation, costs)
    jobs = predicted[: len(run.jobs)]
    demand = _Demand(whole, predicted, costs)
    phases = [job.iterations * job.phases * job.processors for job in run.jobs]
    late = sum(count * job.late_phase_share for count, job in zip(phases, jobs, strict=True))
    return Plan(
        dilation=dilation.factor,
        jobs=jobs,
        constraints=tuple(_constraints(whole, predicted, demand, dilation, costs, resources)),
        late_phase_share=late / sum(phases),
        host_cpu_s=sum(job.host_cpu_s for job in jobs),
        host_packets_per_s=demand.most(lambda index: predicted[index].host_packets_per_s),
        memory_bytes=demand.memory_bytes,
        disk_bytes=len(whole.jobs) * costs.record_bytes,
        host_duration_s=_host_duration_s(whole, predicted, dilation, costs),
    )


def propose(run: PlannedRun, costs: HostCosts, resources: Resources) -> Plan:
    """The plan at the smallest faithful of `DILATIONS`; if none is, that at the largest, which says what binds."""
    plans = [plan(run, Dilation(DILATIONS[-1]), costs, resources)]
    for factor in reversed(DILATIONS[:-1]):
        if not plans[-1].faithful:
            break
        plans.append(plan(run, Dilation(factor), costs, resources))
    return next((candidate for candidate in reversed(plans) if candidate.faithful), plans[0])


def _predicted(run: PlannedRun, dilation: Dilation, costs: HostCosts) -> tuple[PredictedJob, ...]:
    """Each job of `run` as it will be beside the others."""
    lateness = Lateness(costs)
    alone = [_as_neighbour(predict_job(job, dilation, costs, lateness), costs) for job in run.jobs]
    return tuple(
        predict_job(job, dilation, costs, lateness, _neighbours(run.beside.get(index, ()), alone))
        for index, job in enumerate(run.jobs)
    )


def _as_neighbour(job: PredictedJob, costs: HostCosts) -> Neighbour:
    return Neighbour(job.host_burst_s, job.host_period_s, job.host_cpu_share / costs.cores)


def _neighbours(beside: Sequence[tuple[int, float]], jobs: Sequence[Neighbour]) -> list[Neighbour]:
    return [replace(jobs[index], share=share) for index, share in beside]


class _Demand:
    """What jobs ask of the host at once: each with those that run beside it."""

    def __init__(self, run: PlannedRun, jobs: Sequence[PredictedJob], costs: HostCosts) -> None:
        self._run, self._jobs = run, jobs
        held = [job.processors * costs.rank_bytes + job.grid_bytes for job in run.jobs]
        self.memory_bytes = round(run.clusters * costs.cluster_bytes + self.most(lambda index: held[index]))

    def most(self, of: Callable[[int], float]) -> float:
        """Return the most that a job and those beside it ask together."""
        beside = self._run.beside
        return max(
            of(at) + sum(share * of(other) for other, share in beside.get(at, ())) for at in range(len(self._jobs))
        )


def _constraints(
    run: PlannedRun,
    jobs: Sequence[PredictedJob],
    demand: _Demand,
    dilation: Dilation,
    costs: HostCosts,
    resources: Resources,
) -> list[Constraint]:
    adding_up = [
        predicted.late_phase_share
        for job, predicted in zip(run.jobs, jobs, strict=True)
        if job.over is not MessagesOver.INTERCONNECT
    ]
    core_share = demand.most(lambda index: jobs[index].host_cpu_share) / costs.cores
    router_share = demand.most(lambda index: jobs[index].host_packets_per_s) * costs.router.host_cpu_s_per_packet
    return [
        Constraint("lateness", max(predicted.lateness_share for predicted in jobs), SUSPECT_ERROR / SAFETY, VOID_ERROR),
        Constraint("late phases", max(adding_up, default=0.0), MOST_LATE_PHASES),
        # Twice the dilation halves it: so much, and no more, may a time differ between K and 2K.
        Constraint("messages", max(predicted.own_time_share for predicted in jobs), 2.0 * SUSPECT_ERROR),
        Constraint("cores", core_share, BUSIEST_CORES, 1.0),
        Constraint("router", router_share, BUSIEST_ROUTER, 1.0),
        Constraint("links", _links_share(run, dilation, costs), FULLEST),
        Constraint("middleware", _middleware_share(run, dilation, costs), SUSPECT_OVERHEAD / SAFETY),
        Constraint("memory", demand.memory_bytes / resources.memory_bytes, FULLEST, 1.0),
        Constraint("disk", len(run.jobs) * costs.record_bytes / resources.disk_bytes, FULLEST, 1.0),
    ]


def _links_share(run: PlannedRun, dilation: Dilation, costs: HostCosts) -> float:
    """Return the share of a core that the router takes for one pair of clusters with full links, both ways."""
    host_packets_per_s = 2.0 * rate_bytes_per_s(dilation.host_rate_mbit(run.full_link_mbit)) / FULL_PACKET_BYTES
    return host_packets_per_s * costs.router.host_cpu_s_per_packet


def _middleware_share(run: PlannedRun, dilation: Dilation, costs: HostCosts) -> float:
    """By how much starting the largest job exceeds what the middleware may take, relative to that."""
    if not run.overhead_s:
        return 0.0
    host_allowed_s = dilation.host_duration_s(run.overhead_s)
    host_start_s = SAFETY * costs.start.host_s(max(job.processors for job in run.jobs))
    return max(0.0, host_start_s - host_allowed_s) / host_allowed_s


def _host_duration_s(run: PlannedRun, jobs: Sequence[PredictedJob], dilation: Dilation, costs: HostCosts) -> float:
    if run.span_s is not None:
        return dilation.host_duration_s(run.span_s)
    starts_s = sum(costs.start.host_s(job.processors) for job in run.jobs)
    return starts_s + dilation.host_duration_s(sum(predicted.runtime_s for predicted in jobs))
