"""What is known of an application without running it: the form of a descriptor.

Needs the standard library only: the broker, the planner and a node's ranks all read descriptors. `apps.registry` holds
one for each application.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from emulator.model.errors import InvalidInput

ArgumentValue = int | float | bool | str
Arguments = Mapping[str, ArgumentValue]
"""An application's own arguments by name, without their hyphens in front."""

ExchangeMode = Literal["steps", "overlapped"]
"""Borders go to one direction after another, or to all at once."""
EXCHANGE_MODES: tuple[ExchangeMode, ...] = get_args(ExchangeMode)


@dataclass(frozen=True, slots=True)
class Work:
    """The computation of an iteration: a working set of `points` in rows of `row_points`, swept over `sweeps` times.

    Raises:
        InvalidInput: if that is nothing.
    """

    points: int
    sweeps: int = 1
    row_points: int = 0

    def __post_init__(self) -> None:
        if self.points < 1 or self.sweeps < 1:
            raise InvalidInput(f"An iteration of {self.sweeps} sweeps over {self.points} points computes nothing.")

    @property
    def updates(self) -> int:
        """The number of grid-point updates."""
        return self.points * self.sweeps


@dataclass(frozen=True, slots=True)
class GridWork:
    """Work that follows from a square grid, given as its number of points along a side.

    `largest_share(side_points, processors, arguments)` is the work of the process that has most of it in a job with
    these arguments; it raises `InvalidInput` if the grid cannot be divided over the processors. `whole(side_points)` is
    the work of all processes together, unless arguments change it.
    """

    largest_share: Callable[[int, int, Arguments], Work]
    whole: Callable[[int], Work]


@dataclass(frozen=True, slots=True)
class StatedWork:
    """Work of each process that the job's arguments state: as grid-point updates, or as emulated seconds.

    The fields name those two arguments.
    """

    points: str
    duration_s: str


@dataclass(frozen=True, slots=True)
class IterationForm:
    """The form of an application's iterations.

    An iteration has `phases` compute phases that share its work equally, and as many border exchanges, in the mode
    `exchange` unless the job's arguments say otherwise. All ranks meet in a reduction after every `meeting_phases`
    phases (None: never), or as many as the argument called `meeting_argument` states. If `all_to_all_bytes` is given,
    each meeting also has two all-to-all exchanges; it takes the grid's points along a side and the job's arguments, and
    returns the bytes of one such exchange in total. Each rank holds `arrays` arrays over its part of the grid.
    `division` says how the processes divide the grid; with `none` no borders are exchanged.
    """

    phases: int = 1
    meeting_phases: int | None = 1
    exchange: ExchangeMode = "steps"
    all_to_all_bytes: Callable[[int, Arguments], int] | None = None
    arrays: int = 2
    division: Literal["blocks", "rows", "none"] = "blocks"
    meeting_argument: str | None = None

    def phases_to_meeting(self, arguments: Arguments) -> int | None:
        """Return the phases from one meeting to the next of a job with these arguments; None if it never meets."""
        stated = None if self.meeting_argument is None else arguments.get(self.meeting_argument)
        # The application itself refuses what is no number of phases.
        return stated if isinstance(stated, int) and stated > 0 else self.meeting_phases

    def iterations_to_communication(self, arguments: Arguments) -> int:
        """Return the iterations in which a job with these arguments communicates once: 1 unless it only meets."""
        only_meets = self.division == "none" and self.all_to_all_bytes is not None
        phases = self.phases_to_meeting(arguments) if only_meets else None
        return 1 if phases is None else max(1, phases // self.phases)


@dataclass(frozen=True, slots=True)
class ApplicationDescriptor:
    """Everything that other packages must know of an application.

    `module` and `class_name` say where its code is; `summary` and `example` appear in its `--help`. `arguments` names
    all that a job may state. `check(side_points, processors, arguments)` raises `InvalidInput` if the problem cannot
    be run. `length` names the argument that states how long a run is, `default_length` its value in a job that states none
    (None: there is none), and `measured_length` that in a measurement (None: it is chosen by the work of an iteration).
    `fixed` arguments hold in measurements unless a user sets them. `synchronizes` tells whether the application can
    pass a barrier before each communication, and records its border exchange.

    Besides its iterations a job may pass data on once: `once_bytes(side_points)` are the bytes that go from one process
    to the others or back, and the argument called `once_share` states which share of them really does.
    """

    name: str
    module: str
    class_name: str
    summary: str
    example: str
    work: GridWork | StatedWork
    form: IterationForm
    arguments: frozenset[str]
    check: Callable[[int, int, Arguments], object] | None = None
    length: str = "iterations"
    default_length: int | None = None
    measured_length: int | None = None
    fixed: Arguments = field(default_factory=dict)
    synchronizes: bool = False
    once_bytes: Callable[[int], int] | None = None
    once_share: str | None = None

    @property
    def has_grid(self) -> bool:
        """Whether a job of this application states a grid."""
        return isinstance(self.work, GridWork)

    def objection(self, side_points: int, processors: int, arguments: Arguments) -> str | None:
        """Return the sentence with which the application would refuse this problem, or None if it can be run."""
        if self.check is None:
            return None
        try:
            self.check(side_points, processors, arguments)
        except InvalidInput as error:
            return str(error)
        return None
