"""Simulated file servers for tests of the broker, which can be set to stall or to fail."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Collection

from emulator.clusters.file_server import Fetched, StoredFile
from emulator.model.errors import ClusterUnreachable, TransferFailed

BYTES_PER_HOST_S = 1_000_000.0
WITHIN_HOST_S = 60.0


class SimulatedTransfer:
    """A transfer that completes at once, as if at `BYTES_PER_HOST_S`.

    If its target `holds_back`, only half of the file arrives until `go_on` or a cancel.
    """

    def __init__(self, file: StoredFile, source: SimulatedFileServer, target: SimulatedFileServer) -> None:
        self._file, self._source, self._target = file, source, target
        self._may_go_on = threading.Event()
        self._cancelled = False
        if not target.holds_back:
            self._may_go_on.set()

    def wait(self, on_progress: Callable[[int], None]) -> Fetched:
        on_progress(self._file.size_bytes // 2)
        assert self._may_go_on.wait(WITHIN_HOST_S)
        self._target.check_speaking()
        if self._cancelled:
            raise TransferFailed(f"File {self._file.name!r} did not come to {self._target.site!r}: it was ended.")
        if self._source.files.get(self._file.name) != self._file:
            raise TransferFailed(f"File {self._file.name!r} did not come to {self._target.site!r}: no such file.")
        self._target.files[self._file.name] = self._file
        on_progress(self._file.size_bytes)
        now = time.time()
        return Fetched(self._file.size_bytes, now - self._file.size_bytes / BYTES_PER_HOST_S, now)

    def go_on(self) -> None:
        self._may_go_on.set()

    def cancel(self) -> None:
        self._cancelled = True
        self._may_go_on.set()


class SimulatedFileServer:
    """A file server that holds files; it does not answer if `silent`, and makes no file if it `refuses`."""

    def __init__(self, site: str, everywhere: dict[str, SimulatedFileServer]) -> None:
        self.site = site
        self.address = f"{site}.wide-area"
        self.files: dict[str, StoredFile] = {}
        self.transfers: list[SimulatedTransfer] = []
        self.disk_bytes = 10**15
        self.is_real = False
        self.admitted: dict[str, str] = {}
        self.keys: list[str] = []
        self.holds_back = self.refuses = self.silent = False
        self._everywhere = everywhere
        everywhere[self.address] = self

    def free_bytes(self) -> int:
        self.check_speaking()
        return self.disk_bytes

    def make(self, name: str, size_bytes: int, seed: int) -> StoredFile:
        self.check_speaking()
        if self.refuses:
            raise TransferFailed(f"File {name!r} of {size_bytes} bytes could not be made at {self.site!r}: no room.")
        checksum = hashlib.sha256(f"{name} {size_bytes} {seed}".encode()).hexdigest()
        self.files[name] = StoredFile(name, size_bytes, checksum)
        return self.files[name]

    def admit(self, use: str, public_key: str) -> None:
        self.check_speaking()
        self.admitted[use] = public_key

    def dismiss(self, use: str) -> None:
        self.check_speaking()
        del self.admitted[use]

    def fetch(self, file: StoredFile, source: str, label: str, key: str = "") -> SimulatedTransfer:
        self.check_speaking()
        self.keys.append(key)
        self.transfers.append(SimulatedTransfer(file, self._everywhere[source], self))
        return self.transfers[-1]

    def remove(self, name: str) -> None:
        self.check_speaking()
        self.files.pop(name, None)

    def tidy(self, keep: Collection[str]) -> frozenset[str]:
        self.check_speaking()
        self.files = {name: file for name, file in self.files.items() if name in keep}
        return frozenset(self.files)

    def close(self) -> None:
        pass

    def check_speaking(self) -> None:
        if self.silent:
            raise ClusterUnreachable(f"Cluster {self.site!r} stopped answering.")


def file_servers(*sites: str) -> list[SimulatedFileServer]:
    """Return a file server per site, each reaching all others."""
    everywhere: dict[str, SimulatedFileServer] = {}
    return [SimulatedFileServer(site, everywhere) for site in sites]
