"""The occupancy of the clusters: read anew for each decision, cached for viewers."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from emulator.clusters.protocol import LocalResourceManager, Occupancy
from emulator.model.errors import ClusterUnreachable

CACHE_HOST_S: Final = 1.0
"""Host seconds for which viewers get the same reading."""


class OccupancyReader:
    """Reads the occupancy of all clusters at once."""

    def __init__(self, managers: Sequence[LocalResourceManager]) -> None:
        self._managers = managers
        self._pool = ThreadPoolExecutor(max_workers=len(managers), thread_name_prefix="occupancy")

    def read(self, lost: Collection[str] = ()) -> list[Occupancy | None]:
        """Get the occupancy per cluster, in order; None if one does not answer. Clusters in `lost` are not asked."""
        readings = [
            None if manager.cluster in lost else self._pool.submit(_read_occupancy, manager)
            for manager in self._managers
        ]
        return [future.result() if future else None for future in readings]

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False)


class CachedOccupancyReader:
    """An occupancy reader for viewers: however many ask, it reads the clusters about once a host second.

    It has threads of its own, so that a cluster that answers slowly delays no decision.
    """

    def __init__(self, managers: Sequence[LocalResourceManager]) -> None:
        self._reader = OccupancyReader(managers)
        self._lock = threading.Lock()
        self._read: list[Occupancy | None] = []
        self._lost: frozenset[str] = frozenset()
        self._read_host_s = -math.inf

    def read(self, lost: Collection[str] = ()) -> list[Occupancy | None]:
        """Get the occupancy per cluster, in order, at most `CACHE_HOST_S` old; read anew if other clusters are lost."""
        with self._lock:
            is_recent = time.monotonic() - self._read_host_s < CACHE_HOST_S
            if not is_recent or self._lost != frozenset(lost):
                self._read, self._lost = self._reader.read(lost), frozenset(lost)
                self._read_host_s = time.monotonic()
            return self._read

    def close(self) -> None:
        """End the threads."""
        self._reader.close()


def _read_occupancy(manager: LocalResourceManager) -> Occupancy | None:
    try:
        return manager.occupancy()
    except ClusterUnreachable:
        return None
