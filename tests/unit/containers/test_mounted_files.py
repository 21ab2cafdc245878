"""State files that were lost: written again where they follow from others, read back or made anew where they do not."""

import errno
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest
import yaml

from emulator.containers import keys
from emulator.containers.common_service import SHARE_OF_MEMORY
from emulator.containers.mounted_files import renewed_routes, restore_files, secret_files, write_rendered
from emulator.containers.names import USER
from emulator.containers.parts import rendered_document
from emulator.containers.progress import ignore
from emulator.containers.state import (
    ClusterRecord,
    TestbedRecord,
    TestbedSpec,
    TestbedState,
    remember,
    remembered,
    restore_topology,
    write_secret,
)
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.project import PROJECT_ROOT
from emulator.model.real_head import AgentSocket, Hop

MINI = topology_named("mini")
TEXT = (PROJECT_ROOT / "compose" / "mini.yaml").read_text()


@dataclass
class Engine:
    """Containers that print the files that they mount; those not in `running` do not exist. `machine` is their host."""

    running: dict[str, dict[str, bytes]] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)

    def info(self) -> dict[str, Any]:
        return self.machine

    @property
    def containers(self) -> Any:
        return SimpleNamespace(get=self._get)

    def _get(self, name: str) -> Any:
        if name not in self.running:
            raise docker.errors.NotFound(name)
        return SimpleNamespace(exec_run=lambda command: (0, self.running[name].get(command[-1], b"")))


@pytest.fixture
def testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestbedState:
    """The state of a testbed with all its files."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    clusters = tuple(
        ClusterRecord(name=name, container=f"lab-{name}", head=f"10.111.0.{10 + i}", site=f"10.111.{128 + i}.10")
        for i, name in enumerate(MINI.cluster_names)
    )
    record = TestbedRecord(
        name="lab",
        second_octet=111,
        api_port=8470,
        router_backend="auto",
        user=USER,
        control_network="10.111.0.0/24",
        all_sites="10.111.128.0/17",
        clusters=clusters,
        images={"node": "n", "wan": "w", "broker": "b"},
    )
    state = remember(record, TEXT)
    write_rendered(Engine(), state)
    for file in secret_files(state):
        if file != "token":
            write_secret(state.folder / file, file.encode())
    return state


@pytest.fixture
def made_anew(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The testbeds whose keys were made anew."""
    names: list[str] = []
    monkeypatch.setattr(keys, "make_keys", lambda state, heads: names.append(state.record.name))
    return names


def test_a_whole_state_is_left_alone(testbed: TestbedState, made_anew: list[str]) -> None:
    before = {path: path.read_bytes() for path in testbed.folder.rglob("*") if path.is_file()}
    assert restore_files(Engine(), testbed, (), ignore) == frozenset()
    assert {path: path.read_bytes() for path in before} == before
    assert made_anew == []


def test_compose_file_and_settings_are_written_again_as_they_were(testbed: TestbedState) -> None:
    before = testbed.compose_file.read_text(), testbed.settings_file.read_text()
    testbed.compose_file.unlink()
    testbed.settings_file.unlink()
    assert restore_files(Engine(), testbed, (), ignore) == frozenset()
    assert (testbed.compose_file.read_text(), testbed.settings_file.read_text()) == before


@pytest.mark.parametrize("kept", [0.0, 0.5])
@pytest.mark.parametrize("file", ["compose.yaml", "broker.json"])
def test_a_file_that_a_loss_of_power_emptied_or_cut_off_is_written_again(
    testbed: TestbedState, file: str, kept: float
) -> None:
    path = testbed.folder / file
    before = path.read_text()
    path.write_text(before[: int(kept * len(before))])
    assert restore_files(Engine(), testbed, (), ignore) == frozenset()
    assert path.read_text() == before


@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_a_compose_file_that_is_not_whole_is_named_with_the_remedy(testbed: TestbedState, kept: float) -> None:
    text = testbed.compose_file.read_text()
    testbed.compose_file.write_text(text[: int(kept * len(text))])
    with pytest.raises(InvalidInput, match=r"compose\.yaml is missing, empty or cut off \(`testbed up` writes it"):
        rendered_document(testbed)


def test_a_full_disk_leaves_the_compose_file_that_was_there(
    testbed: TestbedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = testbed.compose_file.read_text()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_rendered(Engine(), testbed)
    assert testbed.compose_file.read_text() == before


def test_an_engine_in_a_virtual_machine_has_the_memory_of_that_machine(testbed: TestbedState) -> None:
    gib = 1024**3
    desktop = Engine(machine={"KernelVersion": "6.10.14-linuxkit", "NCPU": 2, "MemTotal": 2 * gib})
    write_rendered(desktop, testbed)
    services = yaml.safe_load(testbed.compose_file.read_text())["services"]
    assert services["broker"]["mem_limit"] == int(SHARE_OF_MEMORY * 2 * gib / 3)


def test_a_secret_is_read_back_from_a_container_that_runs(testbed: TestbedState, made_anew: list[str]) -> None:
    token = testbed.token
    (testbed.folder / "token").unlink()
    (testbed.folder / "keys/hosts/delft").unlink()
    copies = {
        "lab-broker": {"/etc/testbed/token": token.encode()},
        "lab-delft": {"/etc/testbed/keys/host": b"its key"},
    }
    assert restore_files(Engine(copies), testbed, (), ignore) == frozenset()
    assert testbed.token == token
    assert stat.S_IMODE((testbed.folder / "token").stat().st_mode) == 0o600
    assert (testbed.folder / "keys/hosts/delft").read_bytes() == b"its key"
    assert made_anew == []


def test_a_token_that_nobody_has_is_made_anew_and_the_broker_must_read_it(testbed: TestbedState) -> None:
    token = testbed.token
    (testbed.folder / "token").unlink()
    assert restore_files(Engine(), testbed, (), ignore) == {"lab-broker"}
    assert testbed.token != token


def test_an_empty_token_is_none(testbed: TestbedState) -> None:
    (testbed.folder / "token").write_text("")
    with pytest.raises(InvalidInput, match="empty"):
        _ = testbed.token
    assert restore_files(Engine(), testbed, (), ignore) == {"lab-broker"}
    assert len(testbed.token) >= 32


def test_the_header_for_curl_is_the_owner_s_alone_and_follows_the_token(testbed: TestbedState) -> None:
    file = testbed.folder / "authorization"
    for lost in ("authorization", "token"):
        (testbed.folder / lost).unlink()
        restore_files(Engine(), testbed, (), ignore)
        assert file.read_text() == f"Authorization: Bearer {testbed.token}\n"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_keys_that_nobody_has_are_all_made_anew(testbed: TestbedState, made_anew: list[str]) -> None:
    (testbed.folder / "keys/broker").unlink()
    outdated = restore_files(Engine(), testbed, (), ignore)
    assert outdated == {"lab-broker", *(f"lab-{name}" for name in MINI.cluster_names)}
    assert made_anew == ["lab"]


def test_an_empty_folder_that_the_engine_made_in_place_of_a_secret_is_replaced(testbed: TestbedState) -> None:
    (testbed.folder / "token").unlink()
    (testbed.folder / "token").mkdir()
    restore_files(Engine(), testbed, (), ignore)
    assert len(testbed.token) >= 32


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_lost_topology_is_written_again_if_the_clusters_are_the_same(testbed: TestbedState, is_empty: bool) -> None:
    (testbed.folder / "topology.yaml").unlink()
    if is_empty:
        (testbed.folder / "topology.yaml").touch()
    with pytest.raises(InvalidInput, match=r"topology\.yaml is missing or empty .*testbed up --name lab"):
        remembered("lab")
    with pytest.raises(InvalidInput, match="are not those of das2"):
        restore_topology("lab", topology_named("das2"), "das2")
    restore_topology("lab", MINI, TEXT)
    found = remembered("lab")
    assert found is not None
    assert found.topology == MINI


def test_every_mounted_file_is_looked_after(testbed: TestbedState) -> None:
    """What the Compose file mounts from the state folder is a secret, the topology or the settings."""
    mounted = {
        line.strip(" -").split(":")[0]
        for line in testbed.compose_file.read_text().splitlines()
        if str(testbed.folder) in line
    }
    known = {*secret_files(testbed), "topology.yaml", "broker.json"}
    assert {str(Path(path).relative_to(testbed.folder)) for path in mounted} <= known
    assert "token" in known


HOME_KEY = Path("/home/alice/.ssh/das")
DIRECT = (Hop(host="fs0", user="alice", key_file=HOME_KEY),)
BY_AGENT = (
    Hop(host="gate", user="alice", agent_key="AAAA"),
    Hop(host="fs0", user="alice", key_file=HOME_KEY),
)
REAL = (
    f"{{name: r, processor: native, clusters: [{{name: das, nodes: 2, ssh: {{address: alice@fs0, key: {HOME_KEY}}}}}]}}"
)


@pytest.fixture
def real(testbed: TestbedState) -> TestbedState:
    """The state of a testbed of one real cluster, whose head it knows."""
    state = remember(testbed.record.model_copy(update={"clusters": ()}), REAL)
    write_rendered(Engine(), state)
    (state.folder / "keys" / "known_hosts").write_text("fs0 ssh-ed25519 AAAA\n")
    return state


def asked_for(route: tuple[Hop, ...], inode: int | None = None, *lines: str) -> TestbedSpec:
    agent = AgentSocket(path=Path("/tmp/ssh-x/agent"), inode=inode) if inode else None
    return TestbedSpec("lab", Path("real.yaml"), known_heads=lines, routes={"das": route}, agent=agent)


def test_a_way_that_the_topology_states_is_the_one_that_an_older_record_meant(real: TestbedState) -> None:
    assert renewed_routes(Engine(), real, asked_for(DIRECT), ignore) is None


def test_another_way_is_recorded_and_the_broker_is_told(real: TestbedState) -> None:
    lines = ("gate ssh-ed25519 BBBB", "fs0 ssh-ed25519 another")
    renewed = renewed_routes(Engine(), real, asked_for(BY_AGENT, 7, *lines), ignore)
    assert renewed is not None
    found = remembered("lab")
    assert found is not None
    assert found.record.routes == {"das": BY_AGENT}
    assert "/tmp/ssh-x/agent:/root/ssh-agent:ro" in real.compose_file.read_text()
    (head,) = json.loads(real.settings_file.read_text())["heads"]
    assert "counts_memory" not in head, "a broker of an older image knows no keys but those of its time"
    assert [jump["host"] for jump in head["jumps"]] == ["gate"]
    # A head that is known keeps its key.
    known = (real.folder / "keys" / "known_hosts").read_text()
    assert known == "fs0 ssh-ed25519 AAAA\ngate ssh-ed25519 BBBB\n"
    assert renewed_routes(Engine(), found, asked_for(BY_AGENT, 7, *lines), ignore) is None


def test_another_agent_at_the_same_path_is_another_way(real: TestbedState) -> None:
    first = renewed_routes(Engine(), real, asked_for(BY_AGENT, 7), ignore)
    assert first is not None
    assert renewed_routes(Engine(), first, asked_for(BY_AGENT, 8), ignore) is not None
