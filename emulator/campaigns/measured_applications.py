"""What measuring must know of each application: how the length of a run is stated, and which problems cannot be run.

What an application computes, and every argument it takes, is its own affair (``apps/``); here stands only what a
matrix of measurements chooses for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from apps.ensemble import EnsembleShare
from apps.grid import MasterAndWorkers, ProcessGrid, block_of, square_block_of
from apps.ocean import Basin
from emulator.model.errors import InvalidInput, UnknownName

ArgumentValue = int | float | bool | str
Arguments = Mapping[str, ArgumentValue]
Objection = Callable[[int, int, Arguments], str | None]
"""Why a grid of so many points along a side cannot be run on so many processors; None if it can."""

ENSFLOW_MEMBERS: Final = 60
"""Members of the ensemble, as in the measurement study on DAS-2."""

_ONE_ENSFLOW_CYCLE_DAYS: Final = 10


def ensemble_share(grid: int, processors: int, members: int = ENSFLOW_MEMBERS) -> EnsembleShare:
    """How Ensflow divides its members.

    Raises:
        InvalidInput: if it would refuse the grid or the number of processors.
    """
    return EnsembleShare(members, Basin(grid).points, processors)


def _undivided(grid: int, processors: int, arguments: Arguments) -> str | None:
    return _refusal(lambda: block_of(0, grid, ProcessGrid.of_processes(processors)))


def _undivided_square(grid: int, processors: int, arguments: Arguments) -> str | None:
    return _refusal(lambda: square_block_of(0, grid, processors))


def _too_few_rows(grid: int, processors: int, arguments: Arguments) -> str | None:
    return _refusal(lambda: MasterAndWorkers(processors).block_of(processors - 1, grid))


def _refusal(decompose: Callable[[], object]) -> str | None:
    """The sentence with which the application itself would refuse."""
    try:
        decompose()
    except InvalidInput as error:
        return str(error)
    return None


def _undivided_ensemble(grid: int, processors: int, arguments: Arguments) -> str | None:
    members = arguments.get("members", ENSFLOW_MEMBERS)
    # What is no number of members is refused by the application.
    return _refusal(lambda: ensemble_share(grid, processors, members)) if isinstance(members, int) else None


def _none(grid: int, processors: int, arguments: Arguments) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class MeasuredApplication:
    """An application as a matrix of measurements sees it.

    `length` names the argument that says how long a run is, `default_length` its value unless asked otherwise (None:
    chosen by what the iterations compute). `fixed` arguments hold unless a user sets them. `synchronizes` tells whether
    the application can be asked to pass a barrier before each communication, and records its border exchange.
    """

    objection: Objection
    length: str = "iterations"
    default_length: int | None = None
    fixed: Arguments = field(default_factory=dict)
    has_grid: bool = True
    synchronizes: bool = False


_KNOWN: Final[Mapping[str, MeasuredApplication]] = {
    "poisson": MeasuredApplication(_undivided, fixed={"tolerance": 0}, synchronizes=True),
    "laplace": MeasuredApplication(_undivided_square, fixed={"tolerance": 0}),
    "heat": MeasuredApplication(_too_few_rows, length="steps"),
    "ensflow": MeasuredApplication(_undivided_ensemble, length="days", default_length=_ONE_ENSFLOW_CYCLE_DAYS),
    "synthetic": MeasuredApplication(_none, default_length=100, has_grid=False),
}


def measured_application(name: str) -> MeasuredApplication:
    """What is known of the application called `name`.

    Raises:
        UnknownName: if there is none.
    """
    try:
        return _KNOWN[name]
    except KeyError:
        raise UnknownName.among("application", name, list(_KNOWN)) from None
