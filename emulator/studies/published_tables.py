"""The tables of the measurement study on DAS-2 that can be repeated, and the options of a repetition.

A table is a list of problems, each run in the study's setups: in one cluster under PBS, and under Globus over one
cluster and several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Final

from pydantic import Field, PositiveInt, field_validator

from emulator.model.documents import DocumentModel
from emulator.model.job import ProcessorSpeed
from emulator.model.names import named_among, spelled
from emulator.runs.matrix import DEFAULT_REPEAT, MAX_REPEAT, Count, Problem
from emulator.studies.published_runtimes import TEN_RUNS_PROCESSORS, published_runtimes

_ENSFLOW_GRID: Final = 128


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of the measurement study: its problems, and the setups in which each was run."""

    title: str
    source: str
    problems: tuple[Problem, ...]
    clusters: tuple[int, ...]
    as_coallocated: bool = False
    communication: bool = False
    processor_speed: float = 1.0

    @property
    def heading(self) -> str:
        """Its title, and where it was printed."""
        return f"{self.title} ({self.source})"


def _published_problems(application: str, *more: Problem) -> tuple[Problem, ...]:
    found = [runtime for runtime in published_runtimes() if runtime.application == application]
    grid = _ENSFLOW_GRID if application == "ensflow" else None
    problems = (Problem(application, runtime.grid or grid, runtime.processors) for runtime in found)
    return tuple(dict.fromkeys([*problems, *more]))


TABLES: Final[Mapping[str, PublishedTable]] = {
    "poisson-runtimes": PublishedTable(
        "Runtimes of Poisson", "Tables 2 and 3", _published_problems("poisson"), (1, 2, 4), as_coallocated=True
    ),
    "border-exchange": PublishedTable(
        "Communication times of Poisson",
        "Tables 9 and 10",
        tuple(Problem("poisson", grid, TEN_RUNS_PROCESSORS) for grid in (100, 400, 4000)),
        (1, 2, 4),
        as_coallocated=True,
        communication=True,
    ),
    "ensflow-runtimes": PublishedTable(
        "Runtimes of Ensflow",
        "Table 5",
        _published_problems("ensflow", Problem("ensflow", _ENSFLOW_GRID, 60)),
        (1, 2, 3, 4),
        processor_speed=60.0,
    ),
}
"""The tables that can be reproduced, by name."""


class Reproduction(DocumentModel):
    """The table to repeat, with its options; grids and processors choose its problems, or similar ones.

    `dilation` and `iterations` are chosen for each problem unless given.
    """

    name: str
    grids: tuple[Count, ...] = ()
    processors: tuple[Count, ...] = ()
    repeat: Annotated[PositiveInt, Field(le=MAX_REPEAT)] = DEFAULT_REPEAT
    iterations: PositiveInt | None = None
    dilation: Annotated[float, Field(gt=0, le=10_000)] | None = None
    processor_speed: ProcessorSpeed | None = None

    @field_validator("name")
    @classmethod
    def _as_spelled(cls, name: str) -> str:
        return spelled(name, TABLES) or name

    @property
    def table(self) -> PublishedTable:
        """The table it repeats.

        Raises:
            UnknownName: if there is none of that name.
        """
        return TABLES[named_among("published table", self.name, TABLES)]

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems to run: those of the table, or of it those that were asked for and others like them.

        A grid that it lacks is run on 16 processors, and processors that it lacks on grid 4000, unless both are named.
        """
        known = self.table.problems
        application = known[0].application
        if self.grids and self.processors:
            return tuple(Problem(application, *both) for both in product(self.grids, self.processors))
        if self.grids:
            other = [Problem(application, grid, TEN_RUNS_PROCESSORS) for grid in self.grids]
            return _of(self.grids, known, lambda problem: problem.grid, other)
        if self.processors:
            other = [Problem(application, known[-1].grid, processors) for processors in self.processors]
            return _of(self.processors, known, lambda problem: problem.processors, other)
        return known


def _of(
    requested: Sequence[int], known: Sequence[Problem], key: Callable[[Problem], int | None], other: Sequence[Problem]
) -> tuple[Problem, ...]:
    """Return the `known` problems with each `requested` value of `key`; where there are none, that of `other`."""
    found: list[Problem] = []
    for value, alternative in zip(requested, other, strict=True):
        found += [problem for problem in known if key(problem) == value] or [alternative]
    return tuple(found)
