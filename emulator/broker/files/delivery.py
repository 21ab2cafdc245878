"""A job's wait for the replicas that it reads: told by the loop, waited for by the job's own thread.

It is a job's preparation as `running` knows it. The transfers were ordered when the job was placed; they are let go of
on the loop, when the job has ended.
"""

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

    def begin(self) -> None:
        """Nothing: it is under way already."""

    def end(self) -> None:
        """The job has ended, or is to."""
        self.fail("The job ended while its input file was under way.")

    def complete(self) -> None:
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
