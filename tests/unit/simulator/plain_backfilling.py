"""A plain reading of SJF, LJF, EASY and conservative backfilling, for tests; it shares no code with ours.

It keeps lists of jobs and looks at all of them at every event. Jobs are placed by worst fit on distinct clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class PlainJob:
    """A job of the list, with its place and its times."""

    id: int
    arrival_s: float
    service_s: float
    estimate_s: float
    components: list[int]
    start_s: float | None = None
    finish_s: float | None = None
    clusters: list[int] = field(default_factory=list)

    def takes(self, cluster: int) -> int:
        return sum(size for size, at in zip(self.components, self.clusters, strict=True) if at == cluster)


def worst_fit(job: PlainJob, idle: list[int]) -> list[int] | None:
    """Return the cluster of each component, or None: the largest component where most processors are idle."""
    by_size = sorted(range(len(job.components)), key=lambda index: (-job.components[index], index))
    by_room = sorted(range(len(idle)), key=lambda cluster: (-idle[cluster], cluster))
    if len(by_size) > len(by_room):
        return None
    chosen = dict(zip(by_size, by_room, strict=False))
    if any(job.components[index] > idle[cluster] for index, cluster in chosen.items()):
        return None
    return [chosen[index] for index in range(len(by_size))]


class PlainBackfilling:
    """A simulation of clusters of `sizes` under the discipline `name`."""

    def __init__(self, name: str, sizes: list[int]) -> None:
        self.name, self.sizes = name, sizes
        self.waiting: list[PlainJob] = []
        self.running: list[PlainJob] = []

    def run(self, jobs: list[PlainJob]) -> list[PlainJob]:
        """Simulate all jobs; return them with their start, finish and clusters."""
        coming = list(jobs)
        while coming or self.running:
            leaving_s = min((job.finish_s for job in self.running), default=float("inf"))
            if coming and coming[0].arrival_s < leaving_s:
                job = coming.pop(0)
                self.waiting.append(job)
                self.decide(job.arrival_s)
            else:
                self.running.remove(min(self.running, key=lambda job: job.finish_s))
                self.decide(leaving_s)
        return jobs

    def idle(self) -> list[int]:
        return [size - sum(job.takes(at) for job in self.running) for at, size in enumerate(self.sizes)]

    def expected_end_s(self, job: PlainJob, now_s: float) -> float:
        return max(now_s, job.start_s + job.estimate_s)

    def start(self, job: PlainJob, clusters: list[int], now_s: float) -> None:
        self.waiting.remove(job)
        job.clusters, job.start_s, job.finish_s = clusters, now_s, now_s + job.service_s
        self.running.append(job)

    def decide(self, now_s: float) -> None:
        if self.name == "conservative":
            self.conservative(now_s)
            return
        sign = {"sjf": 1, "ljf": -1, "easy": 0}[self.name]
        self.waiting.sort(key=lambda job: sign * job.estimate_s)
        while self.waiting:
            clusters = worst_fit(self.waiting[0], self.idle())
            if clusters is None:
                break
            self.start(self.waiting[0], clusters, now_s)
        if self.name == "easy" and self.waiting:
            self.backfill(now_s)

    def backfill(self, now_s: float) -> None:
        """The head starts at the earliest expected end at which it fits; others may not take what it needs then."""
        head = self.waiting[0]
        for then_s in sorted(self.expected_end_s(job, now_s) for job in self.running):
            left = [job for job in self.running if self.expected_end_s(job, now_s) > then_s]
            free = [size - sum(job.takes(at) for job in left) for at, size in enumerate(self.sizes)]
            clusters = worst_fit(head, free)
            if clusters is not None:
                break
        for size, cluster in zip(head.components, clusters, strict=True):
            free[cluster] -= size
        for job in list(self.waiting[1:]):
            if now_s + job.estimate_s <= then_s:
                clusters = worst_fit(job, self.idle())
                if clusters is not None:
                    self.start(job, clusters, now_s)
                continue
            clusters = worst_fit(job, [min(pair) for pair in zip(self.idle(), free, strict=True)])
            if clusters is not None:
                self.start(job, clusters, now_s)
                for size, cluster in zip(job.components, clusters, strict=True):
                    free[cluster] -= size

    def conservative(self, now_s: float) -> None:
        """Every job, in order of arrival, books the earliest time at which it fits for as long as it is estimated."""
        # A booking holds its job's processors from begin to end. A running job that should have ended holds them for an
        # instant before `now_s + 0` becomes `now_s`: its end is (now_s, 1), and the present is (now_s, 0).
        booked = [((now_s, 0), (self.expected_end_s(job, now_s), 1), job) for job in self.running]
        for job in list(self.waiting):
            for begin in sorted({(now_s, 0)} | {end for _, end, _ in booked}):
                until = (begin[0] + job.estimate_s, 1)
                instants = {begin} | {at for entry in booked for at in entry[:2] if begin < at < until}
                free = [
                    min(
                        size - sum(other.takes(at) for start, end, other in booked if start <= instant < end)
                        for instant in instants
                    )
                    for at, size in enumerate(self.sizes)
                ]
                clusters = worst_fit(job, free)
                if clusters is not None:
                    break
            if begin == (now_s, 0):
                self.start(job, clusters, now_s)
            job.clusters = clusters
            booked.append((begin, until, job))
