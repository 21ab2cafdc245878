"""SSH tunnels to the engines of other hosts: a socket here that leads to the engine's socket there.

The Docker SDK, both versions of Compose, and streams use the same tunnels; this host needs an `ssh` that logs in
without asking for anything. A tunnel lives as long as the process that opened it.
"""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from emulator.hosts.inventory import Host
from emulator.model.errors import EngineUnavailable
from emulator.model.escapes import last_line

ENGINE_SOCKET: Final = "/var/run/docker.sock"
CONNECT_WITHIN_HOST_S: Final = 10
OPEN_WITHIN_HOST_S: Final = 20.0
_LOOK_EVERY_HOST_S: Final = 0.05
_OPTIONS: Final[Mapping[str, str]] = {
    "BatchMode": "yes",
    "ControlMaster": "no",  # a connection that stands may be used; this one never becomes the user's
    "ConnectTimeout": str(CONNECT_WITHIN_HOST_S),
    "ExitOnForwardFailure": "yes",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "StreamLocalBindUnlink": "yes",
}


def tunnel_command(host: Host, socket: Path) -> list[str]:
    """Return the command that forwards `socket` to the engine of a host."""
    target, port = host.ssh_target
    options = [word for key, value in _OPTIONS.items() for word in ("-o", f"{key}={value}")]
    stated = [] if port is None else ["-p", str(port)]
    return ["ssh", "-nNT", *options, *stated, "-L", f"{socket}:{ENGINE_SOCKET}", target]


def open_tunnel(host: Host) -> str:
    """Open a tunnel to the engine of a host, and return the address of its end here.

    Raises:
        EngineUnavailable: if SSH is not installed, or does not get there; with what it said last.
    """
    folder = tempfile.TemporaryDirectory(prefix="testbed-")  # only its owner may look into it
    socket = Path(folder.name) / "engine.sock"
    said = Path(folder.name) / "said"
    try:
        with said.open("wb") as errors:  # a file, not a pipe: `ssh` may say more while nobody reads
            ssh = subprocess.Popen(
                tunnel_command(host, socket), stderr=errors, stdin=subprocess.DEVNULL, start_new_session=True
            )
    except OSError as error:
        folder.cleanup()
        raise EngineUnavailable(
            f"Host {host.name!r} is reached by SSH, but `ssh` does not run here ({error.strerror}: install "
            "openssh-client)."
        ) from error
    atexit.register(_close, ssh, folder)
    give_up = time.monotonic() + OPEN_WITHIN_HOST_S
    while not socket.exists() and ssh.poll() is None and time.monotonic() < give_up:
        time.sleep(_LOOK_EVERY_HOST_S)
    if not socket.exists():
        raise EngineUnavailable(f"Host {host.name!r} is not reached at {host.engine}: {_last_word(ssh, said)}.")
    return f"unix://{socket}"


def _last_word(ssh: subprocess.Popen[bytes], said: Path) -> str:
    ssh.terminate()
    ssh.wait()
    return last_line(said.read_text(errors="replace"), "SSH opened no tunnel")


def _close(ssh: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    ssh.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        ssh.wait(timeout=2)
    folder.cleanup()
