"""The interface of a site's file server: make a file, fetch one from another site, remove one.

A file appears under its name only when it is complete. A file in transfer has another name elsewhere; its remains are
removed when the transfer ends, or by `tidy`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A content under a logical name; `sha256` in hexadecimal digits."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """A transfer that succeeded: its bytes crossed the wide area between two timestamps of the host's clock.

    Logging in at the source comes before, checking and renaming after: neither belongs to the wide area.
    """

    size_bytes: int
    host_began_s: float
    host_arrived_s: float


class RunningTransfer(Protocol):
    """A transfer in progress."""

    def wait(self, on_progress: Callable[[int], None]) -> Fetched:
        """Wait for its end; call `on_progress` with the bytes received so far.

        Raises:
            TransferFailed: if the file did not come, was cancelled, or is not what its source has.
            ClusterUnreachable: if the file server was lost meanwhile.
        """
        ...

    def cancel(self) -> None:
        """End it and remove its remains; `wait` then raises. Do nothing if it has ended."""
        ...


class FileServer(Protocol):
    """One site's file server. Every method may raise `ClusterUnreachable`."""

    @property
    def site(self) -> str:
        """The name of its cluster."""
        ...

    @property
    def is_real(self) -> bool:
        """Whether it is at a real head, which lets no container in without a key of its own."""
        ...

    @property
    def address(self) -> str:
        """Where the other sites reach it, over the wide area."""
        ...

    def free_bytes(self) -> int:
        """Get the bytes that are free on the disk that holds its files."""
        ...

    def make(self, name: str, size_bytes: int, seed: int) -> StoredFile:
        """Make a file whose content depends on name, size and seed alone.

        Raises:
            TransferFailed: if it could not be made, for instance if the disk is full.
        """
        ...

    def admit(self, use: str, public_key: str) -> None:
        """Let the holder of a key read files here, until `dismiss`; do nothing if this is a container."""
        ...

    def dismiss(self, use: str) -> None:
        """No longer let in the key that was admitted for `use`."""
        ...

    def fetch(self, file: StoredFile, source: str, label: str, key: str = "") -> RunningTransfer:
        """Begin to bring `file` from the file server at address `source`; `label` is this transfer's own name.

        It logs in there by the private `key`, if one is given.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove a file; do nothing if there is none."""
        ...

    def tidy(self, keep: Collection[str]) -> frozenset[str]:
        """Remove remains of transfers and all files except those in `keep`; return which of these exist."""
        ...
