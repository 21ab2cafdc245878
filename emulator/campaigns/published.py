"""The runtimes that the measurement study on DAS-2 printed, of jobs in one cluster (``workloads/reference``).

"A Measurement-Based Simulation Study of Processor Co-Allocation in Multicluster Systems", Tables 2 to 5; the runs in
one cluster are those under PBS. Where both a mean of ten runs and a single run were printed, the mean is taken: for 16
processors and grid 4000 the single one lies outside of the ten.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from emulator.model.errors import UnknownName
from emulator.model.house import HOUSE

REFERENCE: Final = HOUSE / "workloads" / "reference"
IN_ONE_CLUSTER: Final = "pbs-1"
TEN_RUNS_PROCESSORS: Final = 16
ENSFLOW_ITERATIONS: Final = 20
"""Days that Ensflow ran for, a day an iteration; its grid was not printed."""


@dataclass(frozen=True, slots=True)
class PublishedRuntime:
    """A printed runtime in one cluster; `grid` is None where it was not printed, `source` says where it was."""

    application: str
    grid: int | None
    processors: int
    iterations: int
    runtime_s: float
    source: str

    @property
    def iteration_s(self) -> float:
        """Seconds of an iteration."""
        return self.runtime_s / self.iterations


def published_runtimes() -> list[PublishedRuntime]:
    """All of them, means of several runs before single runs."""
    return [*_ten_runs(), *_single_runs(), *_ensflow()]


def published_runtime(application: str, grid: int, processors: int) -> PublishedRuntime:
    """What was printed for that job in one cluster.

    Raises:
        UnknownName: if nothing was; the message lists what was.
    """
    known = published_runtimes()
    for runtime in known:
        if (runtime.application, runtime.processors) == (application, processors) and runtime.grid in (None, grid):
            return runtime
    raise UnknownName.among(
        "published runtime of", _described(application, grid, processors),
        list(dict.fromkeys(_described(it.application, it.grid, it.processors) for it in known)),
    )  # fmt: skip


def _described(application: str, grid: int | None, processors: int) -> str:
    return f"{application}{'' if grid is None else f' grid {grid}'} on {processors} processors"


def _ten_runs() -> Iterator[PublishedRuntime]:
    for row in _rows("das2_poisson_runtime_4x4.csv"):
        if row["setup"] == IN_ONE_CLUSTER:
            yield PublishedRuntime(
                "poisson", int(row["grid"]), TEN_RUNS_PROCESSORS, int(row["iterations"]),
                float(row["runtime_avg_s"]), "Table 3, PBS, mean of ten runs",
            )  # fmt: skip


def _single_runs() -> Iterator[PublishedRuntime]:
    for row in _rows("das2_poisson_runtime_by_processors.csv"):
        if row["setup"] == IN_ONE_CLUSTER:
            yield PublishedRuntime(
                "poisson", int(row["grid"]), int(row["processors"]), int(row["iterations"]),
                float(row["runtime_s"]), "Table 2, PBS, a single run",
            )  # fmt: skip


def _ensflow() -> Iterator[PublishedRuntime]:
    for row in _rows("das2_execution_times_for_simulation.csv"):
        if row["application"] == "ensflow" and row["components"] == "1":
            yield PublishedRuntime(
                "ensflow",
                None,
                int(row["processors"]),
                ENSFLOW_ITERATIONS,
                float(row["runtime_s"]),
                "Table 5, one cluster",
            )


def _rows(file: str) -> list[dict[str, str]]:
    with (REFERENCE / file).open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))
