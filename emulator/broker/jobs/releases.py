"""Releases that are tried until the local resource manager no longer lists the allocation.

An allocation comes here if its end was not reported after its release, if the answer to its claim was lost, or if it
was granted after its claim had been given up. An answer that fails, or cannot be had, is never taken for "nothing
is held". If an allocation is not listed, and its end was not reported, its manager has forgotten it, and what is left
of it ends, too. Any thread may call the methods.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from emulator.clusters.protocol import LocalResourceManager
from emulator.model.errors import TestbedError

log = logging.getLogger(__name__)
FIRST_PAUSE_HOST_S: Final = 0.5
LONGEST_PAUSE_HOST_S: Final = 10.0
"""Pauses between tries in one cluster double from the first to the longest. The end of an allocation that was reported
as granted is often reported within the first."""


@dataclass(frozen=True, slots=True)
class Unreleased:
    """A claim whose allocation is to be released; every allocation of that claim, if its identity is unknown."""

    claim: str
    allocation: str | None = None

    def among(self, listed: Mapping[str, str]) -> list[str]:
        """Return the `listed` allocations that are meant, given the claim of each."""
        return [
            allocation
            for allocation, claim in listed.items()
            if claim == self.claim and self.allocation in (None, allocation)
        ]


class Releases:
    """The allocations that are still to be released, each cluster's on a thread of its own."""

    def __init__(self) -> None:
        self._pending: dict[str, set[Unreleased]] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def add(self, manager: LocalResourceManager, claim: str, allocation: str | None = None) -> None:
        """Release an allocation of `claim` soon, and go on until it is gone; returns at once."""
        with self._lock:
            is_new = manager.cluster not in self._pending
            self._pending.setdefault(manager.cluster, set()).add(Unreleased(claim, allocation))
        if is_new:
            name = f"release-{manager.cluster}"
            threading.Thread(target=self._release_all, args=(manager,), name=name, daemon=True).start()

    def note_ended(self, cluster: str, claim: str, allocation: str) -> None:
        """Take note that an allocation has ended by itself."""
        with self._lock:
            self._pending.get(cluster, set()).discard(Unreleased(claim, allocation))

    def close(self) -> None:
        """Stop trying."""
        self._closing.set()

    def _release_all(self, manager: LocalResourceManager) -> None:
        pause_host_s = FIRST_PAUSE_HOST_S
        while not self._closing.wait(pause_host_s):
            with self._lock:
                pending = set(self._pending[manager.cluster])
                if not pending:
                    del self._pending[manager.cluster]
                    return
            gone = self._try_once(manager, pending)
            with self._lock:
                self._pending[manager.cluster] -= gone
            pause_host_s = FIRST_PAUSE_HOST_S if gone else min(2 * pause_host_s, LONGEST_PAUSE_HOST_S)

    def _try_once(self, manager: LocalResourceManager, pending: set[Unreleased]) -> set[Unreleased]:
        """Release what is still listed; returns what is not."""
        gone: set[Unreleased] = set()
        try:
            listed = manager.allocations()
            for each in pending:
                allocations = each.among(listed)
                if not allocations:
                    manager.forget(each.claim)
                    gone.add(each)
                for allocation in allocations:
                    manager.release(allocation)
        except TestbedError as error:
            log.warning("cluster %s: an allocation is not released yet: %s", manager.cluster, error)
        except Exception:
            log.exception("cluster %s: an allocation is not released yet", manager.cluster)
        return gone
