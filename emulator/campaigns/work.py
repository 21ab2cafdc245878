"""What an application computes in an iteration, as its processes divide it: taken from the applications themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from apps.grid import MasterAndWorkers, ProcessGrid, block_of
from apps.ocean import Basin
from emulator.campaigns.measured_applications import ENSFLOW_MEMBERS, ensemble_share
from emulator.fidelity.calibration import Work
from emulator.model.errors import UnknownName


def largest_share(application: str, grid: int, processors: int) -> Work:
    """The work of the process that has most of it, in a job on a grid of so many points along a side.

    Raises:
        UnknownName: if the application's work is not a matter of grid points.
        InvalidInput: if the grid cannot be divided so.
    """
    return _of(application).largest_share(grid, processors)


def all_updates(application: str, grid: int) -> int:
    """The grid-point updates of all processes together in an iteration.

    Raises:
        UnknownName: as `largest_share`.
    """
    return _of(application).whole(grid).updates


class _Work:
    """How much an application computes: all of it, and the largest share of it."""

    def __init__(self, whole: Callable[[int], Work], largest_share: Callable[[int, int], Work]) -> None:
        self.whole, self.largest_share = whole, largest_share


def _grid(grid: int) -> Work:
    return Work(grid * grid)


def _largest_block(process_grid: ProcessGrid, grid: int) -> Work:
    # Shares grow by no more than one row and column, and the last process has the largest of both.
    return Work(block_of(process_grid.processes - 1, grid, process_grid).points)


def _poisson(grid: int, processors: int) -> Work:
    return _largest_block(ProcessGrid.of_processes(processors), grid)


def _laplace(grid: int, processors: int) -> Work:
    return _largest_block(ProcessGrid.square_of_processes(processors), grid)


def _heat(grid: int, processors: int) -> Work:
    block = MasterAndWorkers(processors).block_of(processors - 1, grid)
    return Work(0 if block is None else block.points)


def _ensemble(grid: int) -> Work:
    basin = Basin(grid)
    return Work(basin.points, ENSFLOW_MEMBERS * basin.steps_per_day)


def _ensflow(grid: int, processors: int) -> Work:
    basin = Basin(grid)
    return Work(basin.points, ensemble_share(grid, processors).members_each * basin.steps_per_day)


_KNOWN: Final[Mapping[str, _Work]] = {
    "poisson": _Work(_grid, _poisson),
    "laplace": _Work(_grid, _laplace),
    "heat": _Work(_grid, _heat),
    "ensflow": _Work(_ensemble, _ensflow),
}


def _of(application: str) -> _Work:
    if application not in _KNOWN:
        raise UnknownName.among("application with work by grid points", application, list(_KNOWN))
    return _KNOWN[application]
