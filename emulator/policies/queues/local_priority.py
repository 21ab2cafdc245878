"""LP, local priority: what its three variants share. The global queue is enabled only where a local queue is empty.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2. With no local queue empty only
they are enabled, and the global queue joins at the end of the round in which one of them empties. With at least one
empty both kinds are enabled, in an order within each round that the variants choose.
"""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from emulator.policies.protocols import Departure
from emulator.policies.queues.global_and_local import GlobalAndLocal


class LocalPriority(GlobalAndLocal):
    """Local queues in order of index, and the global queue before or after them."""

    def __init__(self) -> None:
        super().__init__()
        self._global_may_join = False

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become what `snapshot` describes."""
        super().restore(snapshot)
        self._global_may_join = False

    def _global_first(self, rng: Generator) -> bool:
        """Whether the global queue goes before the local ones in each round; asked only if both kinds are enabled."""
        return False

    def _enabled_at(self, departure: Departure, rng: Generator) -> list[int]:
        local_queues = self._non_empty_locals()
        self._global_may_join = False
        if not self._queues[self._global].waiting:
            return local_queues
        if len(local_queues) == self._clusters:
            self._global_may_join = True
            return local_queues
        if not local_queues:
            return [self._global]
        return [self._global, *local_queues] if self._global_first(rng) else [*local_queues, self._global]

    def _may_try_arrival(self, queue: int) -> bool:
        return queue != self._global or len(self._non_empty_locals()) < self._clusters

    def _joining(self, emptied: int) -> list[int]:
        joins = self._global_may_join
        self._global_may_join = False
        return [self._global] if joins else []
