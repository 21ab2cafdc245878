"""The runtimes and communication times that the measurement study on DAS-2 printed (``workloads/reference``), by setup.

"A Measurement-Based Simulation Study of Processor Co-Allocation in Multicluster Systems", Tables 2 to 5, 9 and 10. Jobs
in one cluster ran under PBS, over Myrinet; under Globus, over Ethernet, they ran in one cluster or spread over several.
Where both a mean of ten runs and a single run were printed, the mean comes first: for 16 processors and grid 4000 the
single run under PBS lies outside the ten.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Final, Self

from emulator.model.counts import number_of
from emulator.model.errors import UnknownName
from emulator.model.interconnects import WhichInterconnect
from emulator.model.project import PROJECT_ROOT

REFERENCE: Final = PROJECT_ROOT / "workloads" / "reference"
TEN_RUNS_PROCESSORS: Final = 16
ENSFLOW_ITERATIONS: Final = 20
"""Days that Ensflow ran for, a day an iteration; its grid was not printed."""


class Setup(StrEnum):
    """A setup of the study: the middleware and the number of clusters of a job."""

    PBS_1 = "pbs-1"
    GLOBUS_1 = "globus-1"
    GLOBUS_2 = "globus-2"
    GLOBUS_3 = "globus-3"
    GLOBUS_4 = "globus-4"

    @classmethod
    def of(cls, clusters: int, *, as_coallocated: bool) -> Self | None:
        """Return the setup over that many clusters; None if the study had none."""
        name = f"{'globus' if clusters > 1 or as_coallocated else 'pbs'}-{clusters}"
        return next((setup for setup in cls if setup.value == name), None)

    @property
    def clusters(self) -> int:
        """How many clusters the job is spread over."""
        return int(self.value[-1])

    @property
    def interconnect(self) -> WhichInterconnect:
        """What carries its messages inside clusters: only PBS could use Myrinet."""
        return WhichInterconnect.SINGLE_CLUSTER if self is Setup.PBS_1 else WhichInterconnect.COALLOCATED


@dataclass(frozen=True, slots=True)
class PublishedRuntime:
    """A printed runtime; `grid` is None where it was not printed, `source` says where the runtime was."""

    application: str
    grid: int | None
    processors: int
    setup: Setup
    iterations: int
    runtime_s: float
    source: str

    @property
    def iteration_s(self) -> float:
        """Seconds of an iteration."""
        return self.runtime_s / self.iterations


@cache
def published_runtimes() -> tuple[PublishedRuntime, ...]:
    """Return all published runtimes, means of several runs before single runs."""
    return (*_ten_runs(), *_single_runs(), *_ensflow())


def find_published(application: str, grid: int | None, processors: int, setup: Setup) -> PublishedRuntime | None:
    """Return the published runtime of that job; None if there is none."""
    for runtime in published_runtimes():
        same = (runtime.application, runtime.processors, runtime.setup) == (application, processors, setup)
        if same and runtime.grid in (None, grid):
            return runtime
    return None


def published_runtime(application: str, grid: int, processors: int) -> PublishedRuntime:
    """Return the published runtime of that job in one cluster, under PBS.

    Raises:
        UnknownName: if nothing was; the message lists what was.
    """
    found = find_published(application, grid, processors, Setup.PBS_1)
    if found is not None:
        return found
    known = [runtime for runtime in published_runtimes() if runtime.setup is Setup.PBS_1]
    raise UnknownName.among(
        "published runtime of", _described(application, grid, processors),
        list(dict.fromkeys(_described(runtime.application, runtime.grid, runtime.processors) for runtime in known)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishedCommunication:
    """A printed total communication time of Poisson on 16 processors (Tables 9 and 10), of all its iterations."""

    iterations: int
    communication_s: float

    @property
    def iteration_s(self) -> float:
        """Seconds of an iteration."""
        return self.communication_s / self.iterations


def find_communication(
    application: str, grid: int | None, processors: int, setup: Setup, *, synchronized: bool
) -> PublishedCommunication | None:
    """Return the published communication time of that job; None if there is none."""
    if (application, processors) != ("poisson", TEN_RUNS_PROCESSORS):
        return None
    return _communication().get((grid, setup, synchronized))


@cache
def _communication() -> Mapping[tuple[int | None, Setup, bool], PublishedCommunication]:
    columns = {True: "synchronized_s", False: "non_synchronized_s"}
    found: dict[tuple[int | None, Setup, bool], PublishedCommunication] = {
        (int(row["grid"]), Setup(row["setup"]), synchronized): PublishedCommunication(
            int(row["iterations"]), float(row[column])
        )
        for row in _rows("das2_poisson_border_exchange_4x4.csv")
        for synchronized, column in columns.items()
    }
    return MappingProxyType(found)


def _described(application: str, grid: int | None, processors: int) -> str:
    return f"{application}{'' if grid is None else f' grid {grid}'} on {number_of(processors, 'processor')}"


def _ten_runs() -> Iterator[PublishedRuntime]:
    for row in _rows("das2_poisson_runtime_4x4.csv"):
        setup = Setup(row["setup"])
        yield PublishedRuntime(
            "poisson", int(row["grid"]), TEN_RUNS_PROCESSORS, setup, int(row["iterations"]),
            float(row["runtime_avg_s"]), f"Table 3, {_middleware(setup)}, mean of ten runs",
        )  # fmt: skip


def _single_runs() -> Iterator[PublishedRuntime]:
    for row in _rows("das2_poisson_runtime_by_processors.csv"):
        setup = Setup(row["setup"])
        yield PublishedRuntime(
            "poisson", int(row["grid"]), int(row["processors"]), setup, int(row["iterations"]),
            float(row["runtime_s"]), f"Table 2, {_middleware(setup)}, a single run",
        )  # fmt: skip


def _ensflow() -> Iterator[PublishedRuntime]:
    for row in _rows("das2_execution_times_for_simulation.csv"):
        clusters = int(row["components"])
        setup = Setup.of(clusters, as_coallocated=False)
        if row["application"] == "ensflow" and setup is not None:
            over = "one cluster" if clusters == 1 else f"{clusters} clusters"
            yield PublishedRuntime(
                "ensflow", None, int(row["processors"]), setup, ENSFLOW_ITERATIONS, float(row["runtime_s"]),
                f"Table 5, {over}",
            )  # fmt: skip


def _middleware(setup: Setup) -> str:
    return "PBS" if setup is Setup.PBS_1 else "Globus"


def _rows(file: str) -> list[dict[str, str]]:
    with (REFERENCE / file).open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))
