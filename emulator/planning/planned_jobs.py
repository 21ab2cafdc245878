"""From a job's specification, and where its components are, to what is known of it before it runs.

The work and the form of an iteration come from the application's descriptor (`apps.registry`). All that a job is stands
in emulated seconds; an iteration's time is good to some tenths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apps.descriptor import ApplicationDescriptor, Arguments, IterationForm, StatedWork
from apps.grid import MasterAndWorkers, Neighbours, ProcessGrid
from apps.registry import application_named, check_program
from emulator.model.job import JobSpecification
from emulator.model.point_costs import Sweep
from emulator.model.processor import Processor
from emulator.model.topology import Topology
from emulator.model.units import BYTES_PER_POINT
from emulator.planning.planned_traffic import Part, RankLinks, Traffic

UNSTATED_ITERATIONS: Final = 1000
"""How long a job is taken to be that ends when it has converged: nobody knows before."""

_STEPS: Final = {"steps": 4, "overlapped": 1}
_UNSTATED_POINTS: Final = 1


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job as it is to run, in emulated seconds.

    An iteration takes `iteration_s`, in which all ranks together update `updates` grid points and send `segments`
    packets over the wide area. Its messages are `real` where they take the host's time, between clusters or through
    shared memory. `grid_bytes` is what all ranks hold of the grid.
    """

    name: str
    processors: int
    clusters: int
    iterations: int
    iteration_s: float
    updates: float
    segments: float
    real: bool
    grid_bytes: int

    @property
    def runtime_s(self) -> float:
        """The time of all iterations."""
        return self.iterations * self.iteration_s


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
    work = _work(descriptor, side_points, ranks, arguments)
    traffic = _traffic(form, side_points, RankLinks(topology, tuple(parts), interconnect), arguments)
    iterations = arguments.get(descriptor.length, descriptor.default_length or UNSTATED_ITERATIONS)
    return PlannedJob(
        name=specification.name,
        processors=ranks,
        clusters=len(clusters),
        iterations=int(iterations) if isinstance(iterations, int | float) else UNSTATED_ITERATIONS,
        iteration_s=_compute_s(topology.processor, specification, work) + traffic.delays_s,
        updates=float(ranks * work.points * work.sweeps),
        segments=traffic.segments,
        real=len(clusters) > 1 or interconnect is None,
        grid_bytes=max(side_points**2, ranks * work.points) * form.arrays * BYTES_PER_POINT,
    )


@dataclass(frozen=True, slots=True)
class _Work:
    """A rank's working set, and how often an iteration sweeps over it; `stated_s` where it is stated as a time."""

    points: int
    sweeps: int = 1
    stated_s: float | None = None


def _work(descriptor: ApplicationDescriptor, side_points: int, ranks: int, arguments: Arguments) -> _Work:
    work = descriptor.work
    if isinstance(work, StatedWork):
        points, stated_s = arguments.get(work.points, _UNSTATED_POINTS), arguments.get(work.duration_s)
        return _Work(
            int(points) if isinstance(points, int | float) else _UNSTATED_POINTS,
            stated_s=float(stated_s) if isinstance(stated_s, int | float) else None,
        )
    share = work.largest_share(side_points, ranks)
    return _Work(share.points, share.sweeps)


def _compute_s(processor: Processor, specification: JobSpecification, work: _Work) -> float:
    """Emulated seconds that the busiest rank computes in an iteration; 0 where the processor is the host's own."""
    costs = processor.costs
    if costs is None:
        return 0.0
    if work.stated_s is not None:
        return work.stated_s
    swept_s = work.sweeps * costs.duration_s(Sweep(work.points)) * processor.weight(specification.application)
    return swept_s / specification.time_scale


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
