"""What has been and what is, for Prometheus.

What has been is counted from the journal's events, those of former brokers first, so that a restart loses no count.
What is - queues, processors - is looked at whenever somebody asks. Durations are emulated seconds of their run.
"""

from __future__ import annotations

import threading

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from emulator.broker.census import Tally
from emulator.broker.journal import Journal
from emulator.model.job import Timeline
from emulator.model.views import STANDING_REQUEST, STANDING_RUN, EventKind, EventView, JobView, RunRequest

BUCKETS_S = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
BY_POLICY = ("policy", "queue")
Labels = tuple[str, str]


class Metrics:
    """Counts that follow `journal` from its first event on."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, journal: Journal) -> None:
        self._registry = CollectorRegistry()
        self._counts = _Counts(self._registry)
        self._present = _Present(self._registry)
        self._labels: dict[int, Labels] = {STANDING_RUN: _labels(STANDING_REQUEST)}
        self._lock = threading.Lock()
        with journal.together():  # nothing is written between the events that were and those to come
            for event in journal.all_events():
                self._note(event)
            journal.observe(self._note)

    def text(self, tally: Tally) -> bytes:
        """All metrics, with `tally` being what is now."""
        with self._lock:
            self._present.set(tally)
            return generate_latest(self._registry)

    def _note(self, event: EventView) -> None:
        with self._lock:
            if event.kind is EventKind.RUN_STARTED and isinstance(request := event.detail.get("request"), dict):
                self._labels[event.run] = (str(request.get("policy", "")), str(request.get("queue", "")))
            if event.job is not None:
                self._counts.note(event.kind, event.job, event.time_s, self._labels.get(event.run, ("", "")))


class _Counts:
    """What only grows."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, meaning: str, labels: tuple[str, ...] = BY_POLICY) -> Counter:
            return Counter(f"testbed_{name}", meaning, labels, registry=registry)

        def histogram(name: str, meaning: str) -> Histogram:
            return Histogram(f"testbed_{name}", meaning, BY_POLICY, registry=registry, buckets=BUCKETS_S)

        self._submissions = counter("submissions", "Jobs submitted.")
        self._placements = counter("placements", "Jobs placed.")
        self._finished = counter("jobs_finished", "Jobs that finished.")
        self._failures = counter("failures", "Jobs that failed.")
        self._cancellations = counter("cancellations", "Jobs that were cancelled.")
        self._failed_claims = counter("failed_claims", "Claims of which not all processors were given.")
        self._tries = counter("placement_tries", "Placement tries of jobs that were placed or given up.")
        self._wait = histogram("wait_seconds", "Submission to start of jobs, in emulated seconds.")
        self._execution = histogram("execution_seconds", "Start to finish of jobs, in emulated seconds.")
        self._response = histogram("response_seconds", "Submission to finish of jobs, in emulated seconds.")
        self._processor_seconds = counter(
            "processor_seconds", "Emulated processor seconds that jobs held, by what they did.", ("cluster", "kind")
        )

    def note(self, kind: EventKind, job: JobView, time_s: float, labels: Labels) -> None:
        """Count an event of `job` at `time_s`, whose run has these labels."""
        match kind:
            case EventKind.SUBMITTED:
                self._submissions.labels(*labels).inc()
            case EventKind.PLACED:
                self._placements.labels(*labels).inc()
                self._tries.labels(*labels).inc(job.placement_tries)
            case EventKind.FINISHED:
                self._finished.labels(*labels).inc()
            case EventKind.FAILED:
                self._note_failure(job, labels)
            case EventKind.CLAIM_FAILED:
                self._failed_claims.labels(*labels).inc()
                self._note_held_for_nothing(job, time_s)
            case EventKind.CANCELLED:
                self._cancellations.labels(*labels).inc()
            case _:
                return
        if job.state.final:
            self._note_times(job, labels)
            self._note_processors(job)

    def _note_failure(self, job: JobView, labels: Labels) -> None:
        self._failures.labels(*labels).inc()
        if job.placed_s is None:
            self._tries.labels(*labels).inc(job.placement_tries)

    def _note_times(self, job: JobView, labels: Labels) -> None:
        times = Timeline(job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s)
        observed = (
            (self._wait, times.wait_time_s),
            (self._execution, times.execution_time_s),
            (self._response, times.response_time_s),
        )
        for histogram, duration_s in observed:
            if duration_s is not None:
                histogram.labels(*labels).observe(duration_s)

    def _note_held_for_nothing(self, job: JobView, released_s: float) -> None:
        """Count what a failed claiming try had been given, until it was released."""
        for part in job.components:
            if part.claimed_s is not None:
                wasted_s = max(0.0, released_s - part.claimed_s)
                self._processor_seconds.labels(part.cluster, "wasted").inc(part.processors * wasted_s)

    def _note_processors(self, job: JobView) -> None:
        executed_s = 0.0
        if job.started_s is not None and (ended_s := job.finished_s or job.released_s) is not None:
            executed_s = max(0.0, ended_s - job.started_s)
        for part in job.components:
            if part.claimed_s is None or job.released_s is None:
                continue
            wasted_s = max(0.0, job.released_s - part.claimed_s - executed_s)
            self._processor_seconds.labels(part.cluster, "coallocation").inc(part.processors * executed_s)
            self._processor_seconds.labels(part.cluster, "wasted").inc(part.processors * wasted_s)


class _Present:
    """What is now."""

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
        self._reachable = gauge("cluster_reachable", "Whether the cluster answers (1) or not (0).", ("cluster",))

    def set(self, tally: Tally) -> None:
        """Become `tally`."""
        self._queue.clear()
        self._unfinished.clear()
        for labels, jobs in tally.waiting.items():
            self._queue.labels(*labels).set(jobs)
        for labels, jobs in tally.unfinished.items():
            self._unfinished.labels(*labels).set(jobs)
        for cluster in tally.clusters:
            self._processors.labels(cluster.cluster).set(cluster.processors)
            self._reachable.labels(cluster.cluster).set(cluster.reachable)
            kinds = {"background": cluster.background, "coallocation": cluster.executing, "wasted": cluster.wasted}
            for kind, used in kinds.items():
                # A partition without nodes, as one is while its machines are changed, has no processors to share.
                self._utilization.labels(cluster.cluster, kind).set(used / max(1, cluster.processors))


def _labels(request: RunRequest) -> Labels:
    return request.policy, request.queue
