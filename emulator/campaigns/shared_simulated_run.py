"""A simulation of a live run on nodes that tasks share, as a run's directory: `testbed compare` takes both.

A job claims its processors when it is placed. It starts, and releases them after its end, as late as live in the mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

from emulator.campaigns.shared_like_run import SharedRun
from emulator.campaigns.simulated_run import NamedJob, SimulatedRun, write_simulated_run
from emulator.fidelity.background import BackgroundMeasures
from emulator.model.job import JobSpecification
from emulator.model.topology import Topology
from emulator.simulator.background import BackgroundChange
from emulator.simulator.simulated_job import FinishedJob, GivenUpJob
from emulator.simulator.time_shared.layout import first_nodes
from emulator.simulator.time_shared.simulation import SharedJobOutcome, SharedResult
from workloads.schedule import specifications_by_number, stream_job

PLACED_AT_ONCE: Final = 1
"""The tries of a job: the simulation tells only when it was placed."""


@dataclass(frozen=True, slots=True)
class SharedEnds:
    """The jobs of a simulation of shared nodes, all of which finish; there is no background load."""

    finished: tuple[FinishedJob, ...]
    given_up: tuple[GivenUpJob, ...] = ()
    background: BackgroundMeasures | None = None
    background_changes: tuple[BackgroundChange, ...] = ()


def write_shared_run(path: Path, like: Path, run: SharedRun, result: SharedResult, seed: int | None) -> None:
    """Write the directory of the simulation of the live run in `like`, whose local users were drawn if from a `seed`.

    Raises:
        InvalidInput: if `path` is taken.
    """
    manifest = run.manifest
    alone_s = {outcome.id: outcome.alone_s for outcome in result.jobs}
    jobs = [
        stream_job(number, arrival, run.topology, alone_s[number], None)
        for number, arrival in enumerate(run.arrivals, start=1)
    ]
    asked = specifications_by_number(run.arrivals)
    ends = SharedEnds(tuple(_finished(outcome, run.topology, asked[outcome.id]) for outcome in result.jobs))
    provenance = {
        "like": like.resolve().name,
        "composition": run.composition.name,
        "rule": run.sharing.rule,
        "bursts_of_local_users": "drawn" if seed is not None or not any(run.bursts) else "recorded",
        "seed_of_local_users": seed,
        "starting_s": run.starting_s,
        "releasing_s": run.releasing_s,
    }
    named = {number: NamedJob.of(specification) for number, specification in asked.items()}
    simulated = SimulatedRun(
        manifest.name, run.topology, manifest.policy, manifest.queue, manifest.seed, jobs, ends,
        workload=manifest.workload, provenance=provenance, named=named,
    )  # fmt: skip
    write_simulated_run(path, simulated)


def _finished(outcome: SharedJobOutcome, topology: Topology, asked: JobSpecification) -> FinishedJob:
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
