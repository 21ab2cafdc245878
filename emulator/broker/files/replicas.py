"""The replicas that jobs need: brought where jobs run, counted by their users, removed after the last of them.

All methods run on the broker's loop. At one site one thing at a time is done with one file: it is brought or it is
removed. Jobs that want it meanwhile share the transfer, or have it brought anew once that is done.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from emulator.broker.files.catalogue import Catalogue, Entry
from emulator.broker.files.delivery import Delivery
from emulator.broker.files.transfers import Arrived, Transfer, TransferEnded
from emulator.clusters.file_server import Fetched, FileServer
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput, TestbedError
from emulator.model.files import FileView, ReplicaView, TransferView
from emulator.model.topology import Topology
from emulator.policies.bandwidth import BandwidthForecast, stated_bytes_per_s
from emulator.policies.placement.close_to_files import every_pair
from emulator.policies.state import NOTHING_ELSE, FileState, Surroundings

REMOVALS_AT_ONCE = 8
Place = tuple[str, str]
"""A file's name, and the site where something is done with it."""


@dataclass(frozen=True, slots=True)
class Want:
    """A job that waits for a file at a site, to be brought from `source`; `tell` hears of the transfer."""

    job: int
    source: str
    dilation: Dilation
    delivery: Delivery
    tell: Callable[[Arrived], None]


@dataclass(slots=True)
class Handling:
    """What is being done with a file at a site: a transfer or, without one, its removal; and who wants it there."""

    transfer: Transfer | None
    wants: list[Want] = field(default_factory=list)


class Replicas:
    """Keeps the replicas of `catalogue` on `servers`, which stand in the topology's order."""

    def __init__(self, topology: Topology, servers: Sequence[FileServer], catalogue: Catalogue) -> None:
        self._topology = topology
        self._servers: Mapping[str, FileServer] = {server.site: server for server in servers}
        self.catalogue = catalogue
        self._forget_users()
        self.bandwidths = BandwidthForecast(len(topology.clusters), stated_bytes_per_s(topology))
        for source, target, bytes_per_s in catalogue.past_transfers():
            if {source, target} <= set(self._servers):
                self.bandwidths.learn(topology.index(source), topology.index(target), bytes_per_s)
        self._handled: dict[Place, Handling] = {}
        self._deliveries: dict[int, Delivery] = {}
        self._pool = ThreadPoolExecutor(REMOVALS_AT_ONCE, thread_name_prefix="replica-removal")
        self._labels = itertools.count(1)
        self._post: Callable[[Callable[[], object]], None] = lambda work: None

    def open(self, post: Callable[[Callable[[], object]], None]) -> None:
        """Hand what other threads report to the loop by `post` from now on."""
        self._post = post

    def close(self) -> None:
        """Cancel what is under way and close the catalogue."""
        for handling in self._handled.values():
            if handling.transfer is not None:
                handling.transfer.cancel()
        self._pool.shutdown(wait=False)
        self.catalogue.close()

    def surroundings_of(self, name: str | None) -> Surroundings:
        """What policies see of the input file of a job that is submitted; nothing if it needs none.

        Raises:
            InvalidInput: if there is no such file.
        """
        if name is None:
            return NOTHING_ELSE
        if name not in self.catalogue:
            raise InvalidInput(f"file: there is no file {name!r} (`testbed files list` shows those there are).")
        return self.surroundings({name}, lost=())

    def states(self, names: Collection[str], lost: Collection[str]) -> dict[str, FileState]:
        """The files called `names` as policies see them; a site that is lost counts only if it holds the last replica.

        A name that stands for nothing any more is left out.
        """
        entries = {name: self.catalogue.entry(name) for name in names if name in self.catalogue}
        return {name: self._state(entry, lost) for name, entry in entries.items()}

    def surroundings(self, names: Collection[str], lost: Collection[str]) -> Surroundings:
        """What policies see when jobs wait that need the files called `names`; nothing where none is needed.

        Close-to-Files begins with its history complete, as in the published experiments.
        """
        if not names:
            return NOTHING_ELSE
        return Surroundings(
            files=self.states(names, lost),
            bandwidth_bytes_per_s=self.bandwidths.bytes_per_s(),
            history=every_pair(len(self._topology.clusters)),
        )

    def deliver(
        self,
        job: int,
        name: str,
        sources: Mapping[str, str],
        dilation: Dilation,
        tell: Callable[[Arrived], None] = lambda arrived: None,
    ) -> Delivery:
        """Have the file called `name` wherever `job` runs: `sources` holds the site to bring it from by each such site.

        Of jobs that share a transfer the one that waited first is told of it.

        Raises:
            UnknownName: if there is no such file.
        """
        entry = self.catalogue.entry(name)
        missing = [site for site in sources if site not in entry.replicas]
        delivery = self._deliveries[job] = Delivery(set(missing))
        sources = {site: self._source(entry, site, source) for site, source in sources.items()}
        for site, source in sources.items():
            # The source is used, too: it must not go while the file comes from there.
            for used in {site, source} & set(entry.replicas):
                self.catalogue.use(name, used, job)
        for site in missing:
            self._want((name, site), Want(job, sources[site], dilation, delivery, tell))
        return delivery

    def let_go(self, job: int) -> None:
        """`job` has ended: what nobody else waits for is cancelled, what nobody else uses is removed."""
        delivery = self._deliveries.pop(job, None)
        if delivery is None:
            return
        delivery.end()
        for handling in self._handled.values():
            waited = len(handling.wants)
            handling.wants = [want for want in handling.wants if want.job != job]
            if waited and not handling.wants and handling.transfer is not None:
                handling.transfer.cancel()
        for name, site in self.catalogue.end_uses(job):
            self._discard((name, site))

    def is_handled(self, name: str) -> bool:
        """Whether the file of that name is being brought or removed somewhere."""
        return any(file == name for file, _ in self._handled)

    def is_wanted(self, name: str) -> bool:
        """Whether a job waits for the file of that name somewhere."""
        return any(handling.wants for (file, _), handling in self._handled.items() if file == name)

    def tidied(self, site: str, expected: Collection[str], present: Collection[str]) -> list[str]:
        """`site` was found with the files `present` of those `expected`; returns the names of files that are lost."""
        for name in set(expected) - set(present):
            if name in self.catalogue:
                self.catalogue.drop_replica(name, site)
        return [name for name in expected if name not in self.catalogue]

    def views(self) -> list[FileView]:
        """Every file with its replicas and transfers, in alphabetical order."""
        return [self.view(entry.file.name) for entry in self.catalogue.entries()]

    def view(self, name: str) -> FileView:
        """One file with its replicas and transfers.

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
            for (file, site), handling in self._handled.items()
            if file == name and (transfer := handling.transfer) is not None
        ]
        return FileView(
            name=name,
            size_bytes=entry.file.size_bytes,
            sha256=entry.file.sha256,
            replicas=tuple(replicas),
            transfers=tuple(transfers),
        )

    def _forget_users(self) -> None:
        """A former broker's jobs have ended with it; what was brought for them is swept where it is, site by site."""
        for job in self.catalogue.jobs():
            for name, site in self.catalogue.end_uses(job):
                self.catalogue.drop_replica(name, site)

    def _state(self, entry: Entry, lost: Collection[str]) -> FileState:
        answering = [site for site in entry.replicas if site not in lost]
        sites = [self._topology.index(site) for site in sorted(answering or entry.replicas)]
        return FileState(tuple(sites), float(entry.file.size_bytes))

    def _source(self, entry: Entry, site: str, source: str) -> str:
        """The source that was chosen; if it has no replica any more, the one that is forecast to be the fastest."""
        if source in entry.replicas:
            return source
        rates, target = self.bandwidths.bytes_per_s(), self._topology.index(site)
        return max(sorted(entry.replicas), key=lambda it: rates.get((self._topology.index(it), target), 0.0))

    def _want(self, place: Place, want: Want) -> None:
        handling = self._handled.get(place)
        if handling is not None:
            handling.wants.append(want)
        else:
            self._bring(place, [want])

    def _bring(self, place: Place, wants: list[Want]) -> None:
        name, site = place
        first = wants[0]
        if name not in self.catalogue:
            for want in wants:
                want.delivery.fail(f"File {name!r} is at no site any more.")
            return
        transfer = Transfer(
            self.catalogue.entry(name).file,
            self._servers[first.source],
            self._servers[site],
            f"{first.job}-{next(self._labels)}",
            lambda ended: self._post(partial(self._on_ended, place, ended)),
        )
        self._handled[place] = Handling(transfer, wants)
        transfer.begin()

    def _on_ended(self, place: Place, ended: TransferEnded) -> None:
        handling = self._handled.pop(place)
        name, site = place
        if ended.fetched is not None and not handling.wants:
            self._begin_removal(place)
        elif ended.fetched is not None:
            self._learn(place, handling, ended.fetched)
            self.catalogue.add_replica(name, site, {want.job for want in handling.wants})
            for want in handling.wants:
                want.delivery.arrived(site)
        elif handling.transfer is not None and handling.transfer.cancelled and handling.wants:
            self._bring(place, handling.wants)
        else:
            for want in handling.wants:
                want.delivery.fail(ended.reason)

    def _learn(self, place: Place, handling: Handling, fetched: Fetched) -> None:
        """Note what the transfer had of the wide area, and tell who waited first."""
        first, (name, target) = handling.wants[0], place
        duration_s = first.dilation.emulated_duration_s(fetched.host_arrived_s - fetched.host_began_s)
        if handling.transfer is None or duration_s <= 0:
            return
        source, bytes_per_s = handling.transfer.source, fetched.size_bytes / duration_s
        self.catalogue.note_transfer(source, target, bytes_per_s)
        self.bandwidths.learn(self._topology.index(source), self._topology.index(target), bytes_per_s)
        moments = (fetched.host_began_s, fetched.host_arrived_s)
        first.tell(Arrived(name, source, target, fetched.size_bytes, *moments, bytes_per_s))

    def _discard(self, place: Place) -> None:
        self.catalogue.drop_replica(*place)
        self._begin_removal(place)

    def _begin_removal(self, place: Place) -> None:
        self._handled[place] = Handling(None)
        self._pool.submit(self._remove, place)

    def _remove(self, place: Place) -> None:
        name, site = place
        # At a site that is lost it is swept when the site is found again.
        with contextlib.suppress(TestbedError):
            self._servers[site].remove(name)
        self._post(partial(self._on_removed, place))

    def _on_removed(self, place: Place) -> None:
        wants = self._handled.pop(place).wants
        if wants:
            self._bring(place, wants)
