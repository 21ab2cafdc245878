"""The replicas that jobs need: brought to where jobs run, counted by their users, removed after the last of them.

All methods run on the broker's loop; transfers and removals are in `operations`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from emulator.broker.files.catalogue import Catalogue, Entry
from emulator.broker.files.disk_space import ONE_HOST, DiskSpace
from emulator.broker.files.operations import ReplicaOperations, ReplicaRequest
from emulator.broker.files.transfers import Delivery, FileArrived
from emulator.clusters.file_server import FileServer
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput
from emulator.model.files import FileView, ReplicaView, TransferView
from emulator.model.topology import Topology
from emulator.policies.bandwidth import BandwidthForecast, stated_bytes_per_s
from emulator.policies.placement.close_to_files import every_pair
from emulator.policies.state import NOTHING_ELSE, FileState, Surroundings


class Replicas:
    """Keeps the replicas of `catalogue` on `servers`; `hosts` names the host of each site, where there are several."""

    def __init__(
        self,
        topology: Topology,
        servers: Sequence[FileServer],
        catalogue: Catalogue,
        hosts: Mapping[str, str] = ONE_HOST,
    ) -> None:
        self._topology = topology
        self._servers: Mapping[str, FileServer] = {server.site: server for server in servers}
        self.catalogue = catalogue
        self.bandwidths = BandwidthForecast(len(topology.clusters), stated_bytes_per_s(topology))
        for source, target, bytes_per_s in catalogue.past_transfers():
            if {source, target} <= set(self._servers):
                self.bandwidths.learn(topology.index(source), topology.index(target), bytes_per_s)
        self.disk_space = DiskSpace(topology, self._servers, hosts)
        self.operations = ReplicaOperations(topology, self._servers, catalogue, self.bandwidths, self.disk_space)
        self._deliveries: dict[int, Delivery] = {}

    def open(self, post: Callable[[Callable[[], object]], None]) -> None:
        """Hand what other threads report to the loop by `post` from now on; it must not lose what the disk refuses.

        Each site removes what was brought for jobs of a former broker when it is found.
        """
        post(self.catalogue.forget_jobs)
        self.operations.open(post)

    def close(self) -> None:
        """Cancel what is under way and close the catalogue."""
        self.operations.close()
        self.catalogue.close()

    def surroundings_of(self, name: str | None) -> Surroundings:
        """Return what policies see of the input file of a submitted job; nothing if it needs none.

        Raises:
            InvalidInput: if there is no such file.
        """
        if name is None:
            return NOTHING_ELSE
        if name not in self.catalogue:
            raise InvalidInput(f"file: there is no file {name!r} (`testbed files list` shows those there are).")
        return self.surroundings({name}, lost=())

    def states(self, names: Collection[str], lost: Collection[str]) -> dict[str, FileState]:
        """Return the files called `names` as policies see them; a lost site counts only if all other replicas are lost.

        Names without a file are left out.
        """
        entries = {name: self.catalogue.entry(name) for name in names if name in self.catalogue}
        return {name: self._state(entry, lost) for name, entry in entries.items()}

    def surroundings(self, names: Collection[str], lost: Collection[str]) -> Surroundings:
        """Return what policies see when waiting jobs need the files called `names`; nothing if none is needed.

        Close-to-Files begins with its history complete, as in the published experiments.
        """
        if not names:
            return NOTHING_ELSE
        return Surroundings(
            files=self.states(names, lost),
            bandwidth_bytes_per_s=self.bandwidths.bytes_per_s(),
            history=every_pair(len(self._topology.clusters)),
        )

    def forget_bandwidths(self) -> None:
        """Forecast what the topology states again, so that a run does not depend on what was transferred before it.

        Raises:
            JournalFailed: if that cannot be recorded; nothing has changed then.
        """
        self.catalogue.forget_transfers()
        self.bandwidths.forget()

    def deliver(
        self,
        job: int,
        name: str,
        sources: Mapping[str, str],
        dilation: Dilation,
        on_arrived: Callable[[FileArrived], None] = lambda arrived: None,
        host_clocks_ahead_s: Mapping[str, float] | None = None,
    ) -> Delivery:
        """Bring the file called `name` to the sites where `job` runs; `sources` maps each such site to a source.

        If jobs share a transfer, `on_arrived` is called for the one that waited first. `host_clocks_ahead_s` says of
        sites how far the clock there is ahead.

        Raises:
            UnknownName: if there is no such file.
            JournalFailed: if its use cannot be recorded; nothing has changed then.
        """
        entry = self.catalogue.entry(name)
        missing = [site for site in sources if site not in entry.replicas]
        sources = {site: self._source(entry, site, source) for site, source in sources.items()}
        # The sources are used, too: they must not be removed during the transfers.
        self.catalogue.use(name, sorted({*sources, *sources.values()} & set(entry.replicas)), job)
        delivery = self._deliveries[job] = Delivery(set(missing))
        for site in missing:
            ahead_s = (host_clocks_ahead_s or {}).get(site, 0.0)
            request = ReplicaRequest(job, sources[site], dilation, delivery, on_arrived, ahead_s)
            self.operations.request((name, site), request)
        return delivery

    def release_job(self, job: int) -> None:
        """End all uses of `job`; transfers and replicas that no other job needs are cancelled or removed.

        Raises:
            JournalFailed: if that cannot be recorded; nothing has changed then.
        """
        delivery = self._deliveries.get(job)
        if delivery is None:
            return
        freed = self.catalogue.end_uses(job)
        del self._deliveries[job]
        delivery.end()
        self.operations.withdraw(job)
        for place in freed:
            self.operations.remove(place)

    def reconcile_site(self, site: str, expected: Collection[str], present: Collection[str]) -> list[str]:
        """Drop the replicas that `site` was found without; returns the names of files that are lost at all sites."""
        for name in set(expected) - set(present):
            if name in self.catalogue:
                self.catalogue.drop_replica(name, site)
        return [name for name in expected if name not in self.catalogue]

    def views(self) -> list[FileView]:
        """Get every file with its replicas and transfers, in alphabetical order."""
        return [self.view(entry.file.name) for entry in self.catalogue.entries()]

    def view(self, name: str) -> FileView:
        """Get one file with its replicas and transfers.

        Raises:
            UnknownName: if there is no such file.
        """
        entry = self.catalogue.entry(name)
        replicas = [
            ReplicaView(site=site, kept=replica.kept, users=len(replica.jobs))
            for site, replica in sorted(entry.replicas.items())
        ]
        transfers = [
            TransferView(source=transfer.source, target=site, received_bytes=transfer.received_bytes)
            for site, transfer in self.operations.transfers(name).items()
        ]
        return FileView(
            name=name,
            size_bytes=entry.file.size_bytes,
            sha256=entry.file.sha256,
            replicas=tuple(replicas),
            transfers=tuple(transfers),
        )

    def _state(self, entry: Entry, lost: Collection[str]) -> FileState:
        answering = [site for site in entry.replicas if site not in lost]
        sites = [self._topology.index(site) for site in sorted(answering or entry.replicas)]
        return FileState(tuple(sites), float(entry.file.size_bytes))

    def _source(self, entry: Entry, site: str, source: str) -> str:
        """Return the chosen source or, if it has no replica any more, the one with the highest forecast bandwidth."""
        if source in entry.replicas:
            return source
        rates, target = self.bandwidths.bytes_per_s(), self._topology.index(site)
        return max(sorted(entry.replicas), key=lambda origin: rates.get((self._topology.index(origin), target), 0.0))
