"""A job's wait for the replicas that it reads: told by the loop, waited for by the job's own thread."""

from __future__ import annotations

import threading

from emulator.model.errors import TransferFailed


class Delivery:
    """The sites at which a job's input file is still missing; settled when it is everywhere, or when it cannot be."""

    def __init__(self, missing: set[str]) -> None:
        self._missing = set(missing)
        self._problem = ""
        self._settled = threading.Event()
        self._settle_if_whole()

    def arrived(self, site: str) -> None:
        """The file is at `site` now."""
        self._missing.discard(site)
        self._settle_if_whole()

    def fail(self, reason: str) -> None:
        """It will not come, or nobody waits for it any more; does nothing once it is settled."""
        if not self._settled.is_set():
            self._problem = reason
            self._settled.set()

    def wait(self) -> None:
        """Wait until the file is wherever the job runs.

        Raises:
            TransferFailed: if it will not be.
        """
        self._settled.wait()
        if self._problem:
            raise TransferFailed(self._problem)

    def _settle_if_whole(self) -> None:
        if not self._missing:
            self._settled.set()
