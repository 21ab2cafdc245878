"""What the host remembers of a testbed: one folder each, whose layout only this module knows.

$XDG_STATE_HOME/multicluster-testbed/NAME/
    topology.yaml   the topology, with the processor profile that it names written out
    compose.yaml    as rendered; over several hosts also compose-HOST.yaml, with what each of them carries
    broker.json     the broker's settings
    keys/           SSH keys of the broker, of the grid's users and of every head
    token           the token that the broker asks of its clients
    authorization   the header that carries the token, for curl
    testbed.json    a `TestbedRecord`
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from pydantic import Field, ValidationError

from emulator.containers.addresses import AddressPlan
from emulator.containers.names import PartNames
from emulator.hosts.inventory import Host, HostInventory
from emulator.model.documents import DocumentModel, read_document
from emulator.model.errors import InvalidInput, TestbedBusy, TestbedNotUp
from emulator.model.process_lock import ProcessLock
from emulator.model.real_head import AgentSocket, Hop
from emulator.model.topology import Topology
from emulator.model.underlay import Underlay
from emulator.model.whole_files import write_whole

RECORD_FILE: Final = "testbed.json"
TOKEN_FILE: Final = "token"
AUTHORIZATION_FILE: Final = "authorization"

CHOOSING_ADDRESSES: Final = "choosing_addresses"
MAKING_IMAGES: Final = "making_images"
"""Locks of all testbeds together. They hold an underscore, as no testbed's name does, whose lock is called after it."""

HOSTS_AND_OWNERS: Final = 2
"""The generation from which on a broker is told which host carries which cluster, and volumes state their owner."""

STATED_NETWORKS: Final = 3
"""The generation from which on networks state that they have no IPv6, and those of sites the size of their packets."""

GENERATION: Final = STATED_NETWORKS
"""That of a testbed that is brought up now. One that stands keeps its own: the broker of an older image refuses a
setting that it does not know, and Compose may want to make a volume or network that states something else anew."""


class ClusterRecord(DocumentModel):
    """The addresses of a cluster's parts: `head` on the control network, `site` on the shaped one."""

    name: str
    container: str
    head: str
    site: str


class HostRecord(DocumentModel):
    """A host of a testbed that spreads over several: how it is reached, and what of it the testbed may use.

    `cores` are None where an older version recorded the host. `underlay` is what lies between it and the central host;
    None for that host itself, and where nothing was measured.
    """

    host: Host
    memory_bytes: int
    cores: float | None = None
    clusters: tuple[str, ...] = ()
    underlay: Underlay | None = None


class HostsRecord(DocumentModel):
    """The hosts that carry a testbed; `central` is the one with router and broker, on which the command runs."""

    central: str
    hosts: tuple[HostRecord, ...]

    @property
    def inventory(self) -> HostInventory:
        """The hosts as their user stated them."""
        return HostInventory(hosts=tuple(record.host for record in self.hosts))

    @property
    def carrying(self) -> tuple[HostRecord, ...]:
        """The hosts that have a part of the testbed; on the others there is nothing of it."""
        return tuple(record for record in self.hosts if record.clusters or record.host.name == self.central)

    def host_of(self, cluster: str) -> str:
        """Return the host that carries a cluster."""
        return next(record.host.name for record in self.hosts if cluster in record.clusters)

    def underlay_of(self, cluster: str) -> Underlay | None:
        """Return what lies between the host of a cluster and the central one; None for a cluster on that host."""
        return next(record.underlay for record in self.hosts if cluster in record.clusters)

    @property
    def underlays(self) -> dict[str, Underlay]:
        """What lay between each other host and the central one when the links were programmed, where it is known."""
        return {each.host.name: each.underlay for each in self.hosts if each.underlay is not None}

    def host_clocks_ahead_s(self, found: Mapping[str, Underlay]) -> dict[str, float]:
        """Return by how many host seconds the clocks of clusters are ahead of the central one, on the hosts `found`."""
        return {
            cluster: found[each.host.name].host_clock_ahead_s
            for each in self.hosts
            if each.host.name in found
            for cluster in each.clusters
        }

    def with_underlays(self, found: Mapping[str, Underlay]) -> Self:
        """Return the same hosts with what was measured between each of those named and the central one."""
        hosts = (each.model_copy(update={"underlay": found.get(each.host.name, each.underlay)}) for each in self.hosts)
        return self.model_copy(update={"hosts": tuple(hosts)})


class TestbedRecord(DocumentModel):
    """The decisions made when a testbed was brought up.

    `router_backend` is the one asked for (``auto``, ``kernel``, ``uml``), not the one that the router chose. `hosts` is
    None if all is on this host. `routes` are the ways to the heads of real clusters, and `agent` the user's ssh-agent
    if one of them needs it. `generation` says how its parts are rendered.
    """

    name: str
    second_octet: int
    api_port: int
    router_backend: str
    user: str
    control_network: str
    all_sites: str
    clusters: tuple[ClusterRecord, ...]
    images: dict[str, str]
    hosts: HostsRecord | None = None
    routes: Mapping[str, tuple[Hop, ...]] = Field(default_factory=dict)
    agent: AgentSocket | None = None
    generation: int = 1

    @property
    def places(self) -> dict[str, str]:
        """The host of each container; empty if all is on this host."""
        if self.hosts is None:
            return {}
        names = PartNames(self.name)
        clusters = {cluster.container: self.hosts.host_of(cluster.name) for cluster in self.clusters}
        return {**clusters, names.router: self.hosts.central, names.broker: self.hosts.central}


@dataclass(frozen=True, slots=True)
class TestbedSpec:
    """The testbed that a user asks for: its name, the file of its topology, the router's kernel, the API's port.

    `known_heads` has a line for each head of a real cluster and each jump host before it, as in a known-hosts file: the
    only host key that the testbed will accept there. `fresh` removes what exists under that name first, with its jobs,
    outputs and files. `hosts_file` is the inventory of the hosts over which it spreads; None if it is to be on this
    one. `routes` are the ways to real heads by the names of their clusters, and `agent` is the user's ssh-agent if one
    of them needs it.
    """

    name: str
    topology_file: Path
    router_backend: str = "auto"
    port: int | None = None
    known_heads: tuple[str, ...] = ()
    fresh: bool = False
    hosts_file: Path | None = None
    routes: Mapping[str, tuple[Hop, ...]] = field(default_factory=dict)
    agent: AgentSocket | None = None


@dataclass(frozen=True, slots=True)
class TestbedState:
    """The remembered state of one testbed."""

    folder: Path
    record: TestbedRecord
    topology: Topology

    @property
    def names(self) -> PartNames:
        """The names of its parts."""
        return PartNames(self.record.name)

    @property
    def addresses(self) -> AddressPlan:
        """The addresses of its parts."""
        return AddressPlan(self.record.second_octet)

    @property
    def api_url(self) -> str:
        """Where the broker's API answers, on this host only."""
        return f"http://127.0.0.1:{self.record.api_port}"

    @property
    def token(self) -> str:
        """The token that the broker asks of its clients.

        Raises:
            InvalidInput: if its file is missing or empty.
        """
        file = self.folder / TOKEN_FILE
        token = file.read_text().strip() if file.is_file() else ""
        if not token:
            raise InvalidInput(f"{file} is missing or empty (`testbed up` restores it).")
        return token

    @property
    def containers(self) -> list[str]:
        """The names of its containers: its clusters' in order, the router's if there are any, and the broker's."""
        clusters = [cluster.container for cluster in self.record.clusters]
        return [*clusters, *([self.names.router] if clusters else []), self.names.broker]

    @property
    def compose_file(self) -> Path:
        """The rendered Compose file."""
        return self.folder / "compose.yaml"

    def compose_file_of(self, host: str) -> Path:
        """Return the path of the Compose file with the parts that one of several hosts carries."""
        return self.folder / f"compose-{host}.yaml"

    @property
    def settings_file(self) -> Path:
        """The settings that the broker reads when it starts."""
        return self.folder / "broker.json"


def state_root() -> Path:
    """Return the folder that holds the state of every testbed of this user."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "multicluster-testbed"


def state_folder(name: str) -> Path:
    """Return the folder of one testbed, whether the testbed exists or not."""
    return state_root() / PartNames(name).testbed


def testbed_state(name: str) -> TestbedState:
    """Return the state of the testbed called `name`.

    Raises:
        TestbedNotUp: if it was never brought up, or was taken down.
        InvalidInput: if its state cannot be read.
    """
    state = remembered(name)
    if state is None:
        raise TestbedNotUp(f"No testbed called {name!r} is running (bring one up with `testbed up`).")
    return state


def remembered(name: str) -> TestbedState | None:
    """Return the state of the testbed called `name`, or None if there is none.

    Raises:
        InvalidInput: if its state cannot be read.
    """
    record = record_of(name)
    if record is None:
        return None
    topology = topology_file(name)
    if not _is_filled(topology):
        raise InvalidInput(
            f"{topology} is missing or empty (`testbed up --name {name}` with the same topology writes it again)."
        )
    return TestbedState(topology.parent, record, read_document(topology, Topology))


def restore_topology(name: str, topology: Topology, text: str) -> None:
    """Write the topology of a remembered testbed again if it was lost; `topology` is the one asked for, as `text`.

    Raises:
        InvalidInput: if the testbed was brought up with other clusters.
    """
    record, file = record_of(name), topology_file(name)
    if record is None or _is_filled(file):
        return
    emulated = topology.emulated.cluster_names if topology.emulated else []
    if [cluster.name for cluster in record.clusters] != list(emulated):
        known = ", ".join(cluster.name for cluster in record.clusters)
        raise InvalidInput(
            f"{file} is missing or empty, and the testbed's clusters ({known}) are not "
            f"those of {topology.name}: name the topology that it was brought up with."
        )
    write_whole(file, text)


def _is_filled(file: Path) -> bool:
    """Return whether something is in a file; a loss of power may leave an empty one."""
    return file.is_file() and file.stat().st_size > 0


def topology_file(name: str) -> Path:
    """Return the file of the topology of one testbed, as it was brought up."""
    return state_folder(name) / "topology.yaml"


def record_of(name: str) -> TestbedRecord | None:
    """Return the decisions made about the testbed called `name`, or None if there is none.

    Raises:
        InvalidInput: if its record is damaged.
    """
    recorded = state_folder(name) / RECORD_FILE
    if not recorded.is_file():
        return None
    try:
        return TestbedRecord.model_validate_json(recorded.read_bytes())
    except ValidationError as error:
        raise InvalidInput(
            f"{recorded}: is damaged; take the testbed down with `testbed down --name {name}`."
        ) from error


def readable_record(name: str) -> TestbedRecord | None:
    """Return the decisions made about the testbed called `name`, or None if there is none or its record is damaged."""
    try:
        return record_of(name)
    except InvalidInput:
        return None


def remembered_names() -> list[str]:
    """Return the names of the testbeds that this host remembers."""
    return sorted(path.parent.name for path in state_root().glob(f"*/{RECORD_FILE}"))


def remember(record: TestbedRecord, topology_text: str) -> TestbedState:
    """Write the state of a testbed that is being brought up, with a new token; keys and Compose file follow later."""
    folder = state_folder(record.name)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    topology = topology_file(record.name)
    write_whole(topology, topology_text)
    write_token(folder)
    write_record(record)
    return TestbedState(folder, record, read_document(topology, Topology))


def write_record(record: TestbedRecord) -> None:
    """Write the decisions made about a testbed, replacing earlier ones."""
    write_whole(state_folder(record.name) / RECORD_FILE, record.model_dump_json(indent=2) + "\n")


def note_underlays(testbed: TestbedState, found: Mapping[str, Underlay]) -> TestbedState:
    """Write what was measured between the hosts of a testbed, and return its state with that."""
    hosts = testbed.record.hosts
    if hosts is None or not found:
        return testbed
    record = testbed.record.model_copy(update={"hosts": hosts.with_underlays(found)})
    write_record(record)
    return replace(testbed, record=record)


def write_token(folder: Path) -> None:
    """Write a new token for the clients of a broker."""
    write_secret(folder / TOKEN_FILE, secrets.token_urlsafe(32).encode())
    write_authorization(folder)


def write_authorization(folder: Path) -> None:
    """Write the header that carries the token, unless it is there, so that no command line has to show the token."""
    header = b"Authorization: Bearer " + (folder / TOKEN_FILE).read_bytes().strip() + b"\n"
    file = folder / AUTHORIZATION_FILE
    if not file.is_file() or file.read_bytes() != header:
        write_secret(file, header)


def forget(name: str) -> None:
    """Remove the state of a testbed."""
    shutil.rmtree(state_folder(name), ignore_errors=True)


def write_secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner can ever read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        path.rmdir()  # the engine makes an empty folder where a file that a container mounts is missing
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)


@contextmanager
def exclusive(purpose: str, *, wait: bool) -> Iterator[None]:
    """Hold the lock called `purpose` against other processes of this user.

    Raises:
        TestbedBusy: if another process holds it and `wait` is false.
    """
    state_root().mkdir(parents=True, exist_ok=True)
    try:
        lock = ProcessLock(state_root() / f"{purpose}.lock", waits=wait)
    except BlockingIOError as error:
        raise TestbedBusy(
            f"Another `testbed up` or `testbed down` of {purpose!r} is at work (wait until it ends)."
        ) from error
    try:
        yield
    finally:
        lock.release()
