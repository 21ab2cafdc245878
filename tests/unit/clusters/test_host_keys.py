"""Which host key is taken of a head: spoken to over SSH, as the testbed does, on this host's loopback."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest

from emulator.clusters.host_keys import connected, fingerprint, known_hosts_line
from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import RealHead

HOST_KEY = paramiko.ECDSAKey.generate()
OTHER = "SHA256:" + 43 * "A"


class LetsIn(paramiko.ServerInterface):
    """Whoever comes with a key."""

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return paramiko.AUTH_SUCCESSFUL if username == "alice" else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"


@pytest.fixture
def port() -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                transport = paramiko.Transport(listening.accept()[0])
                transport.add_server_key(HOST_KEY)
                with contextlib.suppress(paramiko.SSHException, EOFError):
                    transport.start_server(server=LetsIn())

    threading.Thread(target=serve, daemon=True).start()
    yield int(listening.getsockname()[1])
    listening.close()


@pytest.fixture
def stated(port: int, tmp_path: Path) -> dict[str, Any]:
    paramiko.ECDSAKey.generate().write_private_key_file(str(tmp_path / "key"))
    (tmp_path / "nobody").write_text("")
    files = {"key": str(tmp_path / "key"), "known_hosts": str(tmp_path / "nobody")}
    return {"address": f"alice@127.0.0.1:{port}", **files}


def test_the_stated_fingerprint_is_taken_and_becomes_a_line_that_knows_the_head(stated, port, tmp_path):
    ssh = RealHead(**{**stated, "known_hosts": None}, host_key=fingerprint(HOST_KEY))
    with connected("das", ssh) as client:
        line = known_hosts_line(ssh, client)
    assert line == f"[127.0.0.1]:{port} {HOST_KEY.get_name()} {HOST_KEY.get_base64()}"
    (tmp_path / "known").write_text(f"{line}\n")
    connected("das", RealHead(**{**stated, "known_hosts": str(tmp_path / "known")})).close()


def test_a_new_head_is_taken_only_where_that_is_said(stated):
    connected("das", RealHead(**stated, unknown_host_key="accept-new")).close()
    with pytest.raises(ClusterUnreachable, match="is in no known-hosts file"):
        connected("das", RealHead(**stated))


@pytest.mark.parametrize("rule", ["reject", "accept-new"])
def test_a_head_that_shows_another_key_than_the_known_one_is_refused_whatever_is_said(stated, port, tmp_path, rule):
    other = paramiko.ECDSAKey.generate()
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {other.get_name()} {other.get_base64()}\n")
    ssh = RealHead(**{**stated, "known_hosts": str(tmp_path / "known")}, unknown_host_key=rule)
    with pytest.raises(ClusterUnreachable, match="not the known"):
        connected("das", ssh)


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
        connected("das", RealHead(**{**stated, **change}))
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_account_that_does_not_take_the_key_is_told_what_to_do(stated, port):
    ssh = RealHead(**{**stated, "address": f"bob@127.0.0.1:{port}"}, unknown_host_key="accept-new")
    with pytest.raises(ClusterUnreachable, match="authorized_keys"):
        connected("das", ssh)


def test_a_key_with_a_passphrase_is_refused_since_nobody_is_there_to_type_it(stated):
    paramiko.ECDSAKey.generate().write_private_key_file(stated["key"], password="secret")
    with pytest.raises(ClusterUnreachable, match="without a passphrase"):
        connected("das", RealHead(**stated))
