"""Contention of co-allocated jobs for access links.

Each cluster has one access link, and the communication of a job over several clusters crosses the links of all of them.
Alone, such a job takes its extended time; the part beyond its service time is communication. With other jobs, that part
grows with the number of co-allocated jobs on its busiest link, divided by the number that the link carries without
slowdown. Links are shared fairly, and computation is not disturbed. A job progresses at a rate that changes only when
another co-allocated job starts or ends. Its expected end is exact until then.

All communication is taken to be limited by the rate of the links. Messages that wait for the delay of a path do not
slow each other down, so for a job with many small messages this is an upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement


class Crossing:
    """A running co-allocated job, with the fraction of its work that was left at the last update.

    `rest` is 1 at the start and 0 at the end. `computing_s` and `communicating_s` are the times that the whole job
    computes and communicates if it is alone. `looked_s` is the timestamp of the last update. `company` is the factor by
    which communication is slower than alone.
    """

    def __init__(self, clusters: list[int], computing_s: float, communicating_s: float, time_s: float) -> None:
        self.clusters = clusters
        self.computing_s = computing_s
        self.communicating_s = communicating_s
        self.rest = 1.0
        self.looked_s = time_s
        self.company = 1.0
        self.finish_s = time_s + computing_s + communicating_s

    @property
    def whole_s(self) -> float:
        """Seconds from start to end at the current `company`."""
        return self.computing_s + self.communicating_s * self.company

    def share_with(self, company: float, time_s: float) -> None:
        """Make communication take `company` times as long as alone from the emulated timestamp `time_s` on."""
        if time_s > self.looked_s and self.whole_s > 0:
            self.rest = max(0.0, self.rest - (time_s - self.looked_s) / self.whole_s)
        self.looked_s = max(self.looked_s, time_s)
        self.company = company
        self.finish_s = self.looked_s + self.rest * self.whole_s


class SharedLinks:
    """Access links on which jobs slow each other down if more than `jobs_per_link` co-allocated ones share one.

    Raises:
        InvalidInput: if `jobs_per_link` is below 1.
    """

    def __init__(self, jobs_per_link: int = 1) -> None:
        if jobs_per_link < 1:
            raise InvalidInput(f"jobs_per_link: a link carries at least one job, not {jobs_per_link}.")
        self._jobs_per_link = jobs_per_link
        self._crossing: dict[int, Crossing] = {}
        self._on_link: dict[int, set[int]] = {}
        self._moved: list[tuple[int, float]] = []

    def begin(self, job: int, placement: Placement, service_s: float, execution_s: float, time_s: float) -> None:
        """Start job number `job`; if it is co-allocated, it is added to its links.

        A job that is not extended is taken not to communicate.
        """
        clusters = placement.clusters()
        if len(clusters) == 1:
            return
        computing_s = min(service_s, execution_s)
        self._crossing[job] = Crossing(clusters, computing_s, execution_s - computing_s, time_s)
        for cluster in clusters:
            self._on_link.setdefault(cluster, set()).add(job)
        self._share(clusters, time_s)

    def end(self, job: int, time_s: float) -> None:
        """End job number `job`; if it was co-allocated, it is removed from its links."""
        crossing = self._crossing.pop(job, None)
        if crossing is not None:
            for cluster in crossing.clusters:
                self._on_link[cluster].remove(job)
            self._share(crossing.clusters, time_s)

    def moved(self) -> Sequence[tuple[int, float]]:
        """Return the jobs whose end has moved since the last call, each with its new end."""
        moved, self._moved = self._moved, []
        return moved

    def _share(self, changed: list[int], time_s: float) -> None:
        """Share the links of the `changed` clusters anew. No other job's company changes."""
        jobs: set[int] = set()
        for cluster in changed:
            jobs |= self._on_link[cluster]
        for job in sorted(jobs):
            crossing = self._crossing[job]
            busiest = max([len(self._on_link[cluster]) for cluster in crossing.clusters])
            company = max(1.0, busiest / self._jobs_per_link)
            if company != crossing.company:
                crossing.share_with(company, time_s)
                self._moved.append((job, crossing.finish_s))
