"""Transfers and removals under way, and the jobs that wait for them.

All methods run on the broker's loop. There is at most one operation per file and site: a transfer or a removal. Jobs
that request the file meanwhile share the transfer, or get a new one after the removal.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from emulator.broker.files.catalogue import Catalogue
from emulator.broker.files.disk_space import DiskSpace
from emulator.broker.files.transfers import Delivery, FileArrived, Transfer, TransferEnded
from emulator.clusters.file_server import Fetched, FileServer
from emulator.model.clock import Dilation
from emulator.model.errors import JournalFailed, TestbedError
from emulator.model.topology import Topology
from emulator.policies.bandwidth import BandwidthForecast

log = logging.getLogger(__name__)
REMOVALS_AT_ONCE = 8
Place = tuple[str, str]
"""A file's name and a site."""


@dataclass(frozen=True, slots=True)
class ReplicaRequest:
    """A job that waits for a file from `source` at a site; `on_arrived` is called with the transfer.

    The clock at that site is ahead of the broker's by `host_clock_ahead_s`.
    """

    job: int
    source: str
    dilation: Dilation
    delivery: Delivery
    on_arrived: Callable[[FileArrived], None]
    host_clock_ahead_s: float = 0.0


@dataclass(slots=True)
class ReplicaOperation:
    """A transfer of a file to a site or, if `transfer` is None, its removal there; and the jobs that wait for it."""

    transfer: Transfer | None
    requests: list[ReplicaRequest] = field(default_factory=list)


class ReplicaOperations:
    """Transfers and removals on `servers`; their results are entered into `catalogue` and `bandwidths`."""

    def __init__(
        self,
        topology: Topology,
        servers: Mapping[str, FileServer],
        catalogue: Catalogue,
        bandwidths: BandwidthForecast,
        disk_space: DiskSpace,
    ) -> None:
        self._topology = topology
        self._servers = servers
        self._catalogue = catalogue
        self._bandwidths = bandwidths
        self._disk_space = disk_space
        self._operations: dict[Place, ReplicaOperation] = {}
        self._pool = ThreadPoolExecutor(REMOVALS_AT_ONCE, thread_name_prefix="replica-removal")
        self._labels = itertools.count(1)
        self._post: Callable[[Callable[[], object]], None] = lambda work: None

    def open(self, post: Callable[[Callable[[], object]], None]) -> None:
        """Hand what other threads report to the loop by `post` from now on; it must not lose what the disk refuses."""
        self._post = post

    def close(self) -> None:
        """Cancel what is under way."""
        for operation in self._operations.values():
            if operation.transfer is not None:
                operation.transfer.cancel()
        self._pool.shutdown(wait=False)

    def request(self, place: Place, request: ReplicaRequest) -> None:
        """Bring a file to a site for the job of `request`; a transfer under way is shared."""
        operation = self._operations.get(place)
        if operation is not None:
            operation.requests.append(request)
        else:
            self._transfer(place, [request])

    def withdraw(self, job: int) -> None:
        """Forget what `job` requested; a transfer for which no other job waits is cancelled."""
        for operation in self._operations.values():
            waited = len(operation.requests)
            operation.requests = [request for request in operation.requests if request.job != job]
            if waited and not operation.requests and operation.transfer is not None:
                operation.transfer.cancel()

    def remove(self, place: Place) -> None:
        """Begin to remove a file from a site."""
        self._operations[place] = ReplicaOperation(None)
        self._pool.submit(self._remove, place)

    def has_operation(self, name: str) -> bool:
        """Return whether the file of that name is being brought or removed somewhere."""
        return any(file == name for file, _ in self._operations)

    def is_awaited(self, name: str) -> bool:
        """Return whether a job waits for the file of that name somewhere."""
        return any(operation.requests for (file, _), operation in self._operations.items() if file == name)

    def transfers(self, name: str) -> dict[str, Transfer]:
        """Get the transfers of the file of that name by target."""
        return {
            site: operation.transfer
            for (file, site), operation in self._operations.items()
            if file == name and operation.transfer is not None
        }

    def _transfer(self, place: Place, requests: list[ReplicaRequest]) -> None:
        name, site = place
        first = requests[0]
        if name not in self._catalogue:
            for request in requests:
                request.delivery.fail(f"File {name!r} is at no site any more.")
            return
        entry = self._catalogue.entry(name)
        transfer = Transfer(
            entry.file,
            self._servers[first.source if first.source in entry.replicas else min(entry.replicas)],
            self._servers[site],
            self._disk_space,
            f"{first.job}-{next(self._labels)}",
            lambda ended: self._post(partial(self._on_ended, place, ended)),
        )
        self._operations[place] = ReplicaOperation(transfer, requests)
        transfer.begin()

    def _on_ended(self, place: Place, ended: TransferEnded) -> None:
        """Conclude a transfer.

        Raises:
            JournalFailed: if its replica cannot be recorded; it is still under way then, for all who ask.
        """
        operation = self._operations.pop(place)
        try:
            self._conclude(place, operation, ended)
        except JournalFailed:
            self._operations[place] = operation
            raise
        except TestbedError as error:
            # The file was removed from the catalogue meanwhile.
            log.warning("file %r was transferred to %r in vain: %s", *place, error)
            for request in operation.requests:
                request.delivery.fail(f"File {place[0]!r} did not come to {place[1]!r}: {error}")
            if ended.fetched is not None and place not in self._operations:
                self.remove(place)

    def _conclude(self, place: Place, operation: ReplicaOperation, ended: TransferEnded) -> None:
        name, site = place
        if ended.fetched is not None and not operation.requests:
            self.remove(place)
        elif ended.fetched is not None:
            self._catalogue.add_replica(name, site, {request.job for request in operation.requests})
            self._learn(place, operation, ended.fetched)
            for request in operation.requests:
                request.delivery.arrived(site, ended.fetched.host_arrived_s - request.host_clock_ahead_s)
        elif operation.transfer is not None and operation.transfer.cancelled and operation.requests:
            self._transfer(place, operation.requests)
        else:
            for request in operation.requests:
                request.delivery.fail(ended.reason)

    def _learn(self, place: Place, operation: ReplicaOperation, fetched: Fetched) -> None:
        """Learn the bandwidth of a transfer, and report the transfer to the job that waited first."""
        first, (name, target) = operation.requests[0], place
        duration_s = first.dilation.emulated_duration_s(fetched.host_arrived_s - fetched.host_began_s)
        if operation.transfer is None or duration_s <= 0:
            return
        source, bytes_per_s = operation.transfer.source, fetched.size_bytes / duration_s
        try:
            self._catalogue.record_transfer(source, target, bytes_per_s)
        except JournalFailed as error:
            # The file is there; only a later broker does not learn how fast it came.
            log.warning("the rate of a transfer from %r to %r is not kept: %s", source, target, error)
        self._bandwidths.learn(self._topology.index(source), self._topology.index(target), bytes_per_s)
        ahead_s = first.host_clock_ahead_s
        timestamps = (fetched.host_began_s - ahead_s, fetched.host_arrived_s - ahead_s)
        first.on_arrived(FileArrived(name, source, target, fetched.size_bytes, *timestamps, bytes_per_s))

    def _remove(self, place: Place) -> None:
        name, site = place
        # At a lost site, it is removed when the site is found again.
        with contextlib.suppress(TestbedError):
            self._servers[site].remove(name)
        self._post(partial(self._on_removed, place))

    def _on_removed(self, place: Place) -> None:
        requests = self._operations.pop(place).requests
        if requests:
            self._transfer(place, requests)
