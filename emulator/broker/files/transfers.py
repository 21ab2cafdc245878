"""Transfers, each on a thread of its own, and the jobs that wait for them.

The thread decides nothing. It reports the transfer's end once; of a cancelled transfer nothing is left then.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from emulator.broker.files.disk_space import DiskSpace, Reservation
from emulator.clusters.file_server import Fetched, FileServer, RunningTransfer, StoredFile
from emulator.clusters.passes import passing
from emulator.model.clock import host_clock_step_s
from emulator.model.errors import TestbedError, TransferFailed


@dataclass(frozen=True, slots=True)
class TransferEnded:
    """The result of a transfer: the fetched file, or the reason why there is none."""

    fetched: Fetched | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FileArrived:
    """A file that was transferred between two sites; `bytes_per_s` is in emulated seconds."""

    file: str
    source: str
    target: str
    size_bytes: int
    host_began_s: float
    host_arrived_s: float
    bytes_per_s: float


class Transfer:
    """A transfer of `file` from the file server at `source` to that of `target`, if `disk_space` has room for it."""

    def __init__(
        self,
        file: StoredFile,
        source: FileServer,
        target: FileServer,
        disk_space: DiskSpace,
        label: str,
        report: Callable[[TransferEnded], None],
    ) -> None:
        self.source = source.site
        self.cancelled = False
        self.received_bytes = 0
        self._file = file
        self._source_server = source
        self._target = target
        self._disk_space = disk_space
        self._label = label
        self._report = report
        self._running: RunningTransfer | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"transfer-{label}", daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def cancel(self) -> None:
        """Cancel the transfer; returns at once, and the end is reported when nothing is left of it."""
        with self._lock:
            self.cancelled = True
            if self._running is not None:
                self._running.cancel()

    def _run(self) -> None:
        try:
            ended = TransferEnded(self._fetch())
        except TestbedError as error:
            ended = TransferEnded(None, str(error))
        except Exception as error:
            ended = TransferEnded(None, f"File {self._file.name!r} did not come: the broker failed ({error!r}).")
        if self.cancelled:
            # It may have been cancelled just when the file was complete.
            with contextlib.suppress(TestbedError):
                self._target.remove(self._file.name)
            ended = TransferEnded(None, f"The transfer of file {self._file.name!r} was cancelled.")
        self._report(ended)

    def _fetch(self) -> Fetched:
        with contextlib.ExitStack() as held:
            room = self._reserve_room(held)
            # A container has a key to all containers, and real heads have keys of their own.
            doors = [self._source_server] if self._source_server.is_real and not self._target.is_real else []
            key = held.enter_context(passing(f"file-{self._label}", doors))
            running = self._target.fetch(self._file, self._source_server.address, self._label, key)
            with self._lock:
                self._running = running
                if self.cancelled:
                    running.cancel()
            return running.wait(partial(self._on_progress, room))

    def _reserve_room(self, held: contextlib.ExitStack) -> Reservation:
        try:
            return held.enter_context(self._disk_space.reserved([self._target.site], self._file.size_bytes))
        except TransferFailed as error:
            raise TransferFailed(f"File {self._file.name!r} did not come to {self._target.site!r}: {error}") from error

    def _on_progress(self, room: Reservation, received_bytes: int) -> None:
        room.written_bytes = self.received_bytes = received_bytes


class Delivery:
    """A job's wait for its input file: over when the file is at all of its sites, or cannot be.

    It is the job's preparation. The loop reports arrivals; the job's thread waits.
    """

    def __init__(self, missing: set[str]) -> None:
        self._missing = set(missing)
        self._problem = ""
        self._host_steady_arrived_s: float | None = None
        self._settled = threading.Event()
        self._settle_if_complete()

    def arrived(self, site: str, host_arrived_s: float) -> None:
        """Take note that the file is at `site`, where its last byte came at `host_arrived_s` of the wall clock.

        If that clock was set back since, the file came now at the latest.
        """
        self._missing.discard(site)
        steady_s = min(host_arrived_s, time.time()) - host_clock_step_s()
        self._host_steady_arrived_s = max(steady_s, self._host_steady_arrived_s or steady_s)
        self._settle_if_complete()

    def fail(self, reason: str) -> None:
        """End the wait with an error; does nothing once it is over."""
        if not self._settled.is_set():
            self._problem = reason
            self._settled.set()

    def begin(self) -> None:
        """Do nothing: the transfers are under way already."""

    def end(self) -> None:
        """End the wait because the job has ended or is stopped."""
        self.fail("The job ended while its input file was under way.")

    def complete(self) -> float | None:
        """Wait until the file is at all clusters of the job; returns when it came to the last one, if it was brought.

        That is a timestamp of the host's steady clock.

        Raises:
            TransferFailed: if it will not be.
        """
        self._settled.wait()
        if self._problem:
            raise TransferFailed(self._problem)
        return self._host_steady_arrived_s

    def _settle_if_complete(self) -> None:
        if not self._missing:
            self._settled.set()
