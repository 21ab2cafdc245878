"""LP-GF: local priority, the global queue first in each round."""

from __future__ import annotations

from numpy.random import Generator

from emulator.policies.queues.local_priority import LocalPriority


class LocalPriorityGlobalFirst(LocalPriority):
    """The global queue, then the local ones."""

    def _global_first(self, rng: Generator) -> bool:
        return True
