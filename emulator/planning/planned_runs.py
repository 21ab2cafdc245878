"""Plans of measurements and campaigns: their jobs, how these overlap, and the dilation that they need.

`planned_matrix` and `planned_campaign` return what a run asks of a host; `emulator.planning.plan` judges that. A
campaign's jobs overlap as the simulator places them, with the campaign's own policy and discipline.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import psutil

from emulator.model.clock import Dilation
from emulator.model.errors import Hopeless
from emulator.model.job import JobSpecification
from emulator.model.stream import StreamJob
from emulator.model.topology import Topology
from emulator.planning.costs import HostCosts
from emulator.planning.plan import Plan, PlannedRun, Resources, plan, propose
from emulator.planning.planned_jobs import planned_job
from emulator.planning.planned_traffic import Part
from emulator.planning.predicted_jobs import PlannedJob
from emulator.policies.factory import discipline_scanned
from emulator.policies.registry import placement_policy
from emulator.runs.control_runs import ControlRun
from emulator.runs.input_files import stated_surroundings
from emulator.runs.matrix import Layout
from emulator.simulator import simulate
from emulator.simulator.engine import FinishedJob
from workloads.campaign import Campaign
from workloads.campaign_stream import campaign_files
from workloads.schedule import Arrival


def plan_dilation(run: PlannedRun, costs: HostCosts, resources: Resources | None = None) -> float:
    """Return the smallest dilation at which `run` is faithful on the host of these costs.

    Raises:
        Hopeless: if there is none; the message names what binds.
    """
    return settled_plan(run, costs, resources=resources).dilation


def settled_plan(
    run: PlannedRun,
    costs: HostCosts,
    dilation: float | None = None,
    *,
    even_if_hopeless: bool = False,
    resources: Resources | None = None,
) -> Plan:
    """Return the plan of `run` at `dilation`, or else at the smallest at which it is faithful.

    Raises:
        Hopeless: if its verdict would be void, the host cannot hold it, or no dilation was given and none is faithful;
            unless it is to run `even_if_hopeless`.
    """
    room = resources or available_resources()
    found = propose(run, costs, room) if dilation is None else plan(run, Dilation(dilation), costs, room)
    if even_if_hopeless or (found.faithful if dilation is None else not found.hopeless):
        return found
    worst = max(found.hopeless or (found.binding,), key=lambda constraint: constraint.strain)
    if dilation is None:
        raise Hopeless(
            f"No dilation up to {found.dilation:g} is faithful on this host, because of its {worst.name}: "
            f"{worst.share:.3g} of what there is, where {worst.faithful:.3g} is the most (make the run smaller)."
        )
    proposed = propose(run, costs, room)
    remedy = f"--dilation {proposed.dilation:g}" if proposed.faithful else "a smaller run"
    raise Hopeless(
        f"At dilation {dilation:g} this run is hopeless on this host, because of its {worst.name}: {worst.share:.3g} "
        f"is predicted, and above {worst.hopeless:.3g} it is void (use {remedy}, or --even-if-hopeless)."
    )


def available_resources(path: Path | None = None) -> Resources:
    """What this host has to give now: memory, and room for records (at `path`, or in the working directory)."""
    return Resources(psutil.virtual_memory().available, shutil.disk_usage(path or Path()).free)


def planned_layout(layout: Layout, topology: Topology, control_runs: Sequence[ControlRun] = ()) -> PlannedRun:
    """What measuring the cells of `layout` and making `control_runs`, one job after another, asks of a host."""
    names = {name for cell in layout.cells if cell.clusters > 1 for name in cell.specification.clusters}
    # What a run at a larger dilation asks of the host is less.
    controls = [
        job
        for run in control_runs
        if run.larger_by == 1.0
        for job in _cell_jobs(run.layout(layout), run.control.of(topology, Dilation(1.0)))
    ]
    return PlannedRun(
        tuple(_cell_jobs(layout, topology)),
        len(topology.clusters),
        full_link_mbit=_fastest_link_mbit(topology, names),
        controls=tuple(controls),
    )


def _cell_jobs(layout: Layout, topology: Topology) -> list[PlannedJob]:
    """Return the job of each cell."""
    return [planned_job(cell.specification, _fixed_parts(cell.specification), topology) for cell in layout.cells]


def planned_campaign(campaign: Campaign, arrivals: Sequence[Arrival], seed: int, topology: Topology) -> PlannedRun:
    """What `arrivals` under the policy and discipline of `campaign` ask of a host, overlapping as simulated.

    Raises:
        InvalidInput: if a job cannot be meant or simulated.
    """
    specifications = [arrival.specification for arrival in arrivals]
    lives = _simulated(campaign, arrivals, seed, topology)
    names = topology.cluster_names
    jobs = tuple(
        planned_job(specifications[life.id], [(names[at], size) for at, size in _parts(life)], topology)
        for life in lives
    )
    middleware = topology.middleware and topology.middleware.divided(campaign.time_scale)
    overheads_s = [middleware.overhead_s(len(life.components)) for life in lives if middleware]
    crossing = any(len(set(life.clusters)) > 1 for life in lives)
    return PlannedRun(
        jobs,
        len(topology.clusters),
        beside=_overlaps(lives),
        span_s=max(life.finish_s for life in lives),
        overhead_s=min(overheads_s, default=None),
        full_link_mbit=_fastest_link_mbit(topology, set(names) if crossing else set()),
    )


def _simulated(campaign: Campaign, arrivals: Sequence[Arrival], seed: int, topology: Topology) -> list[FinishedJob]:
    """Return the life of each job, in the order of arrival; each takes what it would if the host took no time."""
    stream = (
        StreamJob(
            index,
            arrival.arrival_s,
            _service_s(arrival.specification, topology),
            arrival.specification.request_in(topology),
            arrival.specification.queue_in(topology),
        )
        for index, arrival in enumerate(arrivals)
    )
    result = simulate(
        stream,
        clusters=topology,
        queue=partial(discipline_scanned, campaign.queue, campaign.scanning, campaign.sources),
        policy=placement_policy(campaign.policy, campaign.sources),
        quota=campaign.quota,
        seed=seed,
        keep_jobs=True,
        scanning=campaign.scanning,
        middleware=topology.middleware and topology.middleware.divided(campaign.time_scale),
        surroundings=stated_surroundings(topology, campaign_files(campaign, topology, seed)),
    )
    return sorted(result.finished, key=lambda life: life.id)


def _service_s(specification: JobSpecification, topology: Topology) -> float:
    names = topology.cluster_names
    parts = [(names[index % len(names)], size) for index, size in enumerate(specification.components)]
    job = planned_job(specification, parts, topology)
    compute_s = job.phases * (job.phase_s or 0.0)
    return max(1e-3, job.iterations * (compute_s + job.delays_s))


def _parts(life: FinishedJob) -> list[tuple[int, int]]:
    return list(zip(life.clusters, life.components, strict=True))


def _overlaps(lives: Sequence[FinishedJob]) -> Mapping[int, tuple[tuple[int, float], ...]]:
    """For each job the others that run beside it, and for which share of its time."""
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


def _fixed_parts(specification: JobSpecification) -> list[Part]:
    return list(zip(specification.clusters, specification.components, strict=True))


def _fastest_link_mbit(topology: Topology, names: set[str]) -> float:
    links = [topology.cluster(name).access_link for name in names]
    return max((max(link.up_mbit, link.down_mbit) for link in links), default=0.0)
