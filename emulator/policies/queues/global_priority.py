"""GP, global priority: a local queue is enabled only while the global queue is empty.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2. When the global queue
becomes empty during a visiting round, the local queues are enabled immediately.
"""

from __future__ import annotations

from numpy.random import Generator

from emulator.policies.protocols import Departure
from emulator.policies.queues.global_and_local import GlobalAndLocal


class GlobalPriority(GlobalAndLocal):
    """GP: the global queue has priority over all local queues."""

    def _enabled_at(self, departure: Departure, rng: Generator) -> list[int]:
        return [self._global] if self._queues[self._global].waiting else self._non_empty_locals()

    def _may_try_arrival(self, queue: int) -> bool:
        return queue == self._global or not self._queues[self._global].waiting

    def _joining(self, emptied: int) -> list[int]:
        return self._non_empty_locals() if emptied == self._global else []
