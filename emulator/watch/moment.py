"""What there is to show of a watched run at one moment: pure functions of what is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.fidelity.topics import Topic
from emulator.model.counts import number_of
from emulator.model.job import JobSpecification, JobState
from emulator.model.page_views import PageSystem
from emulator.model.request import RequestKind
from emulator.model.views import JobView, QueueEntryView, RunView
from emulator.watch.known import Against, KnownRun

FITS: Final = "Its processors are idle: it waits for its turn, its policy, or the next scan of the queue."
"""Why a job waits whose processors are idle."""

UNLISTED: Final = "It asks for clusters by name, which the queue does not list."
"""Why a job with a fixed request waits of which only its entry in the queue is known."""


@dataclass(frozen=True, slots=True)
class ClusterUse:
    """The processors of a cluster by use; `set_aside` are those of placed jobs that have not been claimed yet."""

    name: str
    processors: int
    executing: int
    claimed: int
    local: int
    dummy: int
    set_aside: int
    answers: bool

    @property
    def idle(self) -> int:
        """The processors that nobody uses."""
        return max(0, self.processors - self.executing - self.claimed - self.local - self.dummy)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits, with its placement tries so far."""

    job: JobView
    tries: int


@dataclass(frozen=True, slots=True)
class Light:
    """What speaks against results as far as `topic` goes: the worst verdict (empty: not judged) and its jobs."""

    topic: Topic
    verdict: str
    jobs: int
    reasons: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """A run as it is at `now_s`.

    `waiting` is in the order of tries if `is_ordered`, else in that of arrival; `waiting_in_all` counts also those that
    are not listed. `active` are the placed and running jobs, the latest first, `last_ended` those that ended last.
    """

    system: PageSystem
    run: RunView
    now_s: float
    has_ended: bool
    clusters: tuple[ClusterUse, ...]
    splits_background: bool
    waiting: tuple[Waiting, ...]
    waiting_in_all: int
    is_ordered: bool
    why_first_waits: str
    active: tuple[JobView, ...]
    last_ended: tuple[JobView, ...]
    ended: Mapping[JobState, int]
    expected_jobs: int | None
    verdicts: Mapping[int, str]
    lights: tuple[Light, ...]

    @property
    def running(self) -> int:
        """The number of jobs that execute."""
        return sum(job.state is JobState.RUNNING for job in self.active)

    @property
    def all_ended(self) -> int:
        """The number of jobs that ended, in whatever way."""
        return sum(self.ended.values())

    @property
    def used_processors(self) -> int:
        """The processors that are not idle."""
        return sum(use.processors - use.idle for use in self.clusters)

    @property
    def left_s(self) -> float | None:
        """About how long the run goes on, by the jobs that ended so far; None if that cannot be said."""
        ended = self.all_ended
        if not self.expected_jobs or ended == 0 or self.has_ended:
            return None
        return self.now_s * max(0, self.expected_jobs - ended) / ended


def moment_of(known: KnownRun, now_s: float) -> Moment:
    """Return what is to be shown of `known` at `now_s`."""
    clusters = cluster_uses(known)
    waiting = _waiting(known)
    active = [job for job in known.unfinished.values() if job.state is not JobState.QUEUED]
    first = waiting[0].job.specification if waiting else None
    return Moment(
        system=known.system,
        run=known.run,
        now_s=now_s,
        has_ended=known.has_ended,
        clusters=clusters,
        splits_background=known.splits_background,
        waiting=waiting,
        waiting_in_all=max(known.queue_length, len(waiting)),
        is_ordered=known.queue is not None,
        why_first_waits="" if first is None else why_it_waits(first, clusters),
        active=tuple(sorted(active, key=lambda job: -job.id)),
        last_ended=tuple(reversed(known.last_ended)),
        ended=dict(known.ended),
        expected_jobs=known.expected_jobs,
        verdicts=known.verdicts,
        lights=tuple(_light(known, topic, against) for topic, against in known.against.items()),
    )


def cluster_uses(known: KnownRun) -> tuple[ClusterUse, ...]:
    """Return the processors of each cluster by use, in the topology's order."""
    executing, claimed, set_aside = Counter[str](), Counter[str](), Counter[str]()
    for job in known.unfinished.values():
        for part in job.components:
            is_held = part.claimed_s is not None
            counted = set_aside if not is_held else executing if job.state is JobState.RUNNING else claimed
            counted[part.cluster] += part.processors
    return tuple(
        ClusterUse(
            name=cluster.name,
            processors=cluster.processors,
            executing=executing[cluster.name],
            claimed=claimed[cluster.name],
            dummy=known.background.get(cluster.name, (0, 0))[0],
            local=known.background.get(cluster.name, (0, 0))[1],
            set_aside=set_aside[cluster.name],
            answers=cluster.name not in known.lost,
        )
        for cluster in known.system.clusters
    )


def why_it_waits(job: JobSpecification, clusters: Sequence[ClusterUse]) -> str:
    """Return in one sentence why a waiting job does not start, by the processors that are idle."""
    if job.request is RequestKind.FIXED:
        return _why_fixed(job, clusters)
    asked, idle = sum(job.components), sum(use.idle for use in clusters)
    if idle < asked:
        return f"It asks for {number_of(asked, 'processor')}; only {idle} are idle in all clusters."
    return FITS if job.request is RequestKind.FLEXIBLE else _why_components(job, clusters)


def _why_fixed(job: JobSpecification, clusters: Sequence[ClusterUse]) -> str:
    if not job.clusters:
        return UNLISTED
    asked = Counter[str]()
    for name, size in zip(job.clusters, job.components, strict=False):
        asked[name] += size
    idle = {use.name: use.idle for use in clusters}
    for name, size in asked.items():
        if idle.get(name, 0) < size:
            return f"It asks for {number_of(size, 'processor')} of {name}, where {idle.get(name, 0)} are idle."
    return FITS


def _why_components(job: JobSpecification, clusters: Sequence[ClusterUse]) -> str:
    left = [use.idle for use in clusters]
    for size in sorted(job.components, reverse=True):
        most = max(left, default=0)
        if most < size:
            return _why_not(job, size, max(clusters, key=lambda use: use.idle))
        if job.request is RequestKind.UNORDERED:
            left.remove(most)
        else:
            left[left.index(most)] -= size
    return FITS


def _why_not(job: JobSpecification, size: int, largest: ClusterUse) -> str:
    most = f"{largest.name} has most idle: {largest.idle}"
    if len(job.components) == 1:
        return f"Its {number_of(size, 'processor')} fit into no cluster; {most}."
    asked = "+".join(str(each) for each in job.components)
    return f"A component of {size} fits nowhere beside the others (it asks for {asked}); {most}."


def _waiting(known: KnownRun) -> tuple[Waiting, ...]:
    """Return the waiting jobs: those that the broker listed, in its order, then those that came since."""
    queued = {number: job for number, job in known.unfinished.items() if job.state is JobState.QUEUED}
    listed = [
        Waiting(queued.pop(entry.job) if entry.job in queued else _job_of(entry), entry.placement_tries)
        for entry in known.queue or ()
        if entry.job in queued or not known.is_known(entry.job)
    ]
    return (*listed, *(Waiting(job, job.placement_tries) for _, job in sorted(queued.items())))


def _job_of(entry: QueueEntryView) -> JobView:
    """Return the waiting job of which only its entry is known: not the clusters that a fixed request names."""
    specification = JobSpecification.model_construct(
        name=entry.name,
        application=entry.application,
        components=entry.components,
        request=RequestKind(entry.request),
    )
    return JobView.model_construct(
        id=entry.job,
        run=entry.run,
        specification=specification,
        state=JobState.QUEUED,
        placement_tries=entry.placement_tries,
        submitted_s=entry.submitted_s,
    )


def _light(known: KnownRun, topic: Topic, against: Against) -> Light:
    # The background is judged with the whole run, once it has ended.
    faultless = "valid" if known.verdicts and topic is not Topic.BACKGROUND else ""
    return Light(topic, against.verdict or faultless, against.jobs, tuple(against.reasons.most_common()))
