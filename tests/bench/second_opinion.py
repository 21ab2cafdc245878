"""What SMPI predicts for the published matrix: ``python -m tests.bench.second_opinion`` (needs SimGrid).

Each cell is exported as `testbed export` does and run by its own `predict.sh`; the table, in Markdown,
stands in ``docs/second-opinion.md``. A prediction is the seconds of an iteration times the published iterations. Under
PBS a job used the single-cluster interconnect, under Globus the co-allocated one, over one cluster too. No time here is
the host's: SMPI computes the same everywhere.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.grid import equal_components
from emulator.model.catalogue import topology_named
from emulator.model.topology import Topology
from emulator.reports.exports.grid_skeleton import SkeletonJob
from emulator.reports.exports.simgrid import COMMANDS_FILE, simgrid_files
from emulator.studies.published_runtimes import PublishedRuntime, Setup, published_runtimes

ITERATIONS = 20


@dataclass(frozen=True)
class Cell:
    """A published runtime, and what SMPI makes of it."""

    grid: int | None
    processors: int
    setup: Setup
    published_s: float
    predicted_s: float


def published() -> list[PublishedRuntime]:
    """Poisson's Table 3, and of Table 2 what Table 3 has not."""
    poisson = [cell for cell in published_runtimes() if cell.application == "poisson"]
    first = {(cell.grid, cell.processors, cell.setup): cell for cell in reversed(poisson)}
    return list(reversed(first.values()))


def predicted_iteration_s(topology: Topology, grid: int, processors: int, setup: Setup) -> float:
    """Seconds of an iteration, by SMPI."""
    components = equal_components(processors, setup.clusters)
    job = SkeletonJob(grid, ITERATIONS, components, tuple(topology.cluster_names[: setup.clusters]))
    files = simgrid_files(topology, topology.interconnects.of(setup.clusters, setup.interconnect), job)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_text(content, encoding="utf-8")
        ran = subprocess.run(["sh", "-e", Path(folder) / COMMANDS_FILE], capture_output=True, text=True, check=True)
    return float(json.loads(ran.stdout)["iteration_s"])


def table(cells: Sequence[Cell]) -> str:
    """The cells in Markdown: runtimes and extension factors, published, predicted, and the errors."""
    lines = [
        "| grid | processors | setup | published (s) | SMPI (s) | error | factor, published | SMPI | error |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        runtime = f"{cell.published_s:g} | {cell.predicted_s:.4g} | {_error(cell.predicted_s, cell.published_s):+.0%}"
        lines.append(f"| {cell.grid} | {cell.processors} | {cell.setup} | {runtime} | {_factor_cells(cell, cells)} |")
    return "\n".join(lines)


def _factor_cells(cell: Cell, cells: Sequence[Cell]) -> str:
    if cell.setup is Setup.PBS_1:
        return "| |"
    said, found = _factors(cell, cells)
    return f"{said:.2f} | {found:.2f} | {_error(found, said):+.0%}"


def _factors(cell: Cell, cells: Sequence[Cell]) -> tuple[float, float]:
    """The published extension factor, relative to PBS, and the predicted one."""
    (alone,) = (
        other
        for other in cells
        if other.setup is Setup.PBS_1 and (other.grid, other.processors) == (cell.grid, cell.processors)
    )
    return cell.published_s / alone.published_s, cell.predicted_s / alone.predicted_s


def _error(found: float, said: float) -> float:
    return found / said - 1


def summary(cells: Sequence[Cell]) -> str:
    """Mean absolute errors of runtimes and of factors."""
    runtimes = [abs(_error(cell.predicted_s, cell.published_s)) for cell in cells]
    factors = [_factors(cell, cells) for cell in cells if cell.setup is not Setup.PBS_1]
    return (
        f"Mean absolute error of {len(runtimes)} runtimes {statistics.mean(runtimes):.1%}, of {len(factors)} factors"
        f" {statistics.mean(abs(_error(found, said)) for said, found in factors):.1%}."
    )


def main() -> None:
    """Print the table for the topology asked for."""
    parser = argparse.ArgumentParser(description="What SMPI predicts for the published runtimes of Poisson on DAS-2.")
    parser.add_argument("--topology", default="das2")
    topology = topology_named(parser.parse_args().topology)
    cells = []
    for cell in published():
        predicted_s = cell.iterations * predicted_iteration_s(topology, cell.grid or 0, cell.processors, cell.setup)
        cells.append(Cell(cell.grid, cell.processors, cell.setup, cell.runtime_s, predicted_s))
    print(table(cells))
    for title, some in (
        ("All", cells),
        (
            "Grids 100, 400, 1000 and 4000, 16 processors",
            [cell for cell in cells if cell.processors == 16 and cell.grid != 50],
        ),
        ("The others", [cell for cell in cells if cell.processors != 16 or cell.grid == 50]),
    ):
        print(f"\n{title}: {summary(some)}")


if __name__ == "__main__":
    main()
