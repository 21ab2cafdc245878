"""The disk of this host, which all emulated sites share, checked before files are made and reserved until they are.

Each file server by itself sees the whole disk as its own. A real site has its own disk, and checks it itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock

from emulator.clusters.file_server import FileServer
from emulator.model.errors import InvalidInput
from emulator.model.files import FileRegistration
from emulator.model.topology import Topology

KEPT_FREE_BYTES = 1_000_000_000
"""Left free for the journal, outputs and everything else on this host."""


class DiskSpace:
    """Reservations on the disk behind the emulated ones of `servers`; may be used from any thread."""

    def __init__(self, topology: Topology, servers: Mapping[str, FileServer]) -> None:
        emulated = {cluster.name for cluster in topology.clusters if cluster.ssh is None}
        self._servers = {site: server for site, server in servers.items() if site in emulated}
        self._reserved_bytes = 0
        self._lock = Lock()

    @contextmanager
    def reserved(self, registration: FileRegistration) -> Iterator[None]:
        """Reserve what `registration` takes at all its emulated sites, until it is written.

        Raises:
            InvalidInput: if there is not enough.
            ClusterUnreachable: if a site does not answer.
        """
        sites = [site for site in registration.sites if site in self._servers]
        needed_bytes = len(sites) * registration.size_bytes
        if sites:
            with self._lock:  # else two files could both be promised the same space
                available_bytes = self._servers[sites[0]].free_bytes() - KEPT_FREE_BYTES - self._reserved_bytes
                if needed_bytes > available_bytes:
                    raise InvalidInput(
                        f"size_bytes: {needed_bytes} bytes are needed at {len(sites)} sites, which share this host's "
                        f"disk, but {max(0, available_bytes)} are available: remove other files, or make it smaller."
                    )
                self._reserved_bytes += needed_bytes
        try:
            yield
        finally:
            with self._lock:
                self._reserved_bytes -= needed_bytes
