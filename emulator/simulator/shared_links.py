"""Co-allocated jobs that share access links: a network-aware runtime model.

Each cluster has one access link, and what a job over several clusters communicates crosses the links of all of them.
Alone, such a job takes its extended time, of which the part beyond its service time is communication. In company that
part stretches with the number of co-allocated jobs on its busiest link, beyond those the link carries unharmed: links
are shared fairly, computation is not disturbed. A job progresses at a rate that changes only when another co-allocated
job starts or ends, so its end is exact between those moments and moves at them.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement
from emulator.simulator.runtime import RuntimeModel


class Crossing:
    """A co-allocated job on its way: what is left of it at the moment it was last looked at.

    `rest` is 1 at the start and 0 at the end; `computing_s` and `communicating_s` are the parts of the whole, alone.
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
        """Seconds from start to end at the present company."""
        return self.computing_s + self.communicating_s * self.company

    def share_with(self, company: float, time_s: float) -> None:
        """From `time_s` on communication takes `company` times as long as alone."""
        if time_s > self.looked_s and self.whole_s > 0:
            self.rest = max(0.0, self.rest - (time_s - self.looked_s) / self.whole_s)
        self.looked_s = max(self.looked_s, time_s)
        self.company = company
        self.finish_s = self.looked_s + self.rest * self.whole_s


class SharedLinks:
    """Jobs as `alone` has them, slowed by each other where more than `jobs_per_link` of them share an access link.

    Raises:
        InvalidInput: if a link carries no job at all.
    """

    def __init__(self, alone: RuntimeModel, jobs_per_link: int = 1) -> None:
        if jobs_per_link < 1:
            raise InvalidInput(f"jobs_per_link: a link carries at least one job, not {jobs_per_link}.")
        self._alone = alone
        self._jobs_per_link = jobs_per_link
        self._crossing: dict[int, Crossing] = {}
        self._on_link: dict[int, int] = {}
        self._moved: list[tuple[int, float]] = []

    def execution_s(self, application: str, placement: Placement, service_s: float) -> float:
        """Seconds that the job takes without company."""
        return self._alone.execution_s(application, placement, service_s)

    def begin(self, job: int, application: str, placement: Placement, service_s: float, time_s: float) -> None:
        """Job `job` starts; if it is co-allocated, its links become busier."""
        clusters = placement.clusters()
        if len(clusters) == 1:
            return
        execution_s = self.execution_s(application, placement, service_s)
        self._crossing[job] = Crossing(clusters, service_s, execution_s - service_s, time_s)
        self._occupy(clusters, 1, time_s)

    def end(self, job: int, time_s: float) -> None:
        """Job `job` ends; if it was co-allocated, its links become freer."""
        crossing = self._crossing.pop(job, None)
        if crossing is not None:
            self._occupy(crossing.clusters, -1, time_s)

    def moved(self) -> Sequence[tuple[int, float]]:
        """The jobs whose end has moved since the last call, each with its new end."""
        moved, self._moved = self._moved, []
        return moved

    def _occupy(self, clusters: list[int], jobs: int, time_s: float) -> None:
        for cluster in clusters:
            self._on_link[cluster] = self._on_link.get(cluster, 0) + jobs
        for number, crossing in self._crossing.items():
            busiest = max(self._on_link[cluster] for cluster in crossing.clusters)
            company = max(1.0, busiest / self._jobs_per_link)
            if company != crossing.company:
                crossing.share_with(company, time_s)
                self._moved.append((number, crossing.finish_s))
