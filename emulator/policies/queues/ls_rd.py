"""LS-RD: local schedulers visited in cyclic order from a queue drawn anew at each departure.

The start is drawn uniformly among all queues, empty ones included.
"""

from __future__ import annotations

from numpy.random import Generator

from emulator.policies.protocols import Departure
from emulator.policies.queues.local_schedulers import LocalSchedulers


class LocalSchedulersRandom(LocalSchedulers):
    """Queues in cyclic order of index, beginning anywhere."""

    def _enabled_at(self, departure: Departure, rng: Generator) -> list[int]:
        queues = len(self._queues)
        first = int(rng.integers(queues))
        return self._non_empty([(first + step) % queues for step in range(queues)])
