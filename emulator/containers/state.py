"""What the host remembers of a standing testbed: one folder per testbed, and this the only module that knows its form.

$XDG_STATE_HOME/multicluster-testbed/NAME/
    topology.yaml   what stands, with the processor profile that it names written out
    compose.yaml    as rendered
    broker.json     what the broker is told when it starts
    keys/           SSH keys of the broker, of the grid's users and of every head
    token           what the broker asks of its clients
    testbed.json    a `StandRecord`
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from emulator.containers.addresses import AddressPlan
from emulator.containers.names import PartNames
from emulator.model.documents import DocumentModel, read_document
from emulator.model.errors import InvalidInput, NotStanding, TestbedBusy
from emulator.model.topology import Topology


class ClusterRecord(DocumentModel):
    """Where a cluster's parts are: `head` on the control network, `site` on the shaped one."""

    name: str
    container: str
    head: str
    site: str


class StandRecord(DocumentModel):
    """What was decided when a testbed was brought up.

    `router_backend` is what was asked for (``auto``, ``kernel``, ``uml``), not what the router chose.
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


@dataclass(frozen=True, slots=True)
class StandState:
    """The remembered state of one testbed."""

    folder: Path
    record: StandRecord
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
        """What the broker asks of its clients."""
        return (self.folder / "token").read_text().strip()

    @property
    def compose_file(self) -> Path:
        """The rendered Compose file."""
        return self.folder / "compose.yaml"


def state_root() -> Path:
    """The folder that holds the state of every testbed of this user."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "multicluster-testbed"


def state_folder(name: str) -> Path:
    """The folder of one testbed, whether it stands or not."""
    return state_root() / PartNames(name).testbed


def standing(name: str) -> StandState:
    """The state of the testbed called `name`.

    Raises:
        NotStanding: if it was never brought up, or was taken down.
        InvalidInput: if what is remembered cannot be read.
    """
    state = remembered(name)
    if state is None:
        raise NotStanding(f"No testbed called {name!r} stands (bring one up with `testbed up`).")
    return state


def remembered(name: str) -> StandState | None:
    """As `standing`, but nothing if there is none."""
    folder = state_folder(name)
    recorded = folder / "testbed.json"
    if not recorded.is_file():
        return None
    try:
        record = StandRecord.model_validate_json(recorded.read_text())
    except ValidationError as error:
        raise InvalidInput(f"{recorded}: is damaged; take the testbed down with `testbed down`.") from error
    return StandState(folder, record, read_document(folder / "topology.yaml", Topology))


def remembered_names() -> list[str]:
    """The testbeds that this host remembers."""
    return sorted(path.parent.name for path in state_root().glob("*/testbed.json"))


def remember(record: StandRecord, topology_text: str) -> StandState:
    """Write the state of a testbed that is being brought up, with a fresh token; keys and Compose file follow."""
    folder = state_folder(record.name)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / "topology.yaml").write_text(topology_text, encoding="utf-8")
    write_secret(folder / "token", secrets.token_urlsafe(32).encode())
    (folder / "testbed.json").write_text(record.model_dump_json(indent=2) + "\n")
    return StandState(folder, record, read_document(folder / "topology.yaml", Topology))


def forget(name: str) -> None:
    """Remove what is remembered of a testbed."""
    shutil.rmtree(state_folder(name), ignore_errors=True)


def write_secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, from its first moment on."""
    path.parent.mkdir(parents=True, exist_ok=True)
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
    with (state_root() / f"{purpose}.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TestbedBusy(
                f"Another `testbed up` or `testbed down` of {purpose!r} is at work (wait until it ends)."
            ) from error
        yield
