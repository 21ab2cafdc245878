"""The disk of this host, which all emulated sites share, checked before files are written and reserved until they are.

Each file server by itself sees the whole disk as its own. A real site has its own disk, and checks it itself. An answer
serves for a while, because a command at a site takes as long as some transfers.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from emulator.clusters.file_server import FileServer
from emulator.model.counts import number_of
from emulator.model.errors import TransferFailed
from emulator.model.topology import Topology

KEPT_FREE_BYTES = 1_000_000_000
"""Left free for the journal, outputs and everything else on this host."""
ANSWER_SERVES_HOST_S = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a site asked at `host_asked_s` said is free; `written_bytes` of what was ever reserved had been written."""

    free_bytes: int
    written_bytes: int
    host_asked_s: float


@dataclass(slots=True, eq=False)
class Reservation:
    """What is reserved for a file; who writes it says in `written_bytes` how much of it is on the disk already."""

    size_bytes: int
    written_bytes: int = 0


class DiskSpace:
    """Reservations on the disk behind the emulated ones of `servers`; may be used from any thread."""

    def __init__(self, topology: Topology, servers: Mapping[str, FileServer]) -> None:
        emulated = {cluster.name for cluster in topology.clusters if cluster.ssh is None}
        self._servers = {site: server for site, server in servers.items() if site in emulated}
        self._reservations: set[Reservation] = set()
        self._ended_bytes = 0
        self._answer: Answer | None = None
        self._lock = Lock()

    @contextmanager
    def reserved(self, sites: Collection[str], size_bytes: int) -> Iterator[Reservation]:
        """Reserve what a file takes at all those of `sites` that are emulated, until it is written.

        Raises:
            TransferFailed: if there is not enough.
            ClusterUnreachable: if a site does not answer.
        """
        emulated = [site for site in sites if site in self._servers]
        reservation = Reservation(len(emulated) * size_bytes)
        if emulated:
            self._reserve(emulated, reservation)
        try:
            yield reservation
        finally:
            with self._lock:
                self._reservations.discard(reservation)
                self._ended_bytes += reservation.size_bytes

    def _reserve(self, sites: Collection[str], reservation: Reservation) -> None:
        needed_bytes = reservation.size_bytes
        with self._lock:  # else two files could both be promised the same space
            written_bytes = self._ended_bytes + sum(running.written_bytes for running in self._reservations)
            host_asked_s = time.monotonic()
            last = self._answer
            serves = last is not None and host_asked_s < last.host_asked_s + ANSWER_SERVES_HOST_S
            if last is not None and serves and needed_bytes <= self._available_bytes(last):
                self._reservations.add(reservation)
                return
        # A site that hangs holds up no other: it is asked without the lock.
        answer = Answer(self._servers[next(iter(sites))].free_bytes(), written_bytes, host_asked_s)
        with self._lock:
            self._answer = answer
            available_bytes = self._available_bytes(answer)
            if needed_bytes > available_bytes:
                raise TransferFailed(
                    f"{needed_bytes} bytes are needed at {number_of(len(sites), 'site')}, and all sites share this "
                    f"host's disk, but {max(0, available_bytes)} are available: remove other files, or make it smaller."
                )
            self._reservations.add(reservation)

    def _available_bytes(self, answer: Answer) -> int:
        """Return what is available by `answer`, in which what was written since may be missing."""
        promised_bytes = self._ended_bytes + sum(running.size_bytes for running in self._reservations)
        return answer.free_bytes - KEPT_FREE_BYTES - (promised_bytes - answer.written_bytes)
