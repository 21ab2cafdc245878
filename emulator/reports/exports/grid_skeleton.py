"""A grid application's skeleton: what each process computes and sends in an iteration, as numbers without a grid.

`grid_skeleton.c`, beside this file, is the program that these parameters turn into the application's messages. The
application's descriptor states the form of an iteration. The model's own division of the grid says which points each
process owns and which processes are neighbours, and the tree of meetings to which each reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from apps.descriptor import EXCHANGE_MODES, ExchangeMode
from apps.grid import check_components
from apps.registry import APPLICATIONS
from apps.tree import Pattern, place_in_tree
from emulator.fidelity.iteration.predicted import ModelJob, computed_s, divided_grid
from emulator.model.errors import ImpossibleRequest, InvalidInput, UnknownName
from emulator.model.interconnects import Interconnect, WhichInterconnect
from emulator.model.topology import Cluster, Topology
from emulator.model.units import BYTES_PER_POINT
from emulator.reports.exports.simgrid_platform import host_name, host_speed

GRID_APPLICATIONS: Final = tuple(name for name, each in APPLICATIONS.items() if each.form.division != "none")
"""The applications whose processes exchange the borders of a grid."""

REDUCED_VALUES: Final = 4
"""The value that is reduced, and the three values that the testbed lets travel with it."""

NOBODY: Final = -1

Parameter = str | int | float | list[int] | list[float]


@dataclass(frozen=True, slots=True)
class SkeletonJob:
    """A job of a grid application: its component sizes, and the cluster of each, no cluster twice.

    `exchange` is how borders are exchanged (None: as the application does).

    Raises:
        UnknownName: if there is no such grid application.
        InvalidInput: if the job cannot be meant.
    """

    grid: int
    iterations: int
    components: tuple[int, ...]
    clusters: tuple[str, ...]
    exchange: ExchangeMode | None = None
    application: str = "poisson"

    def __post_init__(self) -> None:
        if self.application not in GRID_APPLICATIONS:
            raise UnknownName.among("grid application", self.application, list(GRID_APPLICATIONS))
        if self.iterations < 2:
            raise InvalidInput(
                f"The skeleton needs at least 2 iterations, not {self.iterations}: the first is not counted."
            )
        if self.exchange is not None and self.exchange not in EXCHANGE_MODES:
            raise InvalidInput(f"Borders are exchanged in {' or '.join(EXCHANGE_MODES)}, not {self.exchange!r}.")
        if len(set(self.clusters)) != len(self.components):
            raise InvalidInput(f"{len(self.components)} components need as many clusters, each of them once.")
        check_components(self.components, self.processes, len(self.clusters))

    @property
    def processes(self) -> int:
        """How many processes the job has."""
        return sum(self.components)


def host_list(topology: Topology, job: SkeletonJob) -> list[str]:
    """Return the host of each process, by rank.

    Raises:
        UnknownName: if there is no such cluster.
        ImpossibleRequest: if a cluster has fewer processors than its component.
    """
    placed = zip(job.components, (topology.cluster(name) for name in job.clusters), strict=True)
    return list(chain.from_iterable(_hosts(cluster, size) for size, cluster in placed))


def _hosts(cluster: Cluster, size: int) -> Iterator[str]:
    if size > cluster.processors:
        raise ImpossibleRequest(
            f"A component of {size} processors does not fit into {cluster.name}, which has {cluster.processors}."
        )
    return (host_name(cluster, processor) for processor in range(size))


def skeleton_parameters(
    topology: Topology, interconnect: Interconnect | None, job: SkeletonJob
) -> dict[str, Parameter]:
    """Return all numbers that the skeleton needs; lists hold a value per rank, `-1` for no neighbour or parent.

    Raises:
        InvalidInput: if the grid cannot be divided over the processes, or the processor has no speed.
    """
    descriptor = APPLICATIONS[job.application]
    if descriptor.check is not None:
        descriptor.check(job.grid, job.processes, {})
    form = descriptor.form
    model_job = _model_job(topology, interconnect, job)
    blocks, beside = divided_grid(model_job, form)
    cluster_of = [index for index, size in enumerate(job.components) for _ in range(size)]
    exchange = job.exchange or form.exchange
    speed = host_speed(topology.processor)
    compute_s = computed_s(topology, model_job)
    message_s = 0.0 if interconnect is None else interconnect.message_s
    return {
        "application": job.application,
        "grid": job.grid,
        "processes": job.processes,
        "iterations": job.iterations,
        "exchange": exchange,
        "overlapped": int(exchange == "overlapped"),
        "phases": form.phases,
        "meets_every": 0 if form.meeting_phases is None else form.meeting_phases // form.phases,
        "flops_per_s": speed,
        "message_s": message_s,
        "message_flops": message_s * speed,
        "reduction_bytes": REDUCED_VALUES * BYTES_PER_POINT,
        "cluster": cluster_of,
        "points": [0 if block is None else block.points for block in blocks],
        "compute_s": compute_s,
        "compute_flops": [duration_s * speed for duration_s in compute_s],
        "row_bytes": [0 if block is None else block.columns * BYTES_PER_POINT for block in blocks],
        "column_bytes": [0 if block is None else block.rows * BYTES_PER_POINT for block in blocks],
        **{
            direction: [
                NOBODY if rank not in beside else _rank(getattr(beside[rank], direction))
                for rank in range(job.processes)
            ]
            for direction in ("top", "bottom", "left", "right")
        },
        "reports_to": _parents(cluster_of, topology.collectives.pattern),
    }


def _model_job(topology: Topology, interconnect: Interconnect | None, job: SkeletonJob) -> ModelJob:
    coallocated = interconnect is not None and interconnect.name == getattr(
        topology.interconnects.coallocated, "name", None
    )
    which = WhichInterconnect.COALLOCATED if coallocated else WhichInterconnect.SINGLE_CLUSTER
    return ModelJob(job.application, job.grid, tuple(zip(job.clusters, job.components, strict=True)), which)


def _parents(cluster_of: Sequence[int], pattern: Pattern) -> list[int]:
    """Return the rank to which each rank reports the error: the same tree as in the testbed."""
    return [_rank(place_in_tree(rank, cluster_of, pattern=pattern).parent) for rank in range(len(cluster_of))]


def _rank(rank: int | None) -> int:
    return NOBODY if rank is None else rank
