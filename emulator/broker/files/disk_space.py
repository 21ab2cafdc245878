"""The disk of each host, which all emulated sites there share: checked and reserved until a file is written.

Each file server by itself sees the whole disk as its own. A real site has its own disk, and checks it itself. An answer
serves for a while, because a command at a site takes as long as some transfers.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType
from typing import Final

from emulator.clusters.file_server import FileServer
from emulator.model.counts import number_of
from emulator.model.errors import TransferFailed
from emulator.model.topology import Topology

KEPT_FREE_BYTES = 1_000_000_000
"""Left free on each disk for outputs and everything else on its host; the journal is on the broker's."""
ANSWER_SERVES_HOST_S = 30.0

ONE_HOST: Final[Mapping[str, str]] = MappingProxyType({})
"""The hosts of sites where all are on the broker's."""


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
    """Reservations on the disks behind the emulated ones of `servers`; may be used from any thread.

    `hosts` names the host of each site; those without one are on the broker's.
    """

    def __init__(
        self, topology: Topology, servers: Mapping[str, FileServer], hosts: Mapping[str, str] = ONE_HOST
    ) -> None:
        emulated = {cluster.name for cluster in topology.clusters if cluster.ssh is None}
        self._servers = {site: server for site, server in servers.items() if site in emulated}
        self._hosts = {site: hosts.get(site, "") for site in self._servers}
        self._disks = {host: _Disk(host, self._servers) for host in set(self._hosts.values())}

    @contextmanager
    def reserved(self, sites: Collection[str], size_bytes: int) -> Iterator[Reservation]:
        """Reserve what a file takes at all those of `sites` that are emulated, until it is written.

        What has been written is counted only of a file for which one disk is asked.

        Raises:
            TransferFailed: if there is not enough.
            ClusterUnreachable: if a site does not answer.
        """
        sites_of: dict[str, list[str]] = {}
        for site in sites:
            if site in self._hosts:
                sites_of.setdefault(self._hosts[site], []).append(site)
        with ExitStack() as held:
            found = [
                held.enter_context(self._disks[host].reserved(there, size_bytes)) for host, there in sites_of.items()
            ]
            yield found[0] if len(found) == 1 else Reservation(0)


class _Disk:
    """Reservations on the disk of `host`, the broker's if it has no name; `servers` are those of all sites."""

    def __init__(self, host: str, servers: Mapping[str, FileServer]) -> None:
        self._host = host
        self._servers = servers
        self._reservations: set[Reservation] = set()
        self._ended_bytes = 0
        self._answer: Answer | None = None
        self._lock = Lock()

    @contextmanager
    def reserved(self, sites: Collection[str], size_bytes: int) -> Iterator[Reservation]:
        """Reserve what a file takes at all of `sites`, until it is written; raises as `DiskSpace.reserved` does."""
        reservation = Reservation(len(sites) * size_bytes)
        self._reserve(sites, reservation)
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
                shared = f"all sites on host {self._host!r} share its" if self._host else "all sites share this host's"
                raise TransferFailed(
                    f"{needed_bytes} bytes are needed at {number_of(len(sites), 'site')}, and {shared} disk, but "
                    f"{max(0, available_bytes)} are available: remove other files, or make it smaller."
                )
            self._reservations.add(reservation)

    def _available_bytes(self, answer: Answer) -> int:
        """Return what is available by `answer`, in which what was written since may be missing."""
        promised_bytes = self._ended_bytes + sum(running.size_bytes for running in self._reservations)
        return answer.free_bytes - KEPT_FREE_BYTES - (promised_bytes - answer.written_bytes)
