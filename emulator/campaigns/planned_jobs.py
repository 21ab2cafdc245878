"""From a job's specification, and where its components are, to what the planner must know of it.

What an application computes comes from ``work``, how it divides its grid from the application itself; here stands how
often its phases, its border exchanges and its meetings come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from apps.grid import MasterAndWorkers, Neighbours, ProcessGrid
from emulator.campaigns.measured_applications import ENSFLOW_MEMBERS, measured_application
from emulator.campaigns.planned_traffic import Part, Traffic, Ways
from emulator.campaigns.work import largest_share
from emulator.fidelity.plan_costs import MessagesOver
from emulator.fidelity.plan_jobs import PlannedJob
from emulator.model.applications import check_program
from emulator.model.interconnects import Interconnect
from emulator.model.job import JobSpecification
from emulator.model.processor import BYTES_PER_POINT, Processor
from emulator.model.topology import Topology

UNSTATED_ITERATIONS: Final = 1000
"""How long a job is taken to be that ends when it has converged: nobody knows before."""

_STEPS: Final = {"steps": 4, "overlapped": 1}
_ENSFLOW_FIELDS: Final = 3
_ENSFLOW_ANALYSIS_EVERY_DAYS: Final = 10
_SYNTHETIC_POINTS: Final = 1
_AT_ONCE_BESIDE_A_LINK: Final = 2


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of an application's iterations.

    An iteration has `phases` compute phases that share its work, and as many border exchanges, in the mode `exchange`
    unless its arguments say otherwise. All ranks meet after every `meeting_phases` phases (None: never). A rank holds
    `arrays` arrays over its part of the grid. `grid` says how processes divide it.
    """

    phases: int = 1
    meeting_phases: int | None = 1
    exchange: Literal["steps", "overlapped"] = "steps"
    arrays: int = 2
    grid: Literal["blocks", "rows", "none"] = "blocks"


_FORMS: Final[Mapping[str, _Form]] = {
    "poisson": _Form(),
    "laplace": _Form(phases=2, meeting_phases=40, exchange="overlapped"),
    "heat": _Form(meeting_phases=None, grid="rows"),
    "ensflow": _Form(meeting_phases=_ENSFLOW_ANALYSIS_EVERY_DAYS, arrays=2 * _ENSFLOW_FIELDS, grid="none"),
    "synthetic": _Form(exchange="overlapped", grid="none"),
}
"""Every application; docs/applications.md says of each why."""


def planned_job(specification: JobSpecification, parts: Sequence[Part], topology: Topology) -> PlannedJob:
    """The job of `specification` with its components in `parts` (clusters and sizes, in the order of the ranks).

    Raises:
        InvalidInput: if the job cannot be run so.
    """
    check_program(specification)
    application, arguments = specification.application, specification.arguments
    known, form = measured_application(application), _FORMS[application]
    clusters = {cluster for cluster, _ in parts}
    ranks = sum(size for _, size in parts)
    interconnect = topology.interconnects.of(len(clusters), specification.interconnect)
    grid = arguments.get("grid", 0)
    side_points = grid if isinstance(grid, int) else 0
    updates = _updates(application, side_points, ranks, arguments)
    traffic = _traffic(application, form, side_points, Ways(topology, tuple(parts), interconnect), arguments)
    iterations = arguments.get(known.length, known.default_length or UNSTATED_ITERATIONS)
    waking = _waking(form, side_points, Ways(topology, tuple(parts), interconnect))
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


def _updates(application: str, side_points: int, ranks: int, arguments: Mapping[str, object]) -> _Updates:
    if not measured_application(application).has_grid:
        points, stated_s = arguments.get("points", _SYNTHETIC_POINTS), arguments.get("compute-s")
        return _Updates(
            int(points) if isinstance(points, int | float) else _SYNTHETIC_POINTS,
            stated_s=float(stated_s) if isinstance(stated_s, int | float) else None,
        )
    share = largest_share(application, side_points, ranks)
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


def _waking(form: _Form, side_points: int, ways: Ways) -> Counter[str]:
    """By cluster, how many ranks wake for the end of each phase, since not all that they send is paced.

    Over one stated interconnect none do. Between clusters those do that have a neighbour in another, and each cluster's
    first, through which the reduction goes.
    """
    cluster_of = ways.clusters_of_ranks
    none_wakes = Counter(dict.fromkeys(cluster_of, 0))
    if ways.interconnect is None:
        return Counter(cluster_of)
    if len(none_wakes) == 1:
        return none_wakes
    if form.grid == "none":
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


def _together(form: _Form, clusters: int, waking: int) -> int:
    """How many ranks of a cluster wake at the same moment, of so many that wake.

    Where all meet after each phase they all begin the next one together. Where they do not, those that wait for another
    cluster go on as its messages come in, one after another through the access link.
    """
    meet = form.meeting_phases == 1 or clusters == 1
    return waking if meet else min(waking, _AT_ONCE_BESIDE_A_LINK)


def _traffic(application: str, form: _Form, side_points: int, ways: Ways, arguments: Mapping[str, object]) -> Traffic:
    ranks = len(ways.clusters_of_ranks)
    if application == "ensflow":
        state_bytes = _ENSFLOW_FIELDS * side_points**2 * BYTES_PER_POINT
        analysis = ways.all_to_all(ENSFLOW_MEMBERS * state_bytes).times(2) + ways.reduction()
        return analysis.times(1 / _ENSFLOW_ANALYSIS_EVERY_DAYS)
    meetings = 0.0 if form.meeting_phases is None else form.phases / form.meeting_phases
    if form.grid == "none":
        return ways.reduction().times(meetings)
    steps = _STEPS.get(str(arguments.get("exchange", form.exchange)), _STEPS["steps"])
    neighbours, row_points, column_points = _borders(form, side_points, ranks)
    exchange = ways.borders(neighbours, row_points, column_points, steps)
    return exchange.times(form.phases) + ways.reduction().times(meetings)


def _borders(form: _Form, side_points: int, ranks: int) -> tuple[dict[int, Neighbours], int, int]:
    """Each rank's neighbours, and how many points its rows and columns have."""
    if form.grid == "rows":
        division = MasterAndWorkers(ranks)
        return {rank: division.neighbours(rank) for rank in division.worker_ranks}, side_points, 0
    process_grid = ProcessGrid.of_processes(ranks)
    beside = {rank: process_grid.neighbours(rank) for rank in range(ranks)}
    return beside, -(-side_points // process_grid.columns), -(-side_points // process_grid.rows)
