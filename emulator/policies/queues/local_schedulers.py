"""LS, local schedulers: what its four variants share. One queue per cluster holds jobs of both kinds.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2. Single-component jobs may run on
the home cluster of their queue only, multicomponent jobs wherever the placement policy puts them. A departure enables
all non-empty queues; the variants differ in the order.
"""

from __future__ import annotations

from typing import ClassVar

from emulator.policies.protocols import WaitingJob
from emulator.policies.queues.visiting import ANYWHERE, VisitingDiscipline


class LocalSchedulers(VisitingDiscipline):
    """One queue per cluster, visited in the order that a variant chooses."""

    has_local_queues: ClassVar[bool] = True
    has_local_queues_only: ClassVar[bool] = True

    def _number_of_queues(self, clusters: int) -> int:
        return clusters

    def _queue_of(self, job: WaitingJob) -> int:
        return self._submission_queue(job)

    def _home_of(self, job: WaitingJob, queue: int) -> int:
        return queue if job.request.single_component else ANYWHERE
