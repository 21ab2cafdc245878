"""SSH tunnels to the engines of other hosts: opened, refused, and opened again after they were lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.containers.engine import NO_ANSWER
from emulator.containers.hosts import tunnels
from emulator.containers.hosts.tunnels import ATTEMPTS, Tunnel, open_tunnel, tunnel_command
from emulator.hosts.inventory import Host
from emulator.model.errors import EngineUnavailable

HOST = Host(name="two", engine="ssh://bob@two.lab:2222", address="10.77.0.2")

OPENS = """#!/bin/sh
echo x >>"$(dirname "$0")/attempts"
for word; do
  case $word in */engine.sock:*) : >"${word%%:*}" ;; esac
done
exec sleep 60
"""
"""An `ssh` that makes the socket of a tunnel, and stays."""

REFUSED = """#!/bin/sh
echo x >>"$(dirname "$0")/attempts"
echo 'ssh: connect to host two.lab port 2222: Connection refused' >&2
exit 255
"""
"""An `ssh` whose host refuses it."""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts an `ssh` of a test's own in place of the host's."""

    def put(text: str) -> None:
        program = tmp_path / "ssh"
        program.write_text(text)
        program.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(tunnels, "PAUSE_HOST_S", 0.01)
    return put


@pytest.fixture
def tunnel(ssh: Callable[[str], None]) -> Iterator[Tunnel]:
    """A tunnel that is open."""
    ssh(OPENS)
    opened = open_tunnel(HOST)
    yield opened
    opened.close()


def attempts(folder: Path) -> int:
    """Return how often `ssh` was started."""
    return len((folder / "attempts").read_text().split())


def end(tunnel: Tunnel) -> None:
    """End the `ssh` of a tunnel, which leaves its socket."""
    assert tunnel._ssh is not None
    tunnel._ssh.kill()
    tunnel._ssh.wait()


def test_the_command_names_the_port_only_where_it_is_stated() -> None:
    command = tunnel_command(HOST, Path("/run/x.sock"))
    assert command[-5:] == ["-p", "2222", "-L", "/run/x.sock:/var/run/docker.sock", "bob@two.lab"]
    assert {"BatchMode=yes", "ControlMaster=no"} <= set(command)
    by_configuration = tunnel_command(HOST.model_copy(update={"engine": "ssh://bob@two.lab"}), Path("/run/x.sock"))
    assert by_configuration[-3:] == ["-L", "/run/x.sock:/var/run/docker.sock", "bob@two.lab"]
    assert "-p" not in by_configuration


def test_an_ssh_that_does_not_get_there_says_so(
    ssh: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh("#!/bin/sh\necho 'bob@two.lab: Permission denied (publickey).' >&2\nexit 255\n")
    with pytest.raises(EngineUnavailable, match=r"Host 'two' .*Permission denied \(publickey\)\.$"):
        open_tunnel(HOST)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(EngineUnavailable, match="install openssh-client"):
        open_tunnel(HOST)


def test_a_tunnel_that_stands_is_left_alone(tunnel: Tunnel, tmp_path: Path) -> None:
    tunnel.require()
    tunnel.require()
    assert attempts(tmp_path) == 1


def test_a_tunnel_that_was_lost_is_opened_again_at_the_same_place(tunnel: Tunnel, tmp_path: Path) -> None:
    url = tunnel.url
    end(tunnel)
    tunnel.require()
    assert attempts(tmp_path) == 2
    assert tunnel.url == url
    assert Path(url.removeprefix("unix://")).exists()


def test_a_host_that_refuses_is_tried_a_few_times_and_then_left_alone_for_a_while(
    tunnel: Tunnel, ssh: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end(tunnel)
    ssh(REFUSED)
    said = r"Host 'two' .*Connection refused \(the tunnel .* again once `ssh -p 2222 bob@two\.lab` gets there"
    # Whoever expects an engine that does not answer expects this, too.
    for error in (EngineUnavailable, NO_ANSWER):
        with pytest.raises(error, match=said):
            tunnel.require()
        assert attempts(tmp_path) == 1 + ATTEMPTS
    ssh(OPENS)
    now_host_s = tunnels.time.monotonic() + tunnels.LEFT_ALONE_HOST_S
    with monkeypatch.context() as later:
        later.setattr(tunnels.time, "monotonic", lambda: now_host_s)
        tunnel.require()
    assert attempts(tmp_path) == 2 + ATTEMPTS


def test_a_host_that_does_not_answer_at_all_is_tried_once(
    tunnel: Tunnel, ssh: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end(tunnel)
    ssh(REFUSED)
    monkeypatch.setattr(tunnels, "ATTEMPTS_BEGIN_WITHIN_HOST_S", -1.0)
    with pytest.raises(EngineUnavailable, match="Connection refused"):
        tunnel.require()
    assert attempts(tmp_path) == 2
