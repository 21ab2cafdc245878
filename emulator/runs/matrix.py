"""What a measurement covers: a matrix of applications, grids, processors and numbers of clusters, laid out as cells.

A *problem* is an application with its grid on a number of processors; its *cells* are its variants over clusters. An
impossible combination is left out with a sentence; a contradictory matrix is an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any, Final, Self

from pydantic import Field, PositiveInt, field_validator, model_validator

from apps.descriptor import ApplicationDescriptor
from apps.registry import application_named, check_program, largest_share
from emulator.fidelity.calibration import predicted_compute_s
from emulator.model.counts import number_of
from emulator.model.documents import DocumentModel, validate
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.interconnects import WhichInterconnect
from emulator.model.job import (
    MAX_COMPONENT_PROCESSORS,
    ArgumentName,
    JobName,
    JobSpecification,
    Numerics,
    ProcessorSpeed,
)
from emulator.model.processor import Processor
from emulator.model.request import RequestKind
from emulator.model.topology import Name, Topology
from emulator.model.traffic import TrafficShare, flows_of

DEFAULT_DILATION: Final = 8.0
DEFAULT_REPEAT: Final = 3
SYNCHRONIZED: Final = "synchronized"
"""The argument by which an application passes a barrier before it communicates."""

MAX_REPEAT: Final = 1000
MAX_DILATION: Final = 10_000
LARGER_BY: Final = 2.0
"""How many times the measurement's dilation a control run at a larger dilation has."""

_COMPUTE_AIM_S: Final = 4.0
_FEWEST_ITERATIONS, _MOST_ITERATIONS = 20, 120
_LONGEST_NAME, _NAME_DIGEST = 64, 12

Values = dict[ArgumentName, int | float | bool | JobName]
Count = Annotated[PositiveInt, Field(le=MAX_COMPONENT_PROCESSORS)]
Counts = Annotated[tuple[Count, ...], Field(min_length=1)]


class Matrix(DocumentModel):
    """What to measure: every combination of its lists, `repeat` times each.

    `clusters` are numbers of clusters, over which a job is spread in equal parts; `splits` are the sizes of parts
    that need not be equal. `iterations` is the length of each run in the application's own unit, `dilation` that of
    all problems (None: both are chosen for each problem). `on` names the clusters in the order in which cells use
    them, part by part; one that is named twice gets two parts. Empty: the topology's order. `traffic` is background
    traffic on access links (`model.traffic`). `arguments` go to every application, `own_arguments` to the one named.
    With `communication` every cell is run synchronized too, with `as_coallocated` one cluster also over the
    interconnect of co-allocated jobs. `processor_speed` divides what computing takes. With sampled `numerics` most
    iterations take their time without computing. With `attribute` the control runs are made that split each extension
    factor into parts, with `check` all is repeated at twice the dilation.
    """

    applications: Annotated[tuple[Name, ...], Field(min_length=1)]
    grids: Counts
    processors: Counts
    clusters: Counts
    splits: tuple[Counts, ...] = ()
    repeat: Annotated[PositiveInt, Field(le=MAX_REPEAT)] = DEFAULT_REPEAT
    iterations: PositiveInt | None = None
    dilation: Annotated[float, Field(gt=0, le=MAX_DILATION)] | None = None
    on: tuple[Name, ...] = ()
    traffic: dict[Name, TrafficShare] = Field(default_factory=dict)
    arguments: Values = Field(default_factory=dict)
    own_arguments: dict[Name, Values] = Field(default_factory=dict)
    communication: bool = False
    as_coallocated: bool = False
    processor_speed: ProcessorSpeed = 1.0
    numerics: Numerics = Numerics.REAL
    attribute: bool = False
    check: bool = False

    @field_validator("applications", "grids", "processors", "clusters", "splits")
    @classmethod
    def _names_nothing_twice(cls, values: tuple[object, ...]) -> tuple[object, ...]:
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} is named twice")
        return values

    @model_validator(mode="after")
    def _sets_arguments_of_its_own_applications(self) -> Self:
        for application in self.own_arguments:
            if application not in self.applications:
                raise ValueError(f"own_arguments: {application!r} is not among the applications measured")
        return self

    @model_validator(mode="after")
    def _splits_what_is_measured(self) -> Self:
        for split in self.splits:
            shown = ",".join(map(str, split))
            if len(split) < 2:
                raise ValueError(f"splits: {shown} is a single part: measure 1 cluster instead")
            if sum(split) not in self.processors:
                raise ValueError(f"splits: {shown} makes {sum(split)} processors, which are not among those measured")
        return self

    @model_validator(mode="after")
    def _attributes_factors(self) -> Self:
        if self.attribute and not (1 in self.clusters and (max(self.clusters) > 1 or self.splits)):
            raise ValueError("attribute: there is a factor to attribute where 1 cluster is measured and another number")
        return self

    @model_validator(mode="after")
    def _can_be_repeated_at_a_larger_dilation(self) -> Self:
        most = MAX_DILATION / LARGER_BY
        if (self.attribute or self.check) and self.dilation is not None and self.dilation > most:
            asked = "attribute" if self.attribute else "check"
            raise ValueError(
                f"{asked}: has runs at {LARGER_BY:g} times the dilation, which may be {MAX_DILATION:g} at most: "
                f"state a dilation of {most:g} or less, not {self.dilation:g}"
            )
        return self

    @property
    def name(self) -> str:
        """The name of a run of this matrix."""
        return "-".join(["communication" if self.communication else "measure", *self.applications])[:64]


@dataclass(frozen=True, slots=True)
class Problem:
    """An application with its grid (points along a side; None if it has none) on a number of processors."""

    application: str
    grid: int | None
    processors: int

    @property
    def shown(self) -> str:
        """The problem in words."""
        grid = "" if self.grid is None else f" grid {self.grid}"
        return f"{self.application}{grid} on {number_of(self.processors, 'processor')}"

    @property
    def name(self) -> str:
        """The beginning of the name of its jobs."""
        grid = "" if self.grid is None else f"-{self.grid}"
        return f"{self.application}{grid}-on-{self.processors}"


@dataclass(frozen=True, slots=True)
class CellVariant:
    """A variant of a problem: the number of clusters, synchronized or not, and the interconnect inside clusters.

    `split` are the sizes of the parts; empty: equal parts.
    """

    clusters: int
    synchronized: bool = False
    interconnect: WhichInterconnect | None = None
    split: tuple[int, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it is run as it is, not synchronized and over the interconnect of its number of clusters."""
        return not self.synchronized and self.interconnect is None

    @property
    def is_single(self) -> bool:
        """Whether extension factors are relative to this variant: an ordinary job in one cluster, not synchronized."""
        return self.clusters == 1 and self.is_plain

    @property
    def suffix(self) -> str:
        """The end of the name of its jobs."""
        as_coallocated = "" if self.interconnect is None else f"-as-{self.interconnect.value}"
        over = f"-split-{'-'.join(map(str, self.split))}" if self.split else f"-over-{self.clusters}"
        return f"{over}{as_coallocated}{f'-{SYNCHRONIZED}' if self.synchronized else ''}"

    @property
    def shown(self) -> str:
        """The variant in words."""
        as_coallocated = "" if self.interconnect is None else f" as {self.interconnect.value}"
        parts = f" as {'+'.join(map(str, self.split))}" if self.split else ""
        return f"{_over(self.clusters)}{parts}{as_coallocated}{', synchronized' if self.synchronized else ''}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A problem in one variant, and the job that is run repeatedly for it."""

    problem: Problem
    variant: CellVariant
    specification: JobSpecification

    @property
    def clusters(self) -> int:
        """How many clusters it is spread over; parts may be placed on the same one."""
        return len(set(self.specification.clusters))

    @property
    def synchronized(self) -> bool:
        """Whether a barrier precedes each border exchange."""
        return self.variant.synchronized

    @property
    def name(self) -> str:
        """The name of its jobs."""
        return self.specification.name

    @property
    def length(self) -> int:
        """The length of its runs, in the application's own unit."""
        return int(self.specification.arguments[application_named(self.problem.application).length])

    def like(self, specification: JobSpecification) -> Cell:
        """Return this cell with runs of the length that a job of another cell of its problem has."""
        return self.of_length(int(specification.arguments[application_named(self.problem.application).length]))

    def of_length(self, length: int) -> Cell:
        """Return this cell with runs of another length."""
        arguments = {**self.specification.arguments, application_named(self.problem.application).length: length}
        return replace(self, specification=self.specification.model_copy(update={"arguments": arguments}))

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that identify a cell in any table of cells."""
        problem = self.problem
        return {
            "application": problem.application,
            "grid": problem.grid,
            "processors": problem.processors,
            "components": self.specification.components,
            "clusters": self.clusters,
        }

    @property
    def shown(self) -> str:
        """The cell in words."""
        together = "" if self.clusters == self.variant.clusters else f", on {'+'.join(self.specification.clusters)}"
        return f"{self.problem.shown} {replace(self.variant, clusters=self.clusters).shown}{together}"


def _over(clusters: int) -> str:
    return f"over {number_of(clusters, 'cluster')}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The cells of a matrix by problem, in the order of running, and why the other combinations are left out."""

    problems: tuple[tuple[Cell, ...], ...]
    left_out: tuple[str, ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells in order."""
        return tuple(cell for cells in self.problems for cell in cells)


def lay_out(matrix: Matrix, topology: Topology) -> Layout:
    """Return the cells of `matrix` on `topology`.

    Raises:
        UnknownName: if there is no such application or cluster.
        InvalidInput: if an argument is not the user's to set, or links cannot carry the traffic.
        ImpossibleRequest: if no combination can be run.
    """
    flows_of(topology, matrix.traffic)
    left_out: list[str] = []
    problems: list[tuple[Cell, ...]] = []
    for application in matrix.applications:
        known = application_named(application)
        _check_arguments(matrix, application, known)
        for problem in _problems(matrix, application, known):
            cells = _cells(matrix, problem, known, topology, left_out)
            if cells:
                problems.append(cells)
    if not problems:
        also = f" (Nor is any of {len(left_out) - 1} other combinations possible.)" if len(left_out) > 1 else ""
        raise ImpossibleRequest(f"{left_out[0]}{also}")
    return Layout(tuple(problems), tuple(left_out))


def _check_arguments(matrix: Matrix, application: str, known: ApplicationDescriptor) -> None:
    given = {**matrix.arguments, **matrix.own_arguments.get(application, {})}
    options = {
        "grid": "--grid", known.length: "--iterations", "iterations": "--iterations", SYNCHRONIZED: "--communication",
    }  # fmt: skip
    for argument, option in options.items():
        if argument in given and (argument != "grid" or known.has_grid):
            raise InvalidInput(f"{argument}: say it with {option}, not with --set.")
    if matrix.communication and not known.synchronizes:
        raise InvalidInput(f"The border exchange of {application!r} is not recorded: measure poisson's communication.")


def _problems(matrix: Matrix, application: str, known: ApplicationDescriptor) -> list[Problem]:
    grids: Sequence[int | None] = matrix.grids if known.has_grid else (None,)
    return [Problem(application, grid, processors) for grid, processors in product(grids, matrix.processors)]


def _cells(
    matrix: Matrix, problem: Problem, known: ApplicationDescriptor, topology: Topology, left_out: list[str]
) -> tuple[Cell, ...]:
    """Return the possible cells of `problem`; add a sentence for each other combination to `left_out`."""
    arguments = {**known.fixed, **matrix.arguments, **matrix.own_arguments.get(problem.application, {})}
    objection = known.objection(problem.grid or 0, problem.processors, arguments)
    if objection is not None:
        left_out.append(f"{problem.shown}: {objection}")
        return ()
    if problem.grid is not None:
        arguments["grid"] = problem.grid
    arguments[known.length] = (
        matrix.iterations or known.measured_length or default_iterations(problem, topology.processor)
    )
    cells: list[Cell] = []
    for variant in _variants(matrix, problem):
        stated = {**arguments, SYNCHRONIZED: True} if variant.synchronized else arguments
        try:
            specification = _specification(matrix, problem, variant, stated, topology)
        except ImpossibleRequest as error:
            if variant.is_plain:
                left_out.append(f"{problem.shown} {variant.shown}: {error}")
            continue
        cells.append(Cell(problem, variant, specification))
    return tuple(cells)


def _variants(matrix: Matrix, problem: Problem) -> list[CellVariant]:
    """Return the variants of a problem, in order: equal parts first, which are not measured again as a split."""
    modes = (False, True) if matrix.communication else (False,)
    found: list[CellVariant] = []
    for clusters in matrix.clusters:
        as_coallocated = matrix.as_coallocated and clusters == 1
        for interconnect in (None, WhichInterconnect.COALLOCATED) if as_coallocated else (None,):
            found += [CellVariant(clusters, synchronized, interconnect) for synchronized in modes]
    for split in matrix.splits:
        is_known = len(set(split)) == 1 and len(split) in matrix.clusters
        if sum(split) == problem.processors and not is_known:
            found += [CellVariant(len(split), synchronized, None, split) for synchronized in modes]
    return found


def _specification(
    matrix: Matrix, problem: Problem, variant: CellVariant, arguments: Values, topology: Topology
) -> JobSpecification:
    """Return the job of a cell: its components on the first clusters, equal ones unless they are stated."""
    clusters = variant.clusters
    names = list(matrix.on) or topology.cluster_names
    if clusters > len(names):
        where = "named by --on" if matrix.on else f"of topology {topology.name!r}"
        raise ImpossibleRequest(f"The job cannot spread over {clusters} clusters: {len(names)} are {where}.")
    if problem.processors % clusters and not variant.split:
        raise ImpossibleRequest(
            f"{problem.processors} processors do not divide equally among {clusters} clusters (choose a multiple)."
        )
    specification = validate(
        {
            "name": _job_name(problem, variant),
            "application": problem.application,
            "arguments": arguments,
            "components": variant.split or (problem.processors // clusters,) * clusters,
            "request": RequestKind.FIXED,
            "clusters": tuple(names[:clusters]),
            "interconnect": variant.interconnect,
            "processor_speed": matrix.processor_speed,
            "numerics": matrix.numerics,
        },
        JobSpecification,
        source="measure",
    )
    check_program(specification.application, specification.arguments, specification.processor_speed)
    specification.request_in(topology)
    return specification


def _job_name(problem: Problem, variant: CellVariant) -> str:
    """Return the name of a cell's jobs; one that many parts make too long ends with a hash of all of it."""
    name = f"{problem.name}{variant.suffix}"
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_NAME_DIGEST]
    return f"{name[: _LONGEST_NAME - _NAME_DIGEST - 1]}-{digest}"


def default_iterations(problem: Problem, processor: Processor) -> int:
    """Return iterations that compute for some emulated seconds: enough for a mean, short enough to wait."""
    if processor.unpaced or problem.grid is None:
        return _MOST_ITERATIONS
    work = largest_share(problem.application, problem.grid, problem.processors)
    compute_s = predicted_compute_s(processor, problem.application, work)
    return round(min(max(_COMPUTE_AIM_S / compute_s, _FEWEST_ITERATIONS), _MOST_ITERATIONS))
