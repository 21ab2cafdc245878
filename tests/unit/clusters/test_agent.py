"""The user's ssh-agent, which talks to nobody but its user and root: how the broker, another user, may use it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.clusters.agent import INHERITED, agent_socket
from emulator.model.errors import ClusterUnreachable
from emulator.model.project import PROJECT_ROOT
from tests.unit.clusters.ssh_servers import Agent, make_key

pytestmark = pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="OpenSSH's client is not installed")

WITH_AGENT = PROJECT_ROOT / "images" / "broker" / "with_agent.py"
ASK = """
import os, socket, sys
if os.environ.get(%r):
    agent = socket.socket(fileno=int(os.environ[%r]))
else:
    agent = socket.socket(socket.AF_UNIX)
    agent.connect(sys.argv[1])
agent.sendall(bytes((0, 0, 0, 1, 11)))  # which keys are there?
print(b"the-key" in agent.recv(65536))
"""
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    made = Agent(tmp_path / "of-agent")
    made.add([make_key(tmp_path / "the-key")])
    yield made
    made.stop()


def asked(socket: Path, *prefix: str) -> str:
    """Return what a program finds that asks the agent by way of the words before it."""
    python = shutil.which("python3", path="/usr/bin:/bin")  # which every user may run
    if python is None:
        pytest.skip("the system has no Python")
    command = [*prefix, python, "-I", "-c", ASK.replace("%r", repr(INHERITED)), str(socket)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd="/")
    return (ended.stdout + ended.stderr).strip()


def test_a_command_inherits_a_connection_to_the_agent(agent: Agent) -> None:
    assert asked(agent.socket, sys.executable, str(WITH_AGENT), str(agent.socket)) == "True"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_so_another_user_may_use_an_agent_that_refuses_them_otherwise(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        open_to_all = Agent(Path(folder) / "of-agent")
        try:
            open_to_all.add([make_key(tmp_path / "the-key")])
            open_to_all.socket.chmod(0o777)
            assert asked(open_to_all.socket, *NOBODY) != "True"  # it hangs up
            through = [sys.executable, str(WITH_AGENT), str(open_to_all.socket)]
            assert asked(open_to_all.socket, *through, *NOBODY) == "True"
        finally:
            open_to_all.stop()


def test_without_an_agent_the_command_runs_all_the_same(tmp_path: Path) -> None:
    program = [sys.executable, str(WITH_AGENT), str(tmp_path / "gone"), "sh", "-c", f"echo so: ${INHERITED}"]
    ended = subprocess.run(program, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "so:\n")
    assert f"no ssh-agent answers at {tmp_path}/gone" in ended.stderr


def test_another_agent_at_the_same_path_is_noticed(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent.socket))
    first = agent_socket()
    agent.socket.rename(tmp_path / "kept")
    agent.socket.touch()
    assert agent_socket().path == first.path
    assert agent_socket() != first


@pytest.mark.parametrize("path", ["", "relative", "/nowhere/agent"])
def test_a_socket_that_cannot_be_mounted_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", path)
    with pytest.raises(ClusterUnreachable, match="cannot be mounted by the broker: start an agent"):
        agent_socket()
