"""The common part of GP and LP: local queues for single-component jobs, a global queue for multicomponent jobs.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2. A local queue has the index of its
cluster, and its jobs may run only there. The global queue has the index after all local queues.
"""

from __future__ import annotations

from typing import ClassVar

from emulator.policies.protocols import WaitingJob
from emulator.policies.queues.visiting import ANYWHERE, VisitingDiscipline


class GlobalAndLocal(VisitingDiscipline):
    """One local queue per cluster and one global queue."""

    has_local_queues: ClassVar[bool] = True
    places_singles_at_home: ClassVar[bool] = True

    @property
    def _global(self) -> int:
        return self._clusters

    def _number_of_queues(self, clusters: int) -> int:
        return clusters + 1

    def _queue_of(self, job: WaitingJob) -> int:
        return self._submission_queue(job) if job.request.single_component else self._global

    def _home_of(self, job: WaitingJob, queue: int) -> int:
        return ANYWHERE if queue == self._global else queue

    def _non_empty_locals(self) -> list[int]:
        return self._non_empty(self._by_index[: self._clusters])
