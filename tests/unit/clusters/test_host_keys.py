"""Which host key is taken of a head: spoken to over SSH, as the testbed does, on this host's loopback."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest

from emulator.clusters.host_keys import fingerprint
from emulator.clusters.reaching import reach
from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import RealHead
from tests.unit.clusters.ssh_servers import USER, OwnServer

OTHER = "SHA256:" + 43 * "A"


def tried(ssh: RealHead) -> None:
    reach("das", ssh).connection.close()


@pytest.fixture
def head(tmp_path: Path) -> Iterator[OwnServer]:
    server = OwnServer(tmp_path / "key.pub")
    yield server
    server.stop()


@pytest.fixture
def stated(head: OwnServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    key = paramiko.ECDSAKey.generate()
    key.write_private_key_file(str(tmp_path / "key"))
    (tmp_path / "key.pub").write_text(f"{key.get_name()} {key.get_base64()}\n")
    (tmp_path / "nobody").write_text("")
    files = {"key": str(tmp_path / "key"), "known_hosts": str(tmp_path / "nobody")}
    return {"address": f"{USER}@127.0.0.1:{head.port}", **files}


def test_the_stated_fingerprint_is_taken_and_becomes_a_line_that_knows_the_head(stated, head, tmp_path):
    ssh = RealHead(**{**stated, "known_hosts": None}, host_key=fingerprint(head.host_key))
    reached = reach("das", ssh)
    reached.connection.close()
    (line,) = reached.known_hosts_lines
    assert line == f"[127.0.0.1]:{head.port} {head.host_key.get_name()} {head.host_key.get_base64()}"
    (tmp_path / "known").write_text(f"{line}\n")
    tried(RealHead(**{**stated, "known_hosts": str(tmp_path / "known")}))


def test_a_new_head_is_taken_only_where_that_is_said(stated):
    tried(RealHead(**stated, unknown_host_key="accept-new"))
    with pytest.raises(ClusterUnreachable, match="is in no known-hosts file"):
        tried(RealHead(**stated))


@pytest.mark.parametrize("rule", ["reject", "accept-new"])
def test_a_head_that_shows_another_key_than_the_known_one_is_refused_whatever_is_said(stated, head, tmp_path, rule):
    other = paramiko.ECDSAKey.generate()
    (tmp_path / "known").write_text(f"[127.0.0.1]:{head.port} {other.get_name()} {other.get_base64()}\n")
    ssh = RealHead(**{**stated, "known_hosts": str(tmp_path / "known")}, unknown_host_key=rule)
    with pytest.raises(ClusterUnreachable, match="not the known"):
        tried(ssh)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"host_key": OTHER}, f"not {OTHER}"),
        ({"key": "/nowhere/key"}, "there is no key /nowhere/key"),
        ({"key": __file__}, "is no private key"),
        ({"known_hosts": "/nowhere/known_hosts"}, "/nowhere/known_hosts cannot be read"),
        ({"address": "alice@127.0.0.1:9"}, "cannot be reached"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(stated, change, said):
    with pytest.raises(ClusterUnreachable) as refusal:
        tried(RealHead(**{**stated, **change}))
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_account_that_does_not_take_the_key_is_told_what_to_do(stated, head):
    ssh = RealHead(**{**stated, "address": f"bob@127.0.0.1:{head.port}"}, unknown_host_key="accept-new")
    with pytest.raises(ClusterUnreachable, match="authorized_keys"):
        tried(ssh)


def test_a_key_with_a_passphrase_is_for_the_agent_since_nobody_is_there_to_type_it(stated):
    paramiko.ECDSAKey.generate().write_private_key_file(stated["key"], password="secret")
    with pytest.raises(ClusterUnreachable, match="has a passphrase, and no ssh-agent holds it"):
        tried(RealHead(**stated, unknown_host_key="accept-new"))
