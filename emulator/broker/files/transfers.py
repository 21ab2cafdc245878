"""One transfer on a thread of its own, from the order at the target's file server to its end.

The thread decides nothing: it reports its end once, after nothing of a transfer that was cancelled is left.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

from emulator.clusters.file_server import Fetched, FileServer, RunningTransfer, StoredFile
from emulator.model.errors import TestbedError


@dataclass(frozen=True, slots=True)
class TransferEnded:
    """What became of a transfer: the file was fetched, or the reason why not."""

    fetched: Fetched | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A file came from one site to another at so many emulated bytes per second; moments are of the host's clock."""

    file: str
    source: str
    target: str
    size_bytes: int
    host_began_s: float
    host_arrived_s: float
    bytes_per_s: float


class Transfer:
    """Brings `file` from the file server at `source` to that of `target`."""

    def __init__(
        self,
        file: StoredFile,
        source: FileServer,
        target: FileServer,
        label: str,
        report: Callable[[TransferEnded], None],
    ) -> None:
        self.source = source.site
        self.cancelled = False
        self.received_bytes = 0
        self._file = file
        self._source_address = source.address
        self._target = target
        self._label = label
        self._report = report
        self._running: RunningTransfer | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._carry, name=f"transfer-{label}", daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def cancel(self) -> None:
        """End it; returns at once, its end is reported when nothing is left of it."""
        with self._lock:
            self.cancelled = True
            if self._running is not None:
                self._running.cancel()

    def _carry(self) -> None:
        try:
            ended = TransferEnded(self._fetch())
        except TestbedError as error:
            ended = TransferEnded(None, str(error))
        except Exception as error:
            ended = TransferEnded(None, f"File {self._file.name!r} did not come: the broker failed ({error!r}).")
        if self.cancelled:
            # The moment at which it was cancelled may have been that at which it was whole.
            with contextlib.suppress(TestbedError):
                self._target.remove(self._file.name)
            ended = TransferEnded(None, f"The transfer of file {self._file.name!r} was cancelled.")
        self._report(ended)

    def _fetch(self) -> Fetched:
        running = self._target.fetch(self._file, self._source_address, self._label)
        with self._lock:
            self._running = running
            if self.cancelled:
                running.cancel()
        return running.wait(self._note)

    def _note(self, received_bytes: int) -> None:
        self.received_bytes = received_bytes
