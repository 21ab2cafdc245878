"""The disk of this host, which all emulated sites share, checked before files are written and reserved until they are.

Each file server by itself sees the whole disk as its own. A real site has its own disk, and checks it itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock

from emulator.clusters.file_server import FileServer
from emulator.model.counts import number_of
from emulator.model.errors import TransferFailed
from emulator.model.topology import Topology

KEPT_FREE_BYTES = 1_000_000_000
"""Left free for the journal, outputs and everything else on this host."""


class DiskSpace:
    """Reservations on the disk behind the emulated ones of `servers`; may be used from any thread."""

    def __init__(self, topology: Topology, servers: Mapping[str, FileServer]) -> None:
        emulated = {cluster.name for cluster in topology.clusters if cluster.ssh is None}
        self._servers = {site: server for site, server in servers.items() if site in emulated}
        self._reserved_bytes = 0
        self._ended_bytes = 0
        self._lock = Lock()

    @contextmanager
    def reserved(self, sites: Collection[str], size_bytes: int) -> Iterator[None]:
        """Reserve what a file takes at all those of `sites` that are emulated, until it is written.

        Raises:
            TransferFailed: if there is not enough.
            ClusterUnreachable: if a site does not answer.
        """
        emulated = [site for site in sites if site in self._servers]
        needed_bytes = len(emulated) * size_bytes
        if emulated:
            self._reserve(emulated, needed_bytes)
        try:
            yield
        finally:
            with self._lock:
                self._reserved_bytes -= needed_bytes
                self._ended_bytes += needed_bytes

    def _reserve(self, sites: Collection[str], needed_bytes: int) -> None:
        ended_before_bytes = self._ended_bytes
        # A site that hangs holds up no other: it is asked without the lock.
        free_bytes = self._servers[next(iter(sites))].free_bytes()
        with self._lock:  # else two files could both be promised the same space
            # What was written meanwhile may be missing in the answer.
            held_bytes = self._reserved_bytes + self._ended_bytes - ended_before_bytes
            available_bytes = free_bytes - KEPT_FREE_BYTES - held_bytes
            if needed_bytes > available_bytes:
                raise TransferFailed(
                    f"{needed_bytes} bytes are needed at {number_of(len(sites), 'site')}, and all sites share this "
                    f"host's disk, but {max(0, available_bytes)} are available: remove other files, or make it smaller."
                )
            self._reserved_bytes += needed_bytes
