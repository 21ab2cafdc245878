"""Allocations that a cluster lists in the testbed's name and that belong to no job.

A local resource manager that is killed may forget what it had not written yet, so that an allocation whose end it had
reported is held again after its restart. No event tells of that, so each cluster is asked now and then.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from emulator.clusters.protocol import LocalResourceManager
from emulator.model.errors import TestbedError

log = logging.getLogger(__name__)
INTERVAL_HOST_S: Final = 20.0
"""The time between two questions to a cluster. Each takes some milliseconds of the host's processors."""


class StrayCheck:
    """A thread for each cluster that passes what the cluster lists to `release_strays`."""

    def __init__(
        self,
        managers: Sequence[LocalResourceManager],
        release_strays: Callable[[LocalResourceManager, Mapping[str, str]], None],
    ) -> None:
        self._managers = managers
        self._release_strays = release_strays
        self._closing = threading.Event()

    def open(self) -> None:
        """Start the threads."""
        for manager in self._managers:
            name = f"strays-{manager.cluster}"
            threading.Thread(target=self._check, args=(manager,), name=name, daemon=True).start()

    def close(self) -> None:
        """Ask no more; a thread whose cluster hangs ends with its question."""
        self._closing.set()

    def _check(self, manager: LocalResourceManager) -> None:
        while not self._closing.wait(INTERVAL_HOST_S):
            try:
                listed = manager.allocations()
            except TestbedError:
                continue  # a cluster that does not answer is asked again; readings say that it is lost or silent
            except Exception:
                log.exception("cluster %s: its allocations could not be read", manager.cluster)
                continue
            if not self._closing.is_set():
                self._release_strays(manager, listed)
