"""LS-RO: local schedulers visited by where the departing job gave back most.

Queues of the clusters of its components come first, by decreasing component size (the lower index among equals), all
others after them in order of index.
"""

from __future__ import annotations

from numpy.random import Generator

from emulator.policies.protocols import Departure
from emulator.policies.queues.local_schedulers import LocalSchedulers


class LocalSchedulersReleased(LocalSchedulers):
    """Queues of the clusters with the largest released components first."""

    def _enabled_at(self, departure: Departure, rng: Generator) -> list[int]:
        largest = [0] * len(self._queues)
        for component in departure.placement.components:
            if component.processors > largest[component.cluster]:
                largest[component.cluster] = component.processors
        return self._non_empty(sorted(range(len(largest)), key=lambda queue: -largest[queue]))
