"""All that is known of the run that is watched, from the broker's status and events and the recorder's notes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from emulator.fidelity.topics import Topic
from emulator.model.job import JobState
from emulator.model.page_views import BackgroundNote, CheckNote, PageReason, PageSystem, RunNote, VerdictNote
from emulator.model.views import ClusterView, EventKind, EventView, JobView, QueueEntryView, RunView

MOST_ENDED: Final = 100
"""The jobs that ended last which are kept; the others are only counted."""


@dataclass
class Against:
    """What speaks against results as far as one topic goes: the worst verdict, its jobs, and the reasons by jobs."""

    verdict: str = ""
    jobs: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def note(self, verdict: str) -> None:
        """Keep the worse one of `verdict` and the verdict so far."""
        self.verdict = max(self.verdict, verdict, key=_BY_SEVERITY.index)


_BY_SEVERITY: Final = ("", "valid", "suspect", "void")


class KnownRun:
    """What is known of `run` on `system`; jobs that have ended are counted, and the last ones kept.

    `background` holds the dummy and the local processors by cluster. Until the run's recorder tells them apart
    (`splits_background`), processors that are neither idle nor held by jobs count as local ones.
    """

    def __init__(self, system: PageSystem, run: RunView) -> None:
        self.system = system
        self.run = run
        self.unfinished: dict[int, JobView] = {}
        self.last_ended: deque[JobView] = deque(maxlen=MOST_ENDED)
        self.ended: Counter[JobState] = Counter()
        self.queue: tuple[QueueEntryView, ...] | None = None
        self.queue_length = 0
        self.lost: frozenset[str] = frozenset()
        self.background: dict[str, tuple[int, int]] = {}
        self.splits_background = False
        self.expected_jobs: int | None = None
        self.verdicts: dict[int, str] = {}
        self.against: dict[Topic, Against] = {topic: Against() for topic in Topic}
        self.has_ended = False
        self.latest_s = 0.0
        self.version = 0
        self._numbers_ended: set[int] = set()
        self._others: Mapping[str, int] = {}

    def note_jobs(self, jobs: Iterable[JobView]) -> None:
        """Take note of jobs as the broker lists them."""
        for job in jobs:
            self._note_job(job)

    def note_event(self, event: EventView) -> None:
        """Take note of an event of the run."""
        self.latest_s = max(self.latest_s, event.time_s)
        if event.job is not None:
            self._note_job(_released(event.job) if event.kind is EventKind.CLAIM_FAILED else event.job)
        elif event.kind is EventKind.RUN_STARTED:
            origin_s = event.host_moment_s - event.time_s * self.run.request.dilation
            self.run = self.run.model_copy(update={"host_origin_s": origin_s})
        elif event.kind is EventKind.RUN_ENDED:
            self.has_ended = True
        self.version += 1

    def note_status(self, run: RunView, queue: tuple[QueueEntryView, ...], queue_length: int) -> None:
        """Take note of the run and its queue, or that another run is under way, whose queue is not shown."""
        if run.id != self.run.id:
            self.queue, self.queue_length = None, 0
        else:
            self.run, self.queue, self.queue_length = run, queue, queue_length
        self.version += 1

    def note_clusters(self, clusters: Iterable[ClusterView]) -> None:
        """Take note of the clusters as last read.

        What is neither idle nor held by jobs is others'. A reading may be older than a job's end: two must agree.
        """
        clusters = tuple(clusters)
        self.lost = frozenset(cluster.name for cluster in clusters if not cluster.reachable)
        if self.splits_background:
            return
        held = self.held()
        before, self._others = (
            self._others,
            {
                cluster.name: max(0, cluster.processors - cluster.idle - held[cluster.name]) if cluster.reachable else 0
                for cluster in clusters
            },
        )
        self.background = {name: (0, min(others, before.get(name, 0))) for name, others in self._others.items()}
        self.version += 1

    def note_fact(self, fact: RunNote) -> None:
        """Take note of a fact that only the run's recorder knows."""
        if fact.jobs is not None:
            self.expected_jobs = fact.jobs
        if fact.verdict is not None:
            self._note_verdict(fact.verdict)
        if fact.check is not None:
            self._note_check(fact.check)
        if fact.background is not None:
            self._note_background(fact.background)
        self.version += 1

    def is_known(self, job: int) -> bool:
        """Return whether more is known of the job with that number than its entry in the queue."""
        return job in self.unfinished or job in self._numbers_ended

    def held(self) -> Counter[str]:
        """Return the processors that the run's jobs hold, by cluster."""
        held: Counter[str] = Counter()
        for job in self.unfinished.values():
            for part in job.components:
                if part.claimed_s is not None:
                    held[part.cluster] += part.processors
        return held

    def _note_job(self, job: JobView) -> None:
        if job.id in self._numbers_ended:
            return  # an event from before its end, read again
        if not job.state.final:
            self.unfinished[job.id] = job
            return
        self.unfinished.pop(job.id, None)
        self._numbers_ended.add(job.id)
        self.ended[job.state] += 1
        self.last_ended.append(job)

    def _note_verdict(self, note: VerdictNote) -> None:
        if note.job in self.verdicts:
            return
        self.verdicts[note.job] = note.verdict
        for topic in {_topic(reason) for reason in note.reasons}:
            self.against[topic].jobs += 1
            self.against[topic].note(note.verdict)
        for reason in note.reasons:
            self.against[_topic(reason)].reasons[reason.sentence] += 1

    def _note_check(self, check: CheckNote) -> None:
        links = self.against[Topic.LINKS]
        links.note(check.verdict)
        for reason in check.reasons:
            links.reasons[reason.sentence] += 0

    def _note_background(self, note: BackgroundNote) -> None:
        if not self.splits_background:
            self.splits_background, self.background = True, {}
        self.background[note.cluster] = (note.dummy, note.local)


def _topic(reason: PageReason) -> Topic:
    return Topic(reason.topic) if reason.topic in tuple(Topic) else Topic.JOBS


def _released(job: JobView) -> JobView:
    """Return a job whose claim failed: the event still shows what was held until then."""
    parts = tuple(part.model_copy(update={"claimed_s": None}) for part in job.components)
    return job.model_copy(update={"components": parts})
