"""The descriptors of all applications, and what may be submitted of them.

A new application is added here, as a module of `apps`, and on the page docs/applications.md, which also says why the
forms of the iterations are as they are. Needs the standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from apps.basin import FIELDS, BasinGrid
from apps.descriptor import ApplicationDescriptor, Arguments, GridWork, IterationForm, StatedWork, Work
from apps.ensemble import ANALYSIS_EVERY_DAYS, DAYS, MEMBERS, EnsembleShare
from apps.grid import MasterAndWorkers, ProcessGrid, block_of, square_block_of
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.units import BYTES_PER_POINT

LAPLACE_COMPARED_EVERY: Final = 20
"""Iterations of Laplace from one comparison of all points to the next."""

_ITERATIONS: Final = "iterations"
"""The argument by which every application is told its length by hand, whatever its own name of it is."""

TESTBED_ARGUMENTS: Final = frozenset(
    {
        "dilation",
        "clusters",
        "components",
        "start-announced",
        "start-at",
        "save",
        "native",
        "in-cache-ns-per-point",
        "out-of-cache-ns-per-point",
        "cache-bytes",
        "weight",
        "interconnect",
        "memory",
        "per-node",
        "collectives",
        "clocks-ahead-s",
        "far-delays-s",
        "far-stretch",
        "numerics",
        "shared-nodes",
    }
)
"""Arguments that the testbed sets, or that have no meaning where a job runs."""


def _grid_points(side_points: int) -> Work:
    return Work(side_points**2)


def _largest_block(side_points: int, process_grid: ProcessGrid) -> Work:
    # Shares grow by no more than one row and column, and the last process has the largest of both.
    block = block_of(process_grid.processes - 1, side_points, process_grid)
    return Work(block.points, row_points=block.columns)


def _poisson_share(side_points: int, processors: int, arguments: Arguments) -> Work:
    return _largest_block(side_points, ProcessGrid.of_processes(processors))


def _check_poisson(side_points: int, processors: int, arguments: Arguments) -> None:
    block_of(0, side_points, ProcessGrid.of_processes(processors))


def _laplace_share(side_points: int, processors: int, arguments: Arguments) -> Work:
    return _largest_block(side_points, ProcessGrid.square_of_processes(processors))


def _check_laplace(side_points: int, processors: int, arguments: Arguments) -> None:
    square_block_of(0, side_points, processors)


def _heat_share(side_points: int, processors: int, arguments: Arguments) -> Work:
    block = MasterAndWorkers(processors).block_of(processors - 1, side_points)
    return Work(0 if block is None else block.points, row_points=side_points)


def _check_heat(side_points: int, processors: int, arguments: Arguments) -> None:
    MasterAndWorkers(processors).block_of(processors - 1, side_points)


def _grid_there_and_back(side_points: int) -> int:
    return 2 * side_points**2 * BYTES_PER_POINT


def _ensemble_work(side_points: int) -> Work:
    basin = BasinGrid(side_points)
    return Work(basin.points, MEMBERS * basin.steps_per_day)


def _members(arguments: Arguments) -> int:
    members = arguments.get("members", MEMBERS)
    # The application itself refuses what is no number of members.
    return members if isinstance(members, int) else MEMBERS


def _ensflow_share(side_points: int, processors: int, arguments: Arguments) -> Work:
    basin = BasinGrid(side_points)
    share = EnsembleShare(_members(arguments), basin.points, processors)
    return Work(basin.points, share.members_each * basin.steps_per_day)


def _check_ensflow(side_points: int, processors: int, arguments: Arguments) -> None:
    EnsembleShare(_members(arguments), BasinGrid(side_points).points, processors)


def _ensemble_bytes(side_points: int, arguments: Arguments) -> int:
    return _members(arguments) * FIELDS * side_points**2 * BYTES_PER_POINT


POISSON: Final = ApplicationDescriptor(
    name="poisson",
    module="apps.poisson",
    class_name="Poisson",
    summary="Poisson's equation by red-black Gauss-Seidel",
    example="--grid 400 --iterations 100",
    work=GridWork(_poisson_share, _grid_points),
    form=IterationForm(),
    arguments=frozenset({"grid", "amplitude", "iterations", "tolerance", "exchange", "synchronized"}),
    check=_check_poisson,
    fixed={"tolerance": 0},
    synchronizes=True,
)

LAPLACE: Final = ApplicationDescriptor(
    name="laplace",
    module="apps.laplace",
    class_name="Laplace",
    summary="Laplace's equation on a square process topology",
    example="--grid 400 --iterations 100",
    work=GridWork(_laplace_share, _grid_points),
    form=IterationForm(phases=2, meeting_phases=2 * LAPLACE_COMPARED_EVERY, exchange="overlapped"),
    arguments=frozenset({"grid", "amplitude", "iterations", "tolerance", "relaxation", "exchange"}),
    check=_check_laplace,
    fixed={"tolerance": 0},
)

HEAT: Final = ApplicationDescriptor(
    name="heat",
    module="apps.heat",
    class_name="Heat",
    summary="the heat equation in rows that a master distributes",
    example="--grid 400 --steps 100",
    work=GridWork(_heat_share, _grid_points),
    form=IterationForm(meeting_phases=None, division="rows"),
    arguments=frozenset({"grid", "amplitude", "steps", "ratio", "edges", "distributed-share", "exchange"}),
    check=_check_heat,
    length="steps",
    once_bytes=_grid_there_and_back,
    once_share="distributed-share",
)

ENSFLOW: Final = ApplicationDescriptor(
    name="ensflow",
    module="apps.ensflow",
    class_name="Ensflow",
    summary="an ensemble of ocean states with a Kalman update",
    example="--grid 64",
    work=GridWork(_ensflow_share, _ensemble_work),
    form=IterationForm(
        meeting_phases=ANALYSIS_EVERY_DAYS,
        meeting_argument="analysis-every-days",
        all_to_all_bytes=_ensemble_bytes,
        arrays=2 * FIELDS,
        division="none",
    ),
    arguments=frozenset({"grid", "members", "days", "analysis-every-days", "currents", "seed"}),
    check=_check_ensflow,
    length="days",
    default_length=DAYS,
    measured_length=ANALYSIS_EVERY_DAYS,
)

SYNTHETIC_MESSAGE_BYTES: Final = 800
"""The size of each message of a synthetic job that states none."""

SYNTHETIC: Final = ApplicationDescriptor(
    name="synthetic",
    module="apps.synthetic",
    class_name="Synthetic",
    summary="computation and messages as its arguments state them",
    example="--points 10000",
    work=StatedWork(points="points", duration_s="compute-s"),
    form=IterationForm(
        meeting_phases=None, meeting_argument="collective-every", exchange="overlapped", division="none"
    ),
    arguments=frozenset(
        {"iterations", "compute-s", "points", "pattern", "message-bytes", "collective-every", "collective-bytes"}
    ),
    default_length=100,
    measured_length=100,
)

APPLICATIONS: Final[Mapping[str, ApplicationDescriptor]] = {
    descriptor.name: descriptor for descriptor in (POISSON, LAPLACE, HEAT, ENSFLOW, SYNTHETIC)
}
"""Every application by its name."""


def application_named(name: str) -> ApplicationDescriptor:
    """Return the descriptor of the application called `name`.

    Raises:
        UnknownName: if there is none.
    """
    try:
        return APPLICATIONS[name.lower()]
    except KeyError:
        raise UnknownName.among("application", name, list(APPLICATIONS)) from None


def largest_share(application: str, side_points: int, processors: int) -> Work:
    """Return the work in an iteration of the process that has most of it, in a job on `processors` without arguments.

    Raises:
        UnknownName: if the application's work does not follow from a grid.
        InvalidInput: if the grid cannot be divided over the processors.
    """
    return _grid_work(application).largest_share(side_points, processors, {})


def all_updates(application: str, side_points: int) -> int:
    """Return the number of grid-point updates of all processes together in an iteration.

    Raises:
        UnknownName: as `largest_share`.
    """
    return _grid_work(application).whole(side_points).updates


def check_arguments(arguments: Collection[str]) -> None:
    """Check that no argument is one that the testbed sets itself.

    Raises:
        InvalidInput: if one is.
    """
    for name in arguments:
        if name in TESTBED_ARGUMENTS:
            raise InvalidInput(f"arguments.{name}: the testbed sets this argument itself; leave it out.")


def check_program(application: str, arguments: Collection[str], processor_speed: float = 1.0) -> None:
    """Check that a job may name this application and set these arguments, on processors of that speed.

    Raises:
        UnknownName: if there is no such application.
        InvalidInput: if the testbed sets one of the arguments itself or knows it by another name, the application has
            no such argument, or it states times that would have to change with the speed.
    """
    descriptor = application_named(application)
    check_arguments(arguments)
    if _ITERATIONS in arguments and descriptor.length != _ITERATIONS:
        raise InvalidInput(
            f"arguments.{_ITERATIONS}: a job of {descriptor.name} states its length as {descriptor.length}; use that "
            "name."
        )
    unknown = sorted(set(arguments) - descriptor.arguments)
    if unknown:
        known = ", ".join(sorted(descriptor.arguments))
        raise InvalidInput(
            f"arguments.{unknown[0]}: {descriptor.name} has no such argument (known: {known}); leave it out."
        )
    work = descriptor.work
    if processor_speed != 1.0 and isinstance(work, StatedWork) and work.duration_s in arguments:
        raise InvalidInput(
            f"processor_speed: {processor_speed:g} would not change how long {descriptor.name} computes, which "
            f"{work.duration_s} states in seconds; leave one of them out, or state {work.points}."
        )


def _grid_work(application: str) -> GridWork:
    known = {name: each.work for name, each in APPLICATIONS.items() if isinstance(each.work, GridWork)}
    if application not in known:
        raise UnknownName.among("application with work by grid points", application, list(known))
    return known[application]
