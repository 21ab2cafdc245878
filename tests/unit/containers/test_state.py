"""What the host remembers of a testbed, and how it forgets."""

import errno
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.containers import free_addresses
from emulator.containers.names import USER
from emulator.containers.state import (
    ClusterRecord,
    TestbedRecord,
    exclusive,
    forget,
    readable_record,
    remember,
    remembered_names,
    state_folder,
    testbed_state,
    write_record,
    write_secret,
)
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput, TestbedAlreadyUp, TestbedBusy, TestbedNotUp
from emulator.model.project import PROJECT_ROOT

MINI = (PROJECT_ROOT / "compose" / "mini.yaml").read_text()


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def record(name: str = "lab") -> TestbedRecord:
    clusters = (ClusterRecord(name="delft", container=f"{name}-delft", head="10.111.0.10", site="10.111.128.10"),)
    return TestbedRecord(
        name=name,
        second_octet=111,
        api_port=8470,
        router_backend="auto",
        user=USER,
        control_network="10.111.0.0/24",
        all_sites="10.111.128.0/17",
        clusters=clusters,
        images={},
    )


def test_what_was_remembered_is_what_stands() -> None:
    written = remember(record(), MINI)
    found = testbed_state("lab")
    assert (found.record, found.topology) == (record(), topology_named("mini"))
    assert found.api_url == "http://127.0.0.1:8470"
    assert found.token == written.token
    assert len(found.token) >= 32


def test_the_topology_is_kept_word_for_word() -> None:
    assert (remember(record(), MINI).folder / "topology.yaml").read_text() == MINI


def test_the_token_is_the_owners_alone() -> None:
    token = remember(record(), MINI).folder / "token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600


def test_a_secret_that_replaces_a_readable_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("old")
    path.chmod(0o644)
    write_secret(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_was_forgotten_does_not_stand_and_the_error_says_what_to_do() -> None:
    remember(record(), MINI)
    forget("lab")
    with pytest.raises(TestbedNotUp, match="testbed up"):
        testbed_state("lab")
    assert remembered_names() == []


def test_damaged_state_is_named() -> None:
    folder = remember(record(), MINI).folder
    (folder / "testbed.json").write_text("{")
    with pytest.raises(InvalidInput, match=r"testbed\.json: is damaged; .* `testbed down --name lab`"):
        testbed_state("lab")


def test_a_record_cut_off_within_a_letter_is_damaged_too() -> None:
    folder = remember(record(), MINI).folder
    (folder / "testbed.json").write_bytes('{"name": "é'.encode()[:-1])
    with pytest.raises(InvalidInput, match=r"testbed\.json: is damaged"):
        testbed_state("lab")
    assert readable_record("lab") is None


def test_a_full_disk_leaves_the_record_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = remember(record(), MINI)
    files = sorted(before.folder.iterdir())
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_record(record().model_copy(update={"api_port": 8471}))
    assert testbed_state("lab") == before
    assert sorted(before.folder.iterdir()) == files


def test_a_testbed_whose_state_cannot_be_read_does_not_keep_others_from_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """The port of one whose record is damaged cannot be told; one without its topology still has its own."""
    monkeypatch.setattr(free_addresses, "is_free", lambda port: True)
    for port, name in enumerate(("whole", "damaged", "without-topology"), start=8470):
        remember(record(name).model_copy(update={"api_port": port}), MINI)
    (state_folder("damaged") / "testbed.json").write_text('{"name": "dam')
    (state_folder("without-topology") / "topology.yaml").unlink()
    nothing = SimpleNamespace(containers=SimpleNamespace(list=lambda **options: []))
    assert free_addresses.free_port(nothing, None, first=8470) == 8471
    with pytest.raises(TestbedAlreadyUp, match="Port 8472"):
        free_addresses.free_port(nothing, 8472)
    assert [str(network) for network in free_addresses._remembered_subnets()] == ["10.111.0.0/16"] * 2


def test_a_second_process_that_brings_it_up_is_refused() -> None:
    with exclusive("lab", wait=False), pytest.raises(TestbedBusy, match="lab"), exclusive("lab", wait=False):
        pass
