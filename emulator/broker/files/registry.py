"""Files that users register and remove, and sites that are found again: the slow operations of file servers.

Public methods may be called from any thread except the loop's. A name is reserved on the loop, the sites do their work,
and the name is entered into the catalogue, or freed, on the loop again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from emulator.broker.files.replicas import Replicas
from emulator.clusters.file_server import FileServer, StoredFile
from emulator.model.errors import InvalidInput, TestbedBusy, TestbedError, TransferFailed, UnknownName
from emulator.model.files import BandwidthView, FileRegistration, FileView
from emulator.model.topology import Topology
from emulator.model.units import rate_mbit

Answer = TypeVar("Answer")


class Call(Protocol):
    """A function that runs work on the loop and returns its answer."""

    def __call__(self, work: Callable[[], Answer], /) -> Answer:
        """Return the answer of `work`."""
        ...


class FileRegistry:
    """The files of `catalogue`: registered and removed here. `needed` returns the files of jobs that have not ended."""

    def __init__(
        self,
        topology: Topology,
        servers: Sequence[FileServer],
        replicas: Replicas,
        call: Call,
        needed: Callable[[], Collection[str]],
    ) -> None:
        self._topology = topology
        self._servers = {server.site: server for server in servers}
        self._replicas = replicas
        self._call = call
        self._needed = needed
        self._reserved: set[str] = set()

    def files(self) -> list[FileView]:
        """Get every file, in alphabetical order of the names."""
        return self._call(self._replicas.views)

    def file(self, name: str) -> FileView:
        """Get one file.

        Raises:
            UnknownName: if there is none.
        """
        return self._call(lambda: self._replicas.view(name))

    def bandwidths(self) -> list[BandwidthView]:
        """Get the bandwidth that a transfer may expect from each site to each other."""
        return self._call(self._bandwidths)

    def register(self, registration: FileRegistration) -> FileView:
        """Make a file at its sites and enter it into the catalogue.

        Raises:
            InvalidInput: if the name is taken, or the disk of a host has no room.
            UnknownName: if a site does not exist.
            TestbedBusy: if a file of that name is being made or removed.
            TransferFailed: if it could not be made at a site; it then exists at none.
            ClusterUnreachable: if a site does not answer.
            JournalFailed: if it cannot be recorded; it then exists at no site.
        """
        for site in registration.sites:
            if site not in self._servers:
                raise UnknownName(f"sites: there is no cluster {site!r} (known: {', '.join(self._servers)}).")
        name, sites = registration.name, list(registration.sites)
        self._call(lambda: self._reserve_new(name))
        try:
            with contextlib.ExitStack() as reserved:
                self._reserve_room(reserved, registration)
                made = self._make_everywhere(registration)
            self._call(lambda: self._replicas.catalogue.register(made, sites))
        except BaseException:
            self._remove_at(name, sites)
            raise
        finally:
            self._call(lambda: self._reserved.discard(name))
        return self.file(name)

    def remove(self, name: str) -> None:
        """Remove a file and all its replicas.

        Raises:
            UnknownName: if there is none.
            TestbedBusy: if a job that has not ended needs it, or it is being made or removed.
            JournalFailed: if its removal cannot be recorded; it is there then.
        """
        sites = self._call(lambda: self._withdraw(name))
        try:
            self._remove_at(name, sites)
        finally:
            self._call(lambda: self._reserved.discard(name))

    def tidy(self, site: str) -> list[str]:
        """Remove unknown files at a site that was found again; returns the names of files that are lost at all sites.

        Does nothing at a site without a file server.

        Raises:
            ClusterUnreachable: if it does not answer.
        """
        if site not in self._servers:
            return []
        expected = self._call(lambda: self._replicas.catalogue.files_at(site))
        reserved = self._call(lambda: set(self._reserved))
        present = self._servers[site].tidy({*expected, *reserved})
        return self._call(lambda: self._replicas.reconcile_site(site, expected, present))

    def _reserve_new(self, name: str) -> None:
        self._check_not_reserved(name)
        if name in self._replicas.catalogue:
            raise InvalidInput(f"name: a file {name!r} is there already; remove it first, or choose another name.")
        if self._replicas.operations.has_operation(name):
            raise _being_changed(name)
        self._reserved.add(name)

    def _check_not_reserved(self, name: str) -> None:
        if name in self._reserved:
            raise _being_changed(name)

    def _reserve_room(self, reserved: contextlib.ExitStack, registration: FileRegistration) -> None:
        try:
            reserved.enter_context(self._replicas.disk_space.reserved(registration.sites, registration.size_bytes))
        except TransferFailed as error:
            raise InvalidInput(f"size_bytes: {error}") from error

    def _withdraw(self, name: str) -> list[str]:
        self._check_not_reserved(name)
        entry = self._replicas.catalogue.entry(name)
        if entry.in_use or name in self._needed() or self._replicas.operations.is_awaited(name):
            raise TestbedBusy(f"File {name!r} is needed by a job that has not ended: await it, or cancel it.")
        self._replicas.catalogue.remove(name)
        self._reserved.add(name)
        return list(entry.replicas)

    def _make_everywhere(self, registration: FileRegistration) -> StoredFile:
        with ThreadPoolExecutor(len(registration.sites)) as pool:
            made = list(pool.map(lambda site: self._make_at(site, registration), registration.sites))
        if any(file != made[0] for file in made):
            raise TransferFailed(f"File {registration.name!r} differs between its sites.")
        return made[0]

    def _make_at(self, site: str, registration: FileRegistration) -> StoredFile:
        return self._servers[site].make(registration.name, registration.size_bytes, registration.seed)

    def _remove_at(self, name: str, sites: Sequence[str]) -> None:
        with ThreadPoolExecutor(max(1, len(sites))) as pool:
            for site in sites:
                pool.submit(self._remove_one, site, name)

    def _remove_one(self, site: str, name: str) -> None:
        # At a site that does not answer, the file is removed when the site is found again.
        with contextlib.suppress(TestbedError):
            self._servers[site].remove(name)

    def _bandwidths(self) -> list[BandwidthView]:
        names = self._topology.cluster_names
        views = []
        for (source, target), forecast in self._replicas.bandwidths.forecasts().items():
            views.append(
                BandwidthView(
                    source=names[source],
                    target=names[target],
                    rate_mbit=rate_mbit(forecast.bytes_per_s, 1.0),
                    origin=forecast.origin,
                    transfers=forecast.transfers,
                )
            )
        return views


def _being_changed(name: str) -> TestbedBusy:
    return TestbedBusy(f"File {name!r} is being made or removed: wait for it.")
