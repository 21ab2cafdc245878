"""Jobs as they are planned: what is known of a job before it runs, from its specification and its placement.

The work and the form of an iteration come from the application's descriptor (`apps.registry`), its time from the model.
All times are emulated seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from apps.descriptor import ApplicationDescriptor, Arguments, IterationForm, StatedWork
from apps.grid import MasterAndWorkers, Neighbours, ProcessGrid
from apps.numerics import EVERY, FIRST_ITERATIONS
from apps.registry import application_named, check_arguments
from emulator.fidelity.iteration.once import PassedOnce
from emulator.fidelity.iteration.predicted import ModelJob, predicted
from emulator.model.collectives import Pattern
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification, Numerics
from emulator.model.topology import Topology
from emulator.model.units import BYTES_PER_POINT
from emulator.planning.planned_traffic import Part, RankPackets

UNSTATED_ITERATIONS: Final = 1000
"""The assumed length of a job that ends when it has converged, since its length is not known before."""

_UNSTATED_POINTS: Final = 1


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job as it is to run, in emulated seconds.

    An iteration takes `iteration_s`, in which all ranks together really update `updates` grid points (in the mean, if
    not all iterations compute) and send `segments` packets over the wide area. Its messages are `real` where they take
    the host's time, between clusters or through shared memory. `grid_bytes` is what all ranks hold of the grid. What is
    passed on once, before the first iteration and after the last, takes `once_s` together. `parts` are its clusters,
    each with the number of ranks there.
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
    once_s: float = 0.0
    parts: tuple[Part, ...] = ()

    def share_on(self, clusters: Collection[str] | None) -> float:
        """Return the share of the ranks that is in `clusters` (None: in all)."""
        if clusters is None:
            return 1.0
        return sum(size for cluster, size in self.parts if cluster in clusters) / self.processors

    @property
    def runtime_s(self) -> float:
        """The time of all iterations, and of what is passed on once."""
        return self.once_s + self.iterations * self.iteration_s


def planned_job(specification: JobSpecification, parts: Sequence[Part], topology: Topology) -> PlannedJob:
    """Return the job of `specification` with its components in `parts` (clusters and sizes, in the order of the ranks).

    Raises:
        InvalidInput: if the job cannot be run so.
    """
    if specification.command:
        raise InvalidInput(
            f"Job {specification.name!r} runs a program of its own, which no model knows anything of (run it, and see)."
        )
    application, arguments = specification.application, specification.arguments
    # No more is checked here, because runs recorded long ago are planned, too.
    check_arguments(arguments)
    descriptor = application_named(application)
    form = descriptor.form
    clusters = {cluster for cluster, _ in parts}
    ranks = sum(size for _, size in parts)
    interconnect = topology.interconnects.of(len(clusters), specification.interconnect)
    grid = arguments.get("grid", 0)
    side_points = grid if isinstance(grid, int) else 0
    work = _work(descriptor, side_points, ranks, arguments)
    segments = _segments(form, side_points, RankPackets(tuple(parts)), topology.collectives.pattern, arguments)
    job = ModelJob(
        application, side_points, tuple(parts), specification.interconnect, arguments=arguments,
        processor_speed=specification.processor_speed,
    )  # fmt: skip
    stated = arguments.get(descriptor.length, descriptor.default_length or UNSTATED_ITERATIONS)
    iterations = int(stated) if isinstance(stated, int | float) else UNSTATED_ITERATIONS
    found = predicted(topology, job)
    return PlannedJob(
        name=specification.name,
        processors=ranks,
        clusters=len(clusters),
        iterations=iterations,
        iteration_s=found.iteration_s,
        updates=_computing_share(specification.numerics, iterations) * ranks * work.points * work.sweeps,
        segments=segments,
        real=len(clusters) > 1 or interconnect is None,
        grid_bytes=max(side_points**2, ranks * work.points) * form.arrays * BYTES_PER_POINT,
        once_s=PassedOnce(topology, job).takes_s(iterations),
        parts=tuple(parts),
    )


def _computing_share(numerics: Numerics, iterations: int) -> float:
    """Return the share of the iterations that really compute."""
    if numerics is Numerics.REAL or iterations <= FIRST_ITERATIONS:
        return 1.0
    return (FIRST_ITERATIONS + (iterations - FIRST_ITERATIONS) / EVERY) / iterations


@dataclass(frozen=True, slots=True)
class _Work:
    """A rank's working set, and how often an iteration sweeps over it."""

    points: int
    sweeps: int = 1


def _work(descriptor: ApplicationDescriptor, side_points: int, ranks: int, arguments: Arguments) -> _Work:
    work = descriptor.work
    if isinstance(work, StatedWork):
        points = arguments.get(work.points, _UNSTATED_POINTS)
        return _Work(int(points) if isinstance(points, int | float) else _UNSTATED_POINTS)
    share = work.largest_share(side_points, ranks, arguments)
    return _Work(share.points, share.sweeps)


def _segments(
    form: IterationForm, side_points: int, packets: RankPackets, pattern: Pattern, arguments: Arguments
) -> float:
    """Return the packets of an iteration between clusters."""
    meeting_phases = form.phases_to_meeting(arguments)
    meetings = 0.0 if meeting_phases is None else form.phases / meeting_phases
    meeting = packets.reduction(pattern)
    if form.all_to_all_bytes is not None:
        meeting += 2.0 * packets.all_to_all(form.all_to_all_bytes(side_points, arguments))
    if form.division == "none":
        return meeting * meetings
    neighbours, row_points, column_points = _borders(form, side_points, len(packets.clusters_of_ranks))
    return form.phases * packets.borders(neighbours, row_points, column_points) + meeting * meetings


def _borders(form: IterationForm, side_points: int, ranks: int) -> tuple[dict[int, Neighbours], int, int]:
    """Return each rank's neighbours, and how many points its rows and columns have."""
    if form.division == "rows":
        division = MasterAndWorkers(ranks)
        return {rank: division.neighbours(rank) for rank in division.worker_ranks}, side_points, 0
    process_grid = ProcessGrid.of_processes(ranks)
    beside = {rank: process_grid.neighbours(rank) for rank in range(ranks)}
    return beside, -(-side_points // process_grid.columns), -(-side_points // process_grid.rows)
