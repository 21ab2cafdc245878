"""The numbers of `das2`, found again: ``python -m tests.bench.das2_fit`` (minutes; ``--show`` only prints errors).

Fits nine numbers - two costs of a point; latency, rate and time per message of Myrinet and of Ethernet; the delay of
the wide area - on the published runtimes of Poisson at grids 100, 400 and 4000 with 16 processors, by the model of
`emulator.fidelity.iteration`. What is minimized is the mean absolute error of the 12 runtimes plus that of the 9
factors; the published border exchanges of the same cells, with a small weight, decide what runtimes do not: how time
inside a cluster divides between borders and the reduction. Pairs of clusters in different cities are taken to be 0.2 ms
farther apart than the first two, which were both in Amsterdam: 50 km of fibre.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from apps.grid import equal_components
from emulator.fidelity.iteration.predicted import ModelJob, Predicted, predicted
from emulator.model.catalogue import topology_named
from emulator.model.interconnects import Interconnect, Interconnects
from emulator.model.topology import Topology
from emulator.studies.published_runtimes import (
    PublishedRuntime,
    Setup,
    find_communication,
    find_published,
    published_runtimes,
)
from emulator.studies.reproduction_rows import CALIBRATED_GRIDS

SETUPS = (Setup.PBS_1, Setup.GLOBUS_1, Setup.GLOBUS_2, Setup.GLOBUS_4)
NAMES = (
    "in cache (ns)", "out of cache (ns)",
    "myrinet latency (us)", "myrinet rate (Mbit/s)", "myrinet message (us)",
    "ethernet latency (us)", "ethernet rate (Mbit/s)", "ethernet message (us)",
    "delay (ms)",
)  # fmt: skip
FARTHER_S = 0.0002
BORDER_WEIGHT = 0.05
EVALUATIONS = 900
CALIBRATED = [
    found
    for grid in CALIBRATED_GRIDS
    for setup in SETUPS
    if (found := find_published("poisson", grid, 16, setup)) is not None
]


def parameters_of(topology: Topology) -> list[float]:
    """The nine numbers of a topology, in the order and units of `NAMES`."""
    costs, stated = topology.processor.costs, topology.interconnects
    assert costs is not None
    assert stated.single_cluster is not None
    assert stated.coallocated is not None
    inside = [
        number
        for interconnect in (stated.single_cluster, stated.coallocated)
        for number in (interconnect.latency_s * 1e6, interconnect.rate_mbit, interconnect.message_s * 1e6)
    ]
    first = topology.path(*topology.cluster_names[:2]).delay_s
    return [costs.in_cache_ns_per_point, costs.out_of_cache_ns_per_point, *inside, first * 1e3]


def with_parameters(topology: Topology, numbers: Sequence[float]) -> Topology:
    """`topology` with these nine numbers."""
    in_cache, out_of_cache, *inside, delay_ms = (abs(float(number)) for number in numbers)
    single, coallocated = (
        Interconnect(name=name, latency_s=latency * 1e-6, rate_mbit=rate, message_s=message * 1e-6)
        for name, (latency, rate, message) in (("myrinet", inside[:3]), ("ethernet", inside[3:]))
    )
    costs = {"in_cache_ns_per_point": in_cache, "out_of_cache_ns_per_point": out_of_cache}
    (near,) = topology.links
    farther = topology.default_link
    assert farther is not None
    return topology.model_copy(
        update={
            "processor": topology.processor.model_copy(update=costs),
            "interconnects": Interconnects(single_cluster=single, coallocated=coallocated),
            "links": (near.model_copy(update={"delay_s": delay_ms / 1e3}),),
            "default_link": farther.model_copy(update={"delay_s": delay_ms / 1e3 + FARTHER_S}),
        }
    )


def modelled(topology: Topology, grid: int, processors: int, setup: Setup) -> Predicted:
    """What an iteration takes in `setup` on the first clusters of `topology`."""
    names = topology.cluster_names[: setup.clusters]
    parts = tuple(zip(names, equal_components(processors, setup.clusters), strict=True))
    return predicted(topology, ModelJob("poisson", grid, parts, setup.interconnect))


def loss(topology: Topology) -> float:
    """Mean absolute errors of runtimes and factors, and a little of the border exchanges."""
    found = {
        (cell.grid, cell.setup): modelled(topology, cell.grid or 0, cell.processors, cell.setup) for cell in CALIBRATED
    }
    runtimes, factors = _errors(CALIBRATED, found)
    borders = []
    for (grid, setup), fitted in found.items():
        said = find_communication("poisson", grid, 16, setup, synchronized=False)
        assert said is not None
        borders.append(float(np.log(fitted.border_exchange_s / said.iteration_s)) ** 2)
    return statistics.fmean(runtimes) + statistics.fmean(factors) + BORDER_WEIGHT * statistics.fmean(borders)


def _errors(
    cells: Sequence[PublishedRuntime], found: dict[tuple[int | None, Setup], Predicted]
) -> tuple[list[float], list[float]]:
    """Absolute relative errors of runtimes, and of factors relative to one cluster, of cells on equal processors."""
    error = {(cell.grid, cell.setup): found[cell.grid, cell.setup].iteration_s / cell.iteration_s for cell in cells}
    factors = [ratio / error[grid, Setup.PBS_1] for (grid, setup), ratio in error.items() if setup is not Setup.PBS_1]
    return [abs(ratio - 1) for ratio in error.values()], [abs(ratio - 1) for ratio in factors]


def show(topology: Topology) -> None:
    """Print the numbers, and the arithmetic's errors on what they were fitted to and on what they were not."""
    for name, number in zip(NAMES, parameters_of(topology), strict=True):
        print(f"{name:24} {number:.4g}")
    first = {
        (cell.grid, cell.processors, cell.setup): cell
        for cell in reversed(published_runtimes())
        if cell.grid is not None
    }
    others = [cell for cell in first.values() if cell not in CALIBRATED]
    groups = {
        "fitted to": [CALIBRATED],
        "predicted": [[cell for cell in others if cell.processors == n] for n in (8, 16, 32, 64)],
    }
    for title, by_processors in groups.items():
        runtimes: list[float] = []
        factors: list[float] = []
        for cells in by_processors:
            found = {
                (cell.grid, cell.setup): modelled(topology, cell.grid or 0, cell.processors, cell.setup)
                for cell in cells
            }
            more_runtimes, more_factors = _errors(cells, found)
            runtimes += more_runtimes
            factors += more_factors
        print(f"{title}: runtimes {statistics.fmean(runtimes):.1%} ({len(runtimes)}),"
              f" factors {statistics.fmean(factors):.1%} ({len(factors)})")  # fmt: skip


def main() -> None:
    """Fit, unless only the topology's own numbers are to be shown."""
    parser = argparse.ArgumentParser(description="Fits the numbers of das2 to published runtimes.")
    parser.add_argument("--topology", default="das2")
    parser.add_argument("--show", action="store_true", help="do not fit: show what the topology's numbers imply")
    arguments = parser.parse_args()
    topology = topology_named(arguments.topology)
    if not arguments.show:
        start = np.array([95.0, 265.0, 10.0, 190.0, 10.0, 20.0, 40.0, 120.0, 1.4])
        options = {"maxfev": EVALUATIONS, "xatol": 1e-3, "fatol": 1e-5, "adaptive": True}
        for _ in range(2):
            found = minimize(lambda numbers: loss(with_parameters(topology, numbers)), start, method="Nelder-Mead",
                             options=options)  # fmt: skip
            start = found.x
        topology = with_parameters(topology, start)
    show(topology)


if __name__ == "__main__":
    main()
