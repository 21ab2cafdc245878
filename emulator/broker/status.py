"""The present status: the waiting jobs in the order they would be tried, and the use of the clusters' processors.

Only `waiting_jobs` looks at the loop's state. All else is computed from readings and events that the loop has
published, so that a reader waits neither for the loop nor for a cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from emulator.broker.readings import ClusterReading
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.runs import Run
from emulator.model.job import JobState
from emulator.model.topology import Topology
from emulator.model.views import ClusterView, EventKind, JobView, QueueEntryView

Labels = tuple[str, str]
"""The policy and queue of a run."""


@runtime_checkable
class CountsTries(Protocol):
    """A queue discipline that counts its placement tries of waiting jobs."""

    def tries(self) -> Mapping[int, int]:
        """Get the placement tries of waiting jobs so far, by job; a job that is missing has had none."""
        ...


@dataclass(frozen=True, slots=True)
class BrokerHealth:
    """The loop's published state, for threads that must not wait for the loop; runs are numbered up to `last_run`."""

    unreachable: tuple[str, ...]
    silent: tuple[str, ...] = ()
    is_recovering: bool = True
    last_run: int = 0


@dataclass(frozen=True, slots=True)
class ClusterUsage:
    """Processors of a cluster: all, those used by others, and those of our jobs, executing or only held.

    The cluster was read `age_host_s` ago, None if it has not been read since it was found.
    """

    cluster: str
    processors: int
    background: int
    executing: int
    wasted: int
    reachable: bool
    age_host_s: float | None


@dataclass(frozen=True, slots=True)
class _Counted:
    labels: Labels
    is_waiting: bool
    is_executing: bool
    held: Mapping[str, int]


class JobCounts:
    """The unfinished jobs and the processors they hold, counted from the journal's events as they come."""

    def __init__(self) -> None:
        self.waiting: Counter[Labels] = Counter()
        self.unfinished: Counter[Labels] = Counter()
        self.executing: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        self._jobs: dict[int, _Counted] = {}

    def note(self, kind: EventKind, job: JobView, labels: Labels) -> None:
        """Count `job` in the state that an event of that kind shows, and no longer in its state before."""
        before = self._jobs.pop(job.id, None)
        if before is not None:
            self._add(before, -1)
        after = _counted(kind, job, labels)
        self._add(after, 0 if job.state.final else 1)
        if not job.state.final:
            self._jobs[job.id] = after

    def _add(self, job: _Counted, times: int) -> None:
        self.unfinished[job.labels] += times
        self.waiting[job.labels] += times * job.is_waiting
        processors = self.executing if job.is_executing else self.held
        for cluster, size in job.held.items():
            processors[cluster] += times * size


def _counted(kind: EventKind, job: JobView, labels: Labels) -> _Counted:
    held: Counter[str] = Counter()
    for part in job.components:
        # The event of a failed claim still shows what was released.
        if part.claimed_s is not None and kind is not EventKind.CLAIM_FAILED:
            held[part.cluster] += part.processors
    return _Counted(labels, job.state is JobState.QUEUED, job.state is JobState.RUNNING, held)


def waiting_jobs(run: Run) -> list[QueueEntryView]:
    """Return the waiting jobs of `run`, in the order they would be tried.

    Those that its discipline has not been asked about yet come last, in order of submission. While the run is behind,
    all jobs are listed in that order, because its discipline has then placed some that still wait.
    """
    if run.failure or run.is_ending:
        return []
    tries = run.discipline.tries() if isinstance(run.discipline, CountsTries) else {}
    now_s = run.now_s()
    ordered = () if run.is_behind else run.discipline.waiting()
    known = dict.fromkeys(number for number in ordered if run.has_queued(number))
    arriving = (number for number in sorted(run.jobs) if number not in known and run.has_queued(number))
    waiting = [run.jobs[number] for number in (*known, *arriving)]
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


def cluster_views(topology: Topology, readings: Sequence[ClusterReading]) -> list[ClusterView]:
    """Return the clusters as last read; one that does not answer has no idle processor."""
    views = []
    for cluster, reading in zip(topology.clusters, readings, strict=True):
        occupancy = reading.occupancy if reading.reachable else None
        views.append(
            ClusterView(
                name=cluster.name,
                nodes=occupancy.nodes if occupancy else cluster.nodes,
                processors=occupancy.processors if occupancy else cluster.processors,
                idle=occupancy.idle if occupancy else 0,
                reachable=reading.reachable,
            )
        )
    return views


def cluster_usage(
    topology: Topology, readings: Sequence[ClusterReading], jobs: JobCounts, now_host_s: float
) -> list[ClusterUsage]:
    """Return how the processors of each cluster are used, as last read, given the `jobs` that hold some."""
    usage = []
    for cluster, reading in zip(topology.clusters, readings, strict=True):
        occupancy = reading.occupancy if reading.reachable else None
        executing, wasted = jobs.executing[cluster.name], jobs.held[cluster.name]
        busy = occupancy.processors - occupancy.idle if occupancy else 0
        usage.append(
            ClusterUsage(
                cluster=cluster.name,
                processors=occupancy.processors if occupancy else cluster.processors,
                background=max(0, busy - executing - wasted),
                executing=executing,
                wasted=wasted,
                reachable=reading.reachable,
                age_host_s=None if reading.host_s is None else now_host_s - reading.host_s,
            )
        )
    return usage
