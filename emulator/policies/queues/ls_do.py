"""LS-DO: local schedulers visited in the order in which their queues were last disabled, at first that of index.

A head that does not fit and the start of a queue's last job both disable it, also at an arrival to an empty queue.
"""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from emulator.policies.protocols import Departure
from emulator.policies.queues.local_schedulers import LocalSchedulers


class LocalSchedulersDisabled(LocalSchedulers):
    """The queue that has been disabled longest goes first."""

    def __init__(self) -> None:
        super().__init__()
        self._order: list[int] = []

    def snapshot(self) -> dict[str, Any]:
        """The queues, and the order in which they were last disabled."""
        return super().snapshot() | {"order": list(self._order)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become what `snapshot` describes."""
        super().restore(snapshot)
        self._order = list(snapshot["order"])

    def _open_queues(self, clusters: int) -> None:
        super()._open_queues(clusters)
        self._order = list(range(clusters))

    def _enabled_at(self, departure: Departure, rng: Generator) -> list[int]:
        return self._non_empty(self._order)

    def _note_disabled(self, queue: int) -> None:
        self._order.remove(queue)
        self._order.append(queue)
