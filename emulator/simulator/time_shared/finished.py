"""A job that ended on shared nodes, in the form of all simulated jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from emulator.model.job import JobSpecification
from emulator.model.topology import Topology
from emulator.simulator.simulated_job import FinishedJob
from emulator.simulator.time_shared.layout import first_nodes
from emulator.simulator.time_shared.simulation import SharedJobOutcome

PLACED_AT_ONCE: Final = 1
"""The tries of a job: the simulation tells only when it was placed."""


def as_finished(outcome: SharedJobOutcome, topology: Topology, asked: JobSpecification) -> FinishedJob:
    """Return the job of `outcome`, which `asked` for its components."""
    clusters = [_cluster_of(node, first_nodes(topology)) for node in outcome.nodes]
    parts = components_of(clusters, asked.components)
    return FinishedJob(
        outcome.id, outcome.arrival_s, placed_s=outcome.placed_s, start_s=outcome.start_s, finish_s=outcome.finish_s,
        service_s=outcome.alone_s, components=tuple(size for _, size in parts),
        clusters=tuple(cluster for cluster, _ in parts), queue=None, application=asked.application,
        tries=PLACED_AT_ONCE, claimed_s=outcome.placed_s, claiming_tries=PLACED_AT_ONCE, transfer_s=0.0,
        additional_s=0.0, released_s=outcome.released_s,
    )  # fmt: skip


def components_of(clusters: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the cluster and the size of each component of a job, by the `clusters` of its tasks in order.

    The components have the `sizes` that were asked for; where a total was placed, there is one for each cluster.
    """
    ends = list(accumulate(sizes))
    parts = [set(clusters[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
    if all(len(part) == 1 for part in parts):
        return [(part.pop(), size) for part, size in zip(parts, sizes, strict=True)]
    return list(Counter(clusters).items())


def _cluster_of(node: int, first: Sequence[int]) -> int:
    """Return the cluster of a node, where `first` is the number of each cluster's first node."""
    return max(cluster for cluster, number in enumerate(first) if number <= node)
