"""A second, slow and simple implementation of the simulation studies' model, for tests; it shares no code with ours.

It follows the text of "Scheduling Policies for Processor Coallocation in Multicluster Systems". It has explicit enabled
queues, one loop over all arrivals and departures, and placement by sorting.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class PlainJob:
    """A job of the list, with the place and the times of its execution."""

    id: int
    arrival_s: float
    service_s: float
    components: list[int]
    queue: int
    start_s: float | None = None
    finish_s: float | None = None
    clusters: list[int] = field(default_factory=list)


class PlainSimulation:
    """A simulation of clusters of `sizes` under the discipline `name`; `factor` extends jobs of several components."""

    def __init__(self, name: str, sizes: list[int], factor: float = 1.0) -> None:
        self.name, self.sizes, self.factor = name, sizes, factor
        self.idle = list(sizes)
        self.local_count = len(sizes) if name not in ("gs", "sc") else 0
        self.queues: dict[object, list[PlainJob]] = {index: [] for index in range(self.local_count)}
        if name in ("gs", "sc", "gp") or name.startswith("lp"):
            self.queues["global"] = []
        self.last_disabled = list(range(self.local_count))
        self.running: list[PlainJob] = []

    def run(self, jobs: list[PlainJob]) -> list[PlainJob]:
        """Simulate all jobs; return them with their start, finish and clusters."""
        coming = list(jobs)
        while coming or self.running:
            leaving = min((job.finish_s for job in self.running), default=float("inf"))
            if coming and coming[0].arrival_s < leaving:
                self.arrive(coming.pop(0))
            else:
                # `running` is in the order of start, and min takes the first of equals.
                job = min(self.running, key=lambda job: job.finish_s)
                self.running.remove(job)
                for size, cluster in zip(job.components, job.clusters, strict=True):
                    self.idle[cluster] += size
                self.rounds(self.order_after(job), job.finish_s)
        return jobs

    def queue_of(self, job: PlainJob) -> object:
        if self.name in ("gs", "sc"):
            return "global"
        if self.name.startswith("ls"):
            return job.queue
        return job.queue if len(job.components) == 1 else "global"

    def arrive(self, job: PlainJob) -> None:
        queue = self.queue_of(job)
        self.queues[queue].append(job)
        if len(self.queues[queue]) > 1:
            return
        if self.name == "gp" and queue != "global" and self.queues["global"]:
            return
        if self.name.startswith("lp") and queue == "global" and all(self.queues[i] for i in range(self.local_count)):
            return
        self.try_head(queue, job.arrival_s)
        self.disable(queue)

    def order_after(self, departed: PlainJob) -> list[object]:
        local = [index for index in range(self.local_count) if self.queues[index]]
        waiting = bool(self.queues.get("global"))
        if self.name in ("gs", "sc"):
            return ["global"] if waiting else []
        if self.name == "ls-or":
            return local
        if self.name == "ls-do":
            return [index for index in self.last_disabled if index in local]
        if self.name == "ls-ro":
            parts = sorted(
                zip(departed.components, departed.clusters, strict=True), key=lambda part: (-part[0], part[1])
            )
            first = [cluster for _, cluster in parts]
            return [index for index in first if index in local] + [index for index in local if index not in first]
        if self.name == "gp":
            return ["global"] if waiting else local
        if not waiting or len(local) == self.local_count:
            return local
        return ["global", *local] if self.name == "lp-gf" else [*local, "global"]

    def rounds(self, enabled: list[object], now_s: float) -> None:
        global_was_enabled = "global" in enabled
        while enabled:
            this_round, next_round = enabled, []
            while this_round:
                queue = this_round.pop(0)
                started = self.try_head(queue, now_s)
                if started and self.queues[queue]:
                    next_round.append(queue)
                    continue
                self.disable(queue)
                if started and self.name == "gp" and queue == "global":
                    this_round += [index for index in range(self.local_count) if self.queues[index]]
                if started and self.name.startswith("lp") and not global_was_enabled and self.queues["global"]:
                    this_round.append("global")
                    global_was_enabled = True
            enabled = next_round

    def disable(self, queue: object) -> None:
        if queue in self.last_disabled:
            self.last_disabled.remove(queue)
            self.last_disabled.append(queue)

    def try_head(self, queue: object, now_s: float) -> bool:
        job = self.queues[queue][0]
        by_size = sorted(range(len(job.components)), key=lambda index: (-job.components[index], index))
        by_room = sorted(range(len(self.idle)), key=lambda cluster: (-self.idle[cluster], cluster))
        if self.name not in ("gs", "sc") and len(job.components) == 1:
            by_room = [job.queue]
        clusters = dict(zip(by_size, by_room, strict=False))
        if len(clusters) < len(by_size) or any(job.components[i] > self.idle[c] for i, c in clusters.items()):
            return False
        self.queues[queue].pop(0)
        job.clusters = [clusters[index] for index in range(len(by_size))]
        for size, cluster in zip(job.components, job.clusters, strict=True):
            self.idle[cluster] -= size
        job.start_s = now_s
        job.finish_s = now_s + job.service_s * (self.factor if len(job.components) > 1 else 1.0)
        self.running.append(job)
        return True
