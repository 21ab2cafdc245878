"""LS, local schedulers, in four variants: one queue per cluster, each for jobs of both kinds.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2. Single-component jobs may run only
on the cluster of their queue. Multicomponent jobs run where the placement policy puts them. A departure enables all
non-empty queues. The variants LS-OR, LS-RD, LS-RO and LS-DO differ in the order in which they visit the queues.
"""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.random import Generator

from emulator.policies.protocols import Departure, WaitingJob
from emulator.policies.queues.visiting import ANYWHERE, VisitingDiscipline


class LocalSchedulers(VisitingDiscipline):
    """The common part of the LS variants: one queue per cluster, visited in the order of the variant."""

    has_local_queues: ClassVar[bool] = True
    places_singles_at_home: ClassVar[bool] = True
    has_local_queues_only: ClassVar[bool] = True

    def _number_of_queues(self, clusters: int) -> int:
        return clusters

    def _queue_of(self, job: WaitingJob) -> int:
        return self._submission_queue(job)

    def _home_of(self, job: WaitingJob, queue: int) -> int:
        return queue if job.request.single_component else ANYWHERE


class LocalSchedulersOrdered(LocalSchedulers):
    """LS-OR: queues in order of index."""


class LocalSchedulersRandom(LocalSchedulers):
    """LS-RD: queues in cyclic order of index, starting at a random queue.

    The first queue is drawn at each departure, uniformly among all queues, including empty ones.
    """

    def _enabled_at(self, departure: Departure, rng: Generator) -> list[int]:
        queues = len(self._queues)
        first = int(rng.integers(queues))
        return self._non_empty([(first + step) % queues for step in range(queues)])


class LocalSchedulersReleased(LocalSchedulers):
    """LS-RO: queues in order of the component sizes that the departing job releases on their clusters.

    The clusters of the departing job come first, by decreasing component size (the lower index among equals). All other
    clusters follow in order of index.
    """

    def _enabled_at(self, departure: Departure, rng: Generator) -> list[int]:
        largest = [0] * len(self._queues)
        for component in departure.placement.components:
            if component.processors > largest[component.cluster]:
                largest[component.cluster] = component.processors
        return self._non_empty(sorted(range(len(largest)), key=lambda queue: -largest[queue]))


class LocalSchedulersDisabled(LocalSchedulers):
    """LS-DO: the queue that has been disabled longest goes first; the initial order is that of the index.

    A queue is disabled when its head does not fit or its last job starts, also at an arrival to an empty queue. So a
    queue that gets its first job becomes the last in the order, and only queues with jobs are kept in the order.
    """

    def __init__(self) -> None:
        super().__init__()
        self._disabled_at: list[int] = []
        self._disabled: int = 0
        self._with_jobs: dict[int, None] = {}

    def snapshot(self) -> dict[str, Any]:
        """Return the queues and the order in which they were last disabled."""
        order = sorted(range(len(self._disabled_at)), key=self._disabled_at.__getitem__)
        return super().snapshot() | {"order": order}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        super().restore(snapshot)
        order: list[int] = list(snapshot["order"])
        self._disabled = len(order)
        self._disabled_at = [0] * len(order)
        for place, queue in enumerate(order):
            self._disabled_at[queue] = place
        self._with_jobs = dict.fromkeys(self._non_empty(order))

    def _open_queues(self, clusters: int) -> None:
        super()._open_queues(clusters)
        self._disabled_at = list(range(clusters))
        self._disabled = clusters

    def _enabled_at(self, departure: Departure, rng: Generator) -> list[int]:
        # A withdrawal may have emptied one of them.
        return [queue for queue in self._with_jobs if self._queues[queue].waiting]

    def _note_disabled(self, queue: int) -> None:
        self._disabled_at[queue] = self._disabled
        self._disabled += 1
        self._with_jobs.pop(queue, None)
        if self._queues[queue].waiting:
            self._with_jobs[queue] = None
