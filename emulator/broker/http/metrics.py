"""Metrics for Prometheus.

Counters follow the journal's events, including those of former brokers, so that a restart loses no count. Checkpoints
of them are kept in the journal, so that a long journal need not be read again as a whole. The lengths of the queues and
the processors that jobs hold follow the events too; what others hold comes from the clusters' last readings. So an
answer waits neither for the broker's loop nor for a cluster. Durations are emulated seconds of their run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, generate_latest

from emulator.broker.http.totals import Distribution, Total, Totals
from emulator.broker.readings import ClusterReading
from emulator.broker.state.journal import Journal
from emulator.broker.status import ClusterUsage, JobCounts, Labels, cluster_usage
from emulator.model.errors import JournalFailed
from emulator.model.job import Timeline
from emulator.model.topology import Topology
from emulator.model.views import DEFAULT_RUN, DEFAULT_RUN_REQUEST, EventKind, EventView, JobView, RunRequest

BUCKETS_S = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
BY_POLICY = ("policy", "queue")
CHECKPOINT = "metrics"
CHECKPOINT_EVERY = 5_000
"""Events from one checkpoint of the counters to the next: as many are read at most when the broker starts."""


class Metrics:
    """Metrics that follow `journal` from its first event on, or from the last checkpoint."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, topology: Topology, journal: Journal) -> None:
        self._topology = topology
        self._jobs = JobCounts()
        self._registry = CollectorRegistry()
        self._journal = journal
        self._counters = _Counters()
        self._registry.register(self._counters.totals)
        self._gauges = _Gauges(self._registry)
        self._labels: dict[int, Labels] = {DEFAULT_RUN: _labels(DEFAULT_RUN_REQUEST)}
        self._labels |= {kept.number: _labels(kept.request) for kept in journal.runs()}
        self._lock = threading.Lock()
        self._checkpoint, stored = journal.checkpoint(CHECKPOINT)
        if stored:
            self._counters.totals.restore(stored)
        # The present jobs are in no checkpoint. One whose last event comes after it is counted again by that event.
        for event in journal.last_events_of_unfinished_jobs():
            if event.job is not None:
                self._jobs.note(event.kind, event.job, self._labels.get(event.run, ("", "")))
        journal.observe(self._note, after=self._checkpoint)

    def text(self, readings: Sequence[ClusterReading], malformed_events: Mapping[str, int]) -> bytes:
        """Return all metrics as text; `readings` are the clusters as last read, `malformed_events` by cluster."""
        with self._lock:
            self._gauges.set(self._jobs, cluster_usage(self._topology, readings, self._jobs, time.monotonic()))
            self._gauges.count_malformed(malformed_events)
            return generate_latest(self._registry)

    def _note(self, event: EventView) -> None:
        with self._lock:
            if event.kind is EventKind.RUN_STARTED and isinstance(request := event.detail.get("request"), dict):
                self._labels[event.run] = (str(request.get("policy", "")), str(request.get("queue", "")))
            if event.job is not None:
                labels = self._labels.get(event.run, ("", ""))
                self._counters.note(event.kind, event.job, event.time_s, labels)
                self._jobs.note(event.kind, event.job, labels)
            if event.sequence < self._checkpoint + CHECKPOINT_EVERY:
                return
            self._checkpoint, stored = event.sequence, self._counters.totals.stored()
        with suppress(JournalFailed):  # a checkpoint only spares the next broker some reading
            self._journal.store_checkpoint(CHECKPOINT, event.sequence, stored)


class _Counters:
    """Metrics that only grow."""

    def __init__(self) -> None:
        def counter(name: str, meaning: str, labels: tuple[str, ...] = BY_POLICY) -> Total:
            return Total(f"testbed_{name}", meaning, labels)

        def histogram(name: str, meaning: str) -> Distribution:
            return Distribution(f"testbed_{name}", meaning, BY_POLICY, BUCKETS_S)

        self._submissions = counter("submissions", "Jobs submitted.")
        self._placements = counter("placements", "Jobs placed.")
        self._finished = counter("jobs_finished", "Jobs that finished.")
        self._failures = counter("failures", "Jobs that failed.")
        self._cancellations = counter("cancellations", "Jobs that were cancelled.")
        self._failed_claims = counter("failed_claims", "Claiming tries of which not all processors were given.")
        self._tries = counter("placement_tries", "Placement tries of jobs that have ended.")
        self._wait = histogram("wait_seconds", "Submission to start of jobs, in emulated seconds.")
        self._execution = histogram("execution_seconds", "Start to finish of jobs, in emulated seconds.")
        self._response = histogram("response_seconds", "Submission to finish of jobs, in emulated seconds.")
        self._processor_seconds = counter(
            "processor_seconds", "Emulated processor seconds that jobs held, by what they did.", ("cluster", "kind")
        )
        self.totals = Totals(
            (
                self._submissions,
                self._placements,
                self._finished,
                self._failures,
                self._cancellations,
                self._failed_claims,
                self._tries,
                self._wait,
                self._execution,
                self._response,
                self._processor_seconds,
            )
        )

    def note(self, kind: EventKind, job: JobView, time_s: float, labels: Labels) -> None:
        """Count an event of `job` at `time_s`; `labels` are those of its run."""
        match kind:
            case EventKind.SUBMITTED:
                self._submissions.add(labels)
            case EventKind.PLACED:
                self._placements.add(labels)
            case EventKind.FINISHED:
                self._finished.add(labels)
            case EventKind.FAILED:
                self._failures.add(labels)
            case EventKind.CLAIM_FAILED:
                self._failed_claims.add(labels)
                self._count_wasted(job, time_s)
            case EventKind.CANCELLED:
                self._cancellations.add(labels)
            case _:
                return
        if job.state.final:
            # Those of all placements together, if the job was placed again.
            self._tries.add(labels, job.placement_tries)
            self._observe_times(job, labels)
            self._count_processors(job)

    def _observe_times(self, job: JobView, labels: Labels) -> None:
        times = Timeline(job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s)
        observed = (
            (self._wait, times.wait_time_s),
            (self._execution, times.execution_time_s),
            (self._response, times.response_time_s),
        )
        for histogram, duration_s in observed:
            if duration_s is not None:
                histogram.observe(labels, duration_s)

    def _count_wasted(self, job: JobView, released_s: float) -> None:
        """Count the processors that a failed claiming try held, until their release."""
        for part in job.components:
            if part.claimed_s is not None:
                wasted_s = max(0.0, released_s - part.claimed_s)
                self._processor_seconds.add((part.cluster, "wasted"), part.processors * wasted_s)

    def _count_processors(self, job: JobView) -> None:
        executed_s = 0.0
        if job.started_s is not None and (ended_s := job.finished_s or job.released_s) is not None:
            executed_s = max(0.0, ended_s - job.started_s)
        for part in job.components:
            if part.claimed_s is None or job.released_s is None:
                continue
            wasted_s = max(0.0, job.released_s - part.claimed_s - executed_s)
            self._processor_seconds.add((part.cluster, "coallocation"), part.processors * executed_s)
            self._processor_seconds.add((part.cluster, "wasted"), part.processors * wasted_s)


class _Gauges:
    """Metrics of the present status."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, meaning: str, labels: tuple[str, ...]) -> Gauge:
            return Gauge(f"testbed_{name}", meaning, labels, registry=registry)

        self._queue = gauge("queue_length", "Jobs that wait.", BY_POLICY)
        self._unfinished = gauge("unfinished_jobs", "Jobs that wait, are claimed, start or run.", BY_POLICY)
        self._processors = gauge("processors", "Processors of a cluster.", ("cluster",))
        self._utilization = gauge(
            "utilization_ratio",
            "Share of a cluster's processors: background (others'), coallocation (jobs execute), wasted (only held).",
            ("cluster", "kind"),
        )
        self._malformed = Counter(
            "testbed_malformed_events",
            "Events of a cluster that could not be read, and were skipped.",
            ("cluster",),
            registry=registry,
        )
        self._malformed_before: dict[str, int] = {}
        self._reachable = gauge("cluster_reachable", "Whether the cluster answers (1) or not (0).", ("cluster",))
        self._age = gauge("cluster_reading_age_host_seconds", "Host seconds since the cluster was read.", ("cluster",))

    def set(self, jobs: JobCounts, clusters: Sequence[ClusterUsage]) -> None:
        """Set all gauges to the counted `jobs` and the use of the `clusters`."""
        for labels, count in jobs.waiting.items():
            self._queue.labels(*labels).set(count)
        for labels, count in jobs.unfinished.items():
            self._unfinished.labels(*labels).set(count)
        for cluster in clusters:
            self._processors.labels(cluster.cluster).set(cluster.processors)
            self._reachable.labels(cluster.cluster).set(cluster.reachable)
            if cluster.age_host_s is not None:
                self._age.labels(cluster.cluster).set(cluster.age_host_s)
            kinds = {"background": cluster.background, "coallocation": cluster.executing, "wasted": cluster.wasted}
            for kind, used in kinds.items():
                # A partition may have no nodes, for instance while its machines are replaced.
                self._utilization.labels(cluster.cluster, kind).set(used / max(1, cluster.processors))

    def count_malformed(self, events: Mapping[str, int]) -> None:
        """Count the events of each cluster that could not be read, of which `events` has all so far."""
        for cluster, malformed in events.items():
            self._malformed.labels(cluster).inc(malformed - self._malformed_before.get(cluster, 0))
            self._malformed_before[cluster] = malformed


def _labels(request: RunRequest) -> Labels:
    return request.policy, request.queue
