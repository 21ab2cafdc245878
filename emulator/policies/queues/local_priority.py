"""LP, local priority, in three variants: the global queue is enabled only while a local queue is empty.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2. While no local queue is empty, only
the local queues are enabled; the global queue joins at the end of the round in which a local queue becomes empty. While
at least one local queue is empty, both kinds are enabled. The variants LP-LF, LP-GF and LP-RD differ in the order of
the two kinds within each round.
"""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from emulator.policies.protocols import Departure
from emulator.policies.queues.global_and_local import GlobalAndLocal


class LocalPriority(GlobalAndLocal):
    """The common part of the LP variants: local queues in order of index, the global queue before or after them."""

    def __init__(self) -> None:
        super().__init__()
        self._global_may_join = False

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        super().restore(snapshot)
        self._global_may_join = False

    def _global_first(self, rng: Generator) -> bool:
        """Return whether the global queue goes first in each round; called only if both kinds are enabled."""
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


class LocalPriorityLocalFirst(LocalPriority):
    """LP-LF: the local queues, then the global queue."""


class LocalPriorityGlobalFirst(LocalPriority):
    """LP-GF: the global queue, then the local queues."""

    def _global_first(self, rng: Generator) -> bool:
        return True


class LocalPriorityRandom(LocalPriority):
    """LP-RD: at each departure that enables both kinds, a random kind goes first, each with probability 1/2."""

    def _global_first(self, rng: Generator) -> bool:
        return int(rng.integers(2)) == 0
