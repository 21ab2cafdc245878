"""The SSH keys of a testbed: what SSH's programs and the broker's library take, and nobody else can read."""

import stat
from pathlib import Path

import paramiko
import pytest

from emulator.containers.keys import make_keys
from emulator.containers.names import USER
from emulator.containers.state import ClusterRecord, TestbedRecord, TestbedState, remember
from emulator.model.project import PROJECT_ROOT

REAL_HEAD = "fs0.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN8Hmwm2yTNxpPSVVRQOC7OBqJs5RXBmtYuINPnUHzlm"


@pytest.fixture
def testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestbedState:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    record = TestbedRecord(
        name="lab",
        second_octet=111,
        api_port=8470,
        router_backend="auto",
        user=USER,
        control_network="10.111.0.0/24",
        all_sites="10.111.128.0/17",
        clusters=(ClusterRecord(name="delft", container="lab-delft", head="10.111.0.10", site="10.111.128.10"),),
        images={},
    )
    state = remember(record, (PROJECT_ROOT / "compose" / "mini.yaml").read_text())
    make_keys(state, [REAL_HEAD])
    return state


@pytest.mark.parametrize("file", ["broker", "grid", "hosts/delft"])
def test_private_keys_are_read_by_ssh_libraries_and_are_the_owners_alone(testbed: TestbedState, file: str) -> None:
    path = testbed.folder / "keys" / file
    assert paramiko.Ed25519Key.from_private_key_file(str(path)).get_name() == "ssh-ed25519"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_head_accepts_the_broker_and_the_other_clusters(testbed: TestbedState) -> None:
    accepted = (testbed.folder / "keys" / "authorized_keys").read_text().splitlines()
    pairs = [
        paramiko.Ed25519Key.from_private_key_file(str(testbed.folder / "keys" / name)) for name in ("broker", "grid")
    ]
    assert [line.split()[1:3] for line in accepted] == [["ssh-ed25519", key.get_base64()] for key in pairs]


def test_keys_run_commands_only_and_in_containers_only_from_where_their_owners_are(testbed: TestbedState) -> None:
    broker, grid = (testbed.folder / "keys" / "authorized_keys").read_text().splitlines()
    assert broker.startswith('restrict,from="10.111.0.2" ssh-ed25519 ')
    assert grid.startswith('restrict,from="10.111.0.0/24,10.111.128.0/17" ssh-ed25519 ')
    made = {path.name for path in (testbed.folder / "keys").iterdir()}
    assert made == {"broker", "grid", "hosts", "authorized_keys", "known_hosts"}, "none is for a real head"


def test_the_printed_words_of_making_keys_hold_none(testbed: TestbedState, capsys: pytest.CaptureFixture[str]) -> None:
    make_keys(testbed, [REAL_HEAD])
    assert capsys.readouterr() == ("", "")


def test_every_head_is_known_by_its_addresses_and_names_and_a_real_one_as_it_was_checked(testbed: TestbedState) -> None:
    known = paramiko.HostKeys(str(testbed.folder / "keys" / "known_hosts"))
    own = paramiko.Ed25519Key.from_private_key_file(str(testbed.folder / "keys" / "hosts" / "delft"))
    assert all(known.check(name, own) for name in ("10.111.0.10", "10.111.128.10", "delft", "lab-delft"))
    assert "fs0.example" in known
