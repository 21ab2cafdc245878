"""The present status: the waiting jobs in the order they would be tried, and the use of the clusters' processors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.runs import Run
from emulator.clusters.protocol import Occupancy
from emulator.model.job import JobState
from emulator.model.topology import Topology
from emulator.model.views import ClusterView, QueueEntryView


@runtime_checkable
class CountsTries(Protocol):
    """A queue discipline that counts its placement tries of waiting jobs."""

    def tries(self) -> Mapping[int, int]:
        """Get the placement tries of waiting jobs so far, by job; a job that is missing has had none."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterUsage:
    """Processors of a cluster: all, those used by others, and those of our jobs, executing or only held."""

    cluster: str
    processors: int
    background: int
    executing: int
    wasted: int
    reachable: bool


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """The use of the clusters, and the waiting and unfinished jobs by policy and queue.

    `malformed_events` counts the events that each cluster reported and that could not be read.
    """

    clusters: tuple[ClusterUsage, ...]
    waiting: Mapping[tuple[str, str], int]
    unfinished: Mapping[tuple[str, str], int]
    malformed_events: Mapping[str, int] = field(default_factory=dict)


def waiting_jobs(run: Run) -> list[QueueEntryView]:
    """Return the waiting jobs of `run`, in the order they would be tried."""
    if run.failure or run.is_ending:
        return []
    tries = run.discipline.tries() if isinstance(run.discipline, CountsTries) else {}
    now_s = run.now_s()
    waiting = [run.jobs[number] for number in run.discipline.waiting() if number in run.jobs]
    return [_entry(position, job, tries.get(job.id, 0), now_s) for position, job in enumerate(waiting, start=1)]


def _entry(position: int, job: LiveJob, tries: int, now_s: float) -> QueueEntryView:
    return QueueEntryView(
        position=position,
        job=job.id,
        run=job.run,
        name=job.specification.name,
        application=job.specification.application,
        request=job.request.kind.value,
        components=job.request.components,
        processors=job.request.processors,
        submitted_s=job.timeline.submitted_s,
        waited_s=max(0.0, now_s - job.timeline.submitted_s),
        placement_tries=tries,
    )


def cluster_views(topology: Topology, occupancies: Sequence[Occupancy | None]) -> list[ClusterView]:
    """Return the clusters as their local managers report them; one that does not answer has no idle processor."""
    pairs = zip(topology.clusters, occupancies, strict=True)
    return [
        ClusterView(
            name=cluster.name,
            nodes=occupancy.nodes if occupancy else cluster.nodes,
            processors=occupancy.processors if occupancy else cluster.processors,
            idle=occupancy.idle if occupancy else 0,
            reachable=occupancy is not None,
        )
        for cluster, occupancy in pairs
    ]


def broker_status(topology: Topology, runs: Sequence[Run], occupancies: Sequence[Occupancy | None]) -> BrokerStatus:
    """Count the processors that the jobs of `runs` use, given the clusters' `occupancies`, and the jobs."""
    executing, held = [0] * len(topology.clusters), [0] * len(topology.clusters)
    waiting: dict[tuple[str, str], int] = {}
    unfinished: dict[tuple[str, str], int] = {}
    for run in runs:
        labels = (run.request.policy, run.request.queue)
        jobs = run.unfinished
        unfinished[labels] = unfinished.get(labels, 0) + len(jobs)
        waiting[labels] = waiting.get(labels, 0) + sum(job.state is JobState.QUEUED for job in jobs)
        for job in jobs:
            _add_held(job, topology, executing if job.state is JobState.RUNNING else held)
    parts = zip(topology.clusters, occupancies, executing, held, strict=True)
    return BrokerStatus(
        tuple(
            ClusterUsage(
                cluster=cluster.name,
                processors=occupancy.processors if occupancy else cluster.processors,
                background=max(0, occupancy.processors - occupancy.idle - busy - idle) if occupancy else 0,
                executing=busy,
                wasted=idle,
                reachable=occupancy is not None,
            )
            for cluster, occupancy, busy, idle in parts
        ),
        waiting,
        unfinished,
    )


def _add_held(job: LiveJob, topology: Topology, processors: list[int]) -> None:
    if job.placement is None:
        return
    for cluster, size in job.placement.by_cluster().items():
        if topology.clusters[cluster].name in job.claimed:
            processors[cluster] += size
