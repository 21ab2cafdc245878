"""From a job's specification, and where its components are, to what the planner must know of it.

The work and the form of an iteration come from the application's descriptor (`apps.registry`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apps.descriptor import ApplicationDescriptor, Arguments, IterationForm, StatedWork
from apps.grid import MasterAndWorkers, Neighbours, ProcessGrid
from apps.registry import application_named, check_program
from emulator.model.interconnects import Interconnect
from emulator.model.job import JobSpecification
from emulator.model.processor import Processor
from emulator.model.topology import Topology
from emulator.model.units import BYTES_PER_POINT
from emulator.planning.costs import MessagesOver
from emulator.planning.planned_traffic import Part, RankLinks, Traffic
from emulator.planning.predicted_jobs import PlannedJob

UNSTATED_ITERATIONS: Final = 1000
"""How long a job is taken to be that ends when it has converged: nobody knows before."""

_STEPS: Final = {"steps": 4, "overlapped": 1}
_UNSTATED_POINTS: Final = 1
_AT_ONCE_BESIDE_A_LINK: Final = 2


def planned_job(specification: JobSpecification, parts: Sequence[Part], topology: Topology) -> PlannedJob:
    """The job of `specification` with its components in `parts` (clusters and sizes, in the order of the ranks).

    Raises:
        InvalidInput: if the job cannot be run so.
    """
    application, arguments = specification.application, specification.arguments
    check_program(application, arguments)
    descriptor = application_named(application)
    form = descriptor.form
    clusters = {cluster for cluster, _ in parts}
    ranks = sum(size for _, size in parts)
    interconnect = topology.interconnects.of(len(clusters), specification.interconnect)
    grid = arguments.get("grid", 0)
    side_points = grid if isinstance(grid, int) else 0
    updates = _updates(descriptor, side_points, ranks, arguments)
    traffic = _traffic(form, side_points, RankLinks(topology, tuple(parts), interconnect), arguments)
    iterations = arguments.get(descriptor.length, descriptor.default_length or UNSTATED_ITERATIONS)
    waking = _waking(form, side_points, RankLinks(topology, tuple(parts), interconnect))
    return PlannedJob(
        name=specification.name,
        application=application,
        processors=ranks,
        clusters=len(clusters),
        waking=sum(waking.values()),
        together=_together(form, len(clusters), max(waking.values())),
        over=_over(len(clusters), interconnect),
        iterations=int(iterations) if isinstance(iterations, int | float) else UNSTATED_ITERATIONS,
        phase_s=_phase_s(topology.processor, specification, updates, form.phases),
        points=updates.points,
        phases=form.phases,
        sweeps=updates.sweeps / form.phases,
        meeting_phases=form.meeting_phases,
        delays_s=traffic.delays_s,
        segments=traffic.segments,
        grid_bytes=max(side_points**2, ranks * updates.points) * form.arrays * BYTES_PER_POINT,
    )


@dataclass(frozen=True, slots=True)
class _Updates:
    """A rank's working set, and how often an iteration sweeps over it; `stated_s` where it is stated as a time."""

    points: int
    sweeps: int = 1
    stated_s: float | None = None


def _updates(descriptor: ApplicationDescriptor, side_points: int, ranks: int, arguments: Arguments) -> _Updates:
    work = descriptor.work
    if isinstance(work, StatedWork):
        points, stated_s = arguments.get(work.points, _UNSTATED_POINTS), arguments.get(work.duration_s)
        return _Updates(
            int(points) if isinstance(points, int | float) else _UNSTATED_POINTS,
            stated_s=float(stated_s) if isinstance(stated_s, int | float) else None,
        )
    share = work.largest_share(side_points, ranks)
    return _Updates(share.points, share.sweeps)


def _phase_s(processor: Processor, specification: JobSpecification, updates: _Updates, phases: int) -> float | None:
    """Emulated seconds of a phase; None where the processor is the host's own."""
    costs = processor.costs
    if costs is None:
        return None
    if updates.stated_s is not None:
        return updates.stated_s
    iteration_s = updates.sweeps * costs.duration_s(updates.points) * processor.weight(specification.application)
    return iteration_s / specification.time_scale / phases


def _over(clusters: int, interconnect: Interconnect | None) -> MessagesOver:
    if clusters > 1:
        return MessagesOver.WIDE_AREA
    return MessagesOver.SHARED_MEMORY if interconnect is None else MessagesOver.INTERCONNECT


def _waking(form: IterationForm, side_points: int, links: RankLinks) -> Counter[str]:
    """By cluster, how many ranks wake for the end of each phase, since not all that they send is paced.

    Over one stated interconnect none do. Between clusters those do that have a neighbour in another, and each cluster's
    first, through which the reduction goes.
    """
    cluster_of = links.clusters_of_ranks
    none_wakes = Counter(dict.fromkeys(cluster_of, 0))
    if links.interconnect is None:
        return Counter(cluster_of)
    if len(none_wakes) == 1:
        return none_wakes
    if form.division == "none":
        return Counter(cluster_of)
    neighbours, _, _ = _borders(form, side_points, len(cluster_of))
    crossing = {
        rank
        for rank, beside in neighbours.items()
        for other in (beside.top, beside.bottom, beside.left, beside.right)
        if other is not None and cluster_of[other] != cluster_of[rank]
    }
    # A mere master has no neighbours, and no phases.
    first_of_each = {cluster_of.index(cluster) for cluster in none_wakes} & neighbours.keys()
    return Counter(cluster_of[rank] for rank in crossing | first_of_each)


def _together(form: IterationForm, clusters: int, waking: int) -> int:
    """Return how many of the waking ranks of a cluster wake at the same time.

    Where all meet after each phase they all begin the next one together. Where they do not, those that wait for another
    cluster go on as its messages come in, one after another through the access link.
    """
    meet = form.meeting_phases == 1 or clusters == 1
    return waking if meet else min(waking, _AT_ONCE_BESIDE_A_LINK)


def _traffic(form: IterationForm, side_points: int, links: RankLinks, arguments: Arguments) -> Traffic:
    meetings = 0.0 if form.meeting_phases is None else form.phases / form.meeting_phases
    meeting = links.reduction()
    if form.all_to_all_bytes is not None:
        meeting = links.all_to_all(form.all_to_all_bytes(side_points)).times(2) + meeting
    if form.division == "none":
        return meeting.times(meetings)
    steps = _STEPS.get(str(arguments.get("exchange", form.exchange)), _STEPS["steps"])
    neighbours, row_points, column_points = _borders(form, side_points, len(links.clusters_of_ranks))
    exchange = links.borders(neighbours, row_points, column_points, steps)
    return exchange.times(form.phases) + meeting.times(meetings)


def _borders(form: IterationForm, side_points: int, ranks: int) -> tuple[dict[int, Neighbours], int, int]:
    """Each rank's neighbours, and how many points its rows and columns have."""
    if form.division == "rows":
        division = MasterAndWorkers(ranks)
        return {rank: division.neighbours(rank) for rank in division.worker_ranks}, side_points, 0
    process_grid = ProcessGrid.of_processes(ranks)
    beside = {rank: process_grid.neighbours(rank) for rank in range(ranks)}
    return beside, -(-side_points // process_grid.columns), -(-side_points // process_grid.rows)
