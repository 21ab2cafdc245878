"""What a run asks of this host, the smallest dilation that its resources allow, and how long the run takes. Pure.

Nothing is measured for this: the costs are those of current processors, rather too low than too high, and pilots find
the dilation from there. Every constraint is a share of something with two limits: up to the first the host carries the
run, beyond the second it cannot hold it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from emulator.fidelity.pilots import SMALLEST_DILATION, least_dilation, most_own_time
from emulator.model.clock import Dilation
from emulator.model.units import BYTES_PER_MEGABYTE, rate_bytes_per_s, seconds_from_nanoseconds
from emulator.planning.planned_files import PlannedFile, peak_bytes
from emulator.planning.planned_jobs import PlannedJob
from emulator.planning.planned_traffic import FULL_PACKET_BYTES
from emulator.runs.input_files import HOST_LEAD_S

HOST_UPDATE_NS: Final = 1.0
"""CPU that a grid-point update takes in compiled kernels, in cache."""

HOST_MESSAGES_CPU_S: Final = 50e-6
"""CPU that the messages of an iteration take of a rank, at the least."""

HOST_OWN_TIME_S: Final = 400e-6
"""By how much the host lengthens an iteration with messages over the wide area, at the least."""

HOST_PACKET_CPU_S: Final = 90e-6
"""CPU that a packet takes in a User-Mode Linux guest; the host's own kernel needs a small part of that."""

TYPICALLY: Final = 3.0
"""By how much what jobs really take of a host exceeds these least costs, as a guess before pilots say it."""

HOST_START_S: Final = 1.5
HOST_START_RANK_S: Final = 0.03
"""Host seconds to start a job, and for each of its ranks."""

HOST_START_CPU_S: Final = 0.25
HOST_START_RANK_CPU_S: Final = 0.04
"""CPU that starting and ending a job takes, and for each of its ranks."""

MOST_STARTS: Final = 0.15
"""The share of the cores that starting a campaign's jobs may take in the mean: ranks that iterate wait for them."""

HOST_CHECK_S: Final = 12.0
"""Host seconds to program the links for a dilation, and to check them before and after the runs."""

HOST_PILOT_S: Final = 2.0
"""Host seconds that a pilot iterates."""

RANK_BYTES: Final = 22 * BYTES_PER_MEGABYTE
CLUSTER_BYTES: Final = 150 * BYTES_PER_MEGABYTE
RECORD_BYTES: Final = 200_000
"""Memory of a rank and of a cluster's container; disk space of a job's records."""

STARTS: Final = "starts"
BUSIEST: Final = 1.0
FULLEST: Final = 0.9


@dataclass(frozen=True, slots=True)
class PlannedHost:
    """One of several hosts: the cores and the memory that it offers, and the clusters that it carries (None: all)."""

    name: str
    cores: float
    memory_bytes: int
    clusters: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Resources:
    """The host's processors, the memory available now, and free bytes where records are written.

    `guest_router` tells whether a guest carries the packets between clusters, which takes much CPU for each. If the
    testbed spreads over several `hosts`, their cores and memory count instead, and `between_hosts` holds the least
    dilations that the network between them allows, by what limits it there.
    """

    processors: int
    memory_bytes: int
    disk_bytes: int
    guest_router: bool = True
    hosts: tuple[PlannedHost, ...] = ()
    between_hosts: Mapping[str, float] = field(default_factory=dict)

    def most_asked(self, share: Callable[[PlannedHost], float]) -> tuple[str, float]:
        """Return the host of which `share` is largest, as words that follow a constraint's name, and that share."""
        here = PlannedHost("", self.processors, self.memory_bytes, None)
        asked = [(f" of {host.name}" if host.name else "", share(host)) for host in self.hosts or (here,)]
        return max(asked, key=lambda found: found[1])


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """The jobs of a run in order, and how they overlap.

    `beside` gives for a job, by its index, the others that run beside it and for which share of its time; `span_s` is
    from the first job's start to the last one's end (None: one job after another). `overhead_s` is the least that the
    middleware may take of a job's time (None: not paced), `full_link_mbit` the rate of the fastest access link used.
    `files` are the jobs' input files. Of a job `in_a_campaign` the host may take more time of its own.
    """

    jobs: tuple[PlannedJob, ...]
    clusters: int
    repeat: int = 1
    beside: Mapping[int, tuple[tuple[int, float], ...]] = field(default_factory=dict)
    span_s: float | None = None
    overhead_s: float | None = None
    full_link_mbit: float = 0.0
    files: tuple[PlannedFile, ...] = ()
    in_a_campaign: bool = False

    def most(self, costs: Sequence[float]) -> float:
        """Return the most that a job and those beside it cost together, where `costs` are those of each job."""
        return max(
            costs[at] + sum(share * costs[other] for other, share in self.beside.get(at, ()))
            for at in range(len(self.jobs))
        )


@dataclass(frozen=True, slots=True)
class Constraint:
    """A share, up to which the host carries a run, and beyond which it cannot hold it (infinity: never)."""

    name: str
    share: float
    carried: float
    impossible: float = math.inf

    @property
    def strain(self) -> float:
        """The share relative to what is carried: the largest of all constraints binds."""
        return self.share / self.carried


@dataclass(frozen=True, slots=True)
class Plan:
    """The demand of a run on the host at a dilation, and its duration there."""

    dilation: float
    constraints: tuple[Constraint, ...]
    memory_bytes: int
    disk_bytes: int
    host_duration_s: float

    @property
    def binding(self) -> Constraint:
        """The constraint that is nearest to, or farthest beyond, what the host carries."""
        return max(self.constraints, key=lambda constraint: constraint.strain)

    @property
    def carried(self) -> bool:
        """Whether the host carries all of it."""
        return all(constraint.strain <= 1.0 for constraint in self.constraints)

    @property
    def impossible(self) -> tuple[Constraint, ...]:
        """The constraints because of which the host cannot hold the run."""
        return tuple(constraint for constraint in self.constraints if constraint.share > constraint.impossible)


def plan(run: PlannedRun, dilation: Dilation, resources: Resources) -> Plan:
    """Return what `run` demands of the host at `dilation`."""
    held = [float(job.processors * RANK_BYTES + job.grid_bytes) for job in run.jobs]
    memory_bytes = round(run.clusters * CLUSTER_BYTES + run.most(held))
    fullest, memory_share = resources.most_asked(lambda host: _held_bytes(run, held, host) / max(1, host.memory_bytes))
    disk_bytes = run.repeat * len(run.jobs) * RECORD_BYTES
    disk_bytes += peak_bytes(run.files, dilation.emulated_duration_s(HOST_LEAD_S))
    constraints = [
        Constraint(name, least / dilation.factor, 1.0) for name, least in _least_dilations(run, resources).items()
    ]
    constraints += [
        Constraint(f"memory{fullest}", memory_share, FULLEST, 1.0),
        Constraint("disk", disk_bytes / max(1, resources.disk_bytes), FULLEST, 1.0),
    ]
    return Plan(dilation.factor, tuple(constraints), memory_bytes, disk_bytes, host_duration_s(run, dilation))


def needed_dilation(run: PlannedRun, resources: Resources) -> float:
    """Return the dilation below which a resource surely does not suffice; it may be larger than any that is tried."""
    return max(_least_dilations(run, resources).values(), default=SMALLEST_DILATION)


def floor_dilation(run: PlannedRun, resources: Resources) -> float:
    """Return the smallest dilation that is worth a pilot: at any smaller one a resource surely does not suffice."""
    return least_dilation(needed_dilation(run, resources))


def likely_dilation(run: PlannedRun, resources: Resources) -> float:
    """Return the dilation that pilots will probably choose, for estimates before they do."""
    least = _least_dilations(run, resources)
    known = [
        least.pop(name)
        for name in tuple(least)
        if name in ("packets", *resources.between_hosts) or name.startswith(STARTS)
    ]
    return least_dilation(max([*known, TYPICALLY * max(least.values(), default=SMALLEST_DILATION)]))


def host_run_s(job: PlannedJob, dilation: Dilation) -> float:
    """Return the host seconds of one run of `job`, with its start."""
    return HOST_START_S + HOST_START_RANK_S * job.processors + dilation.host_duration_s(job.runtime_s)


def host_duration_s(run: PlannedRun, dilation: Dilation) -> float:
    """Return the host seconds that the jobs of `run` take."""
    if run.span_s is not None:
        return dilation.host_duration_s(run.span_s)
    return run.repeat * sum(host_run_s(job, dilation) for job in run.jobs)


def _least_dilations(run: PlannedRun, resources: Resources) -> dict[str, float]:
    """Return for each resource of which a larger dilation leaves more the dilation at which it just suffices."""
    busy = [_host_work_s(job) / job.iteration_s if job.iteration_s else 0.0 for job in run.jobs]
    real = [HOST_OWN_TIME_S / job.iteration_s for job in run.jobs if job.clusters > 1 and job.iteration_s]
    busiest, cores_share = resources.most_asked(lambda host: _on(run, busy, host) / host.cores)
    least = {
        f"cores{busiest}": cores_share / BUSIEST,
        "own time": max(real, default=0.0) / most_own_time(in_a_campaign=run.in_a_campaign),
    }
    if run.full_link_mbit and resources.guest_router:
        packets_per_s = 2.0 * rate_bytes_per_s(run.full_link_mbit) / FULL_PACKET_BYTES
        least["packets"] = packets_per_s * HOST_PACKET_CPU_S / FULLEST
    if run.overhead_s:
        start_s = HOST_START_S + HOST_START_RANK_S * max(job.processors for job in run.jobs)
        least["middleware"] = start_s / run.overhead_s
    if run.span_s:
        starts_s = [HOST_START_CPU_S + HOST_START_RANK_CPU_S * job.processors for job in run.jobs]
        busiest, starting_s = resources.most_asked(lambda host: _in_all(run, starts_s, host) / host.cores)
        least[f"{STARTS}{busiest}"] = starting_s / run.span_s / MOST_STARTS
    return least | dict(resources.between_hosts)


def _held_bytes(run: PlannedRun, held: Sequence[float], host: PlannedHost) -> float:
    """Return the most memory that clusters and jobs hold on `host`, where `held` are the bytes of each job."""
    clusters = run.clusters if host.clusters is None else len(host.clusters)
    return clusters * CLUSTER_BYTES + _on(run, held, host)


def _on(run: PlannedRun, costs: Sequence[float], host: PlannedHost) -> float:
    """Return the most that jobs which run together cost `host`, where `costs` are those of each job."""
    return run.most([cost * job.share_on(host.clusters) for cost, job in zip(costs, run.jobs, strict=True)])


def _in_all(run: PlannedRun, costs: Sequence[float], host: PlannedHost) -> float:
    """Return what all jobs cost `host` one after another, where `costs` are those of each job."""
    return sum(cost * job.share_on(host.clusters) for cost, job in zip(costs, run.jobs, strict=True))


def _host_work_s(job: PlannedJob) -> float:
    """Return the CPU seconds of an iteration of all ranks."""
    return seconds_from_nanoseconds(job.updates * HOST_UPDATE_NS) + job.processors * HOST_MESSAGES_CPU_S
