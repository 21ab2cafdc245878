"""The jobs of measurements and campaigns as they are planned, and which of them run at the same time.

`planned_cells` and `planned_campaign` return what a run consists of; `emulator.planning.plan` judges that. A
campaign's jobs overlap as the simulator places them, with the campaign's own policy and discipline.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from emulator.containers import this_kernel
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.errors import Hopeless
from emulator.model.held_nodes import ranks
from emulator.model.job import JobSpecification
from emulator.model.placement import Component, Placement
from emulator.model.request import RequestKind
from emulator.model.topology import Topology
from emulator.planning.plan import PlannedRun, Resources, plan
from emulator.planning.planned_files import PlannedFile
from emulator.planning.planned_jobs import PlannedJob, planned_job
from emulator.planning.planned_traffic import Part
from emulator.planning.shared_nodes import simulated_on_shared_nodes
from emulator.policies.factory import discipline_scanned
from emulator.policies.registry import chooses_nodes, placement_policy
from emulator.runs.input_files import stated_surroundings
from emulator.runs.matrix import Cell
from emulator.simulator import simulate
from emulator.simulator.simulated_job import FinishedJob
from workloads.campaign import Campaign
from workloads.campaign_stream import InputFile, campaign_files
from workloads.schedule import Arrival, stream_job

MOST_TOGETHER = 24
"""The largest number of jobs that run at once in a pilot of a campaign."""


def available_resources(path: Path | None = None, *, guest_router: bool | None = None) -> Resources:
    """Return the free resources of this host; disk space is that at `path`, or in the working directory.

    `guest_router` tells whether a guest forwards; None: unless this host's kernel can delay packets itself.
    """
    if guest_router is None:
        guest_router = not this_kernel.has_netem()
    memory = psutil.virtual_memory().available
    return Resources(psutil.cpu_count() or 1, memory, shutil.disk_usage(path or Path()).free, guest_router)


def check_possible(run: PlannedRun, resources: Resources, dilation: Dilation = REAL_TIME) -> None:
    """Check that this host, or several, can hold `run`: its memory at any dilation, its files at `dilation`.

    Raises:
        Hopeless: if they cannot.
    """
    holding = "The hosts of this testbed" if resources.hosts else "This host"
    for constraint in plan(run, dilation, resources).impossible:
        raise Hopeless(
            f"{holding} cannot hold the run: it needs {constraint.share:.3g} times the {constraint.name} that is "
            "available (make the run smaller, or use --even-if-hopeless)."
        )


def planned_cells(cells: Sequence[Cell], topology: Topology, repeat: int = 1) -> PlannedRun:
    """Return what measuring `cells` consists of: one job after another."""
    crossing = {name for cell in cells if cell.clusters > 1 for name in cell.specification.clusters}
    jobs = (planned_fixed(cell.specification, topology) for cell in cells)
    link_mbit = _fastest_link_mbit(topology, crossing)
    return PlannedRun(tuple(jobs), len(topology.clusters), repeat, full_link_mbit=link_mbit)


@dataclass(frozen=True, slots=True)
class PlannedCampaign:
    """A campaign as simulated: its `run`, and the jobs that are tried beforehand.

    `hardest` is the job that asks most of the host; `together` are those that ask most of it at the same time.
    All are fixed requests on the clusters on which the simulator placed them.
    """

    run: PlannedRun
    hardest: JobSpecification
    together: tuple[JobSpecification, ...]


def planned_campaign(campaign: Campaign, arrivals: Sequence[Arrival], seed: int, topology: Topology) -> PlannedCampaign:
    """Return what `arrivals` under the policy and discipline of `campaign` consist of, overlapping as simulated.

    Raises:
        InvalidInput: if a job cannot be run so.
    """
    shared = simulated_on_shared_nodes(campaign, arrivals, seed, topology)
    lives = _simulated(campaign, arrivals, seed, topology) if shared is None else shared
    names = topology.cluster_names
    fixed = [
        _as_placed(specification, _parts(life, specification, topology))
        for life in lives
        for specification in (arrivals[life.id].specification,)
    ]
    jobs = tuple(planned_fixed(specification, topology) for specification in fixed)
    middleware = topology.middleware and topology.middleware.divided(campaign.time_scale)
    overheads_s = [middleware.overhead_s(len(life.components)) for life in lives if middleware]
    crossing = set(names) if any(len(set(life.clusters)) > 1 for life in lives) else set[str]()
    run = PlannedRun(
        jobs,
        len(topology.clusters),
        beside=_overlaps(lives),
        span_s=max(life.finish_s for life in lives),
        overhead_s=min(overheads_s, default=None),
        full_link_mbit=_fastest_link_mbit(topology, crossing),
        files=tuple(_planned_files(lives, arrivals, campaign_files(campaign, topology, seed))),
        in_a_campaign=True,
    )
    hardest = max(range(len(jobs)), key=lambda at: _demand(jobs[at]))
    busiest = max((_running_at(lives, life.start_s) for life in lives), key=lambda at: _demand_of(jobs, at))
    return PlannedCampaign(run, fixed[hardest], tuple(fixed[at] for at in busiest[:MOST_TOGETHER]))


def planned_fixed(specification: JobSpecification, topology: Topology) -> PlannedJob:
    """Return what the job of a fixed request is."""
    return planned_job(specification, _fixed_parts(specification), topology)


def _as_placed(specification: JobSpecification, parts: Sequence[Part]) -> JobSpecification:
    """Return the job as a fixed request for `parts`, without an input file and a queue of its own."""
    changes = {
        "request": RequestKind.FIXED,
        "components": tuple(size for _, size in parts),
        "clusters": tuple(name for name, _ in parts),
        "file": None,
        "queue": None,
    }
    return specification.model_copy(update=changes)


def _demand(job: PlannedJob) -> tuple[bool, float]:
    """Return what a job demands of the host: messages over the wide area, then work in an emulated second."""
    return job.clusters > 1, job.processors / max(job.iteration_s, 1e-9)


def _demand_of(jobs: Sequence[PlannedJob], at: Sequence[int]) -> float:
    return sum(_demand(jobs[index])[1] for index in at)


def _running_at(lives: Sequence[FinishedJob], time_s: float) -> list[int]:
    return [index for index, life in enumerate(lives) if life.start_s <= time_s < life.finish_s]


def _simulated(campaign: Campaign, arrivals: Sequence[Arrival], seed: int, topology: Topology) -> list[FinishedJob]:
    """Return the life of each job, in the order of arrival; each takes what it would if the host took no time.

    Where the policy chooses nodes, first come, first served and worst fit stand in (flexible cluster minimization for
    flexible requests): no nodes are planned.
    """
    queue, policy = campaign.queue, campaign.policy
    if chooses_nodes(policy, campaign.sources):
        flexible = any(arrival.specification.request is RequestKind.FLEXIBLE for arrival in arrivals)
        queue, policy = "fcfs", "fcm" if flexible else "wf"
    stream = (
        stream_job(index, arrival, topology, _service_s(specification, topology), specification.queue_in(topology))
        for index, arrival in enumerate(arrivals)
        for specification in (arrival.specification,)
    )
    result = simulate(
        stream,
        clusters=topology,
        queue=partial(discipline_scanned, queue, campaign.scanning, campaign.sources),
        policy=placement_policy(policy, campaign.sources),
        quota=campaign.quota,
        seed=seed,
        keep_jobs=True,
        scanning=campaign.scanning,
        middleware=topology.middleware and topology.middleware.divided(campaign.time_scale),
        surroundings=stated_surroundings(topology, campaign_files(campaign, topology, seed)),
        claiming=campaign.claiming.divided(campaign.time_scale) if campaign.input_files else None,
        time_scale=campaign.time_scale,
    )
    return sorted(result.finished, key=lambda life: life.id)


def _service_s(specification: JobSpecification, topology: Topology) -> float:
    names = topology.cluster_names
    parts = [(names[index % len(names)], size) for index, size in enumerate(specification.components)]
    return max(1e-3, planned_job(specification, parts, topology).runtime_s)


def _parts(life: FinishedJob, specification: JobSpecification, topology: Topology) -> list[Part]:
    """Return how many processes of a job run in each of its clusters."""
    held = Placement(tuple(Component(*part) for part in zip(life.clusters, life.components, strict=True)))
    sizes = ranks(specification.request_in(topology), held, topology.processors_taken_together)
    return [(topology.clusters[at].name, size) for at, size in zip(life.clusters, sizes, strict=True)]


def _overlaps(lives: Sequence[FinishedJob]) -> Mapping[int, tuple[tuple[int, float], ...]]:
    """Return for each job the others that run beside it, and for which share of its time."""
    beside: dict[int, tuple[tuple[int, float], ...]] = {}
    for index, life in enumerate(lives):
        duration_s = life.finish_s - life.start_s
        shares = (
            (other, (min(life.finish_s, neighbour.finish_s) - max(life.start_s, neighbour.start_s)) / duration_s)
            for other, neighbour in enumerate(lives)
            if other != index and duration_s > 0
        )
        beside[index] = tuple((other, share) for other, share in shares if share > 0)
    return beside


def _planned_files(
    lives: Sequence[FinishedJob], arrivals: Sequence[Arrival], files: Mapping[str, InputFile]
) -> Iterator[PlannedFile]:
    """Return the file of each job: kept at its sites from shortly before the arrival, brought where the job runs."""
    for life in lives:
        file = files.get(arrivals[life.id].specification.file or "")
        if file is not None:
            brought = len(set(life.clusters) - set(file.sites))
            yield PlannedFile(
                life.arrival_s,
                life.placed_s,
                life.finish_s,
                file.size_bytes * len(file.sites),
                file.size_bytes * brought,
            )


def _fixed_parts(specification: JobSpecification) -> list[Part]:
    return list(zip(specification.clusters, specification.components, strict=True))


def _fastest_link_mbit(topology: Topology, names: set[str]) -> float:
    links = [topology.cluster(name).access_link for name in names]
    return max((max(link.up_mbit, link.down_mbit) for link in links), default=0.0)
