"""LP-RD: local priority, a fair coin at each departure that enables both kinds decides which goes first."""

from __future__ import annotations

from numpy.random import Generator

from emulator.policies.queues.local_priority import LocalPriority


class LocalPriorityRandom(LocalPriority):
    """The global queue before or after the local ones, with equal chances."""

    def _global_first(self, rng: Generator) -> bool:
        return int(rng.integers(2)) == 0
