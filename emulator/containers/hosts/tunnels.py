"""SSH tunnels to the engines of other hosts: a socket here that leads to the engine's socket there.

The Docker SDK, both versions of Compose, and streams use the same tunnels; this host needs an `ssh` that logs in
without asking for anything. A tunnel lives as long as the process that opened it. If its `ssh` ends before, because the
network or the server there failed, it is opened again when it is next used, with the same socket here.
"""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import requests.exceptions

from emulator.hosts.inventory import Host
from emulator.model.errors import EngineUnavailable
from emulator.model.escapes import last_line

ENGINE_SOCKET: Final = "/var/run/docker.sock"
CONNECT_WITHIN_HOST_S: Final = 10
OPEN_WITHIN_HOST_S: Final = 20.0
END_WITHIN_HOST_S: Final = 2.0

ATTEMPTS: Final = 3
"""How often a tunnel that was lost is tried when it is used: a server that is started again refuses for a moment."""
ATTEMPTS_BEGIN_WITHIN_HOST_S: Final = 5.0
"""A host that does not answer at all is tried once: that takes as long as `CONNECT_WITHIN_HOST_S`."""
PAUSE_HOST_S: Final = 1.0
LEFT_ALONE_HOST_S: Final = 15.0
"""How long nobody tries again after that: who uses the tunnel meanwhile does not wait for the same answer."""

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


class TunnelLost(EngineUnavailable, requests.exceptions.ConnectionError):
    """A tunnel that was lost and cannot be opened again now; for users of the Docker SDK an engine with no answer."""


class Tunnel:
    """An SSH tunnel to the engine of `host`, which `start` opens; `url` is its end here, however often it is opened."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._folder = tempfile.TemporaryDirectory(prefix="testbed-")  # only its owner may look into it
        self._socket = Path(self._folder.name) / "engine.sock"
        self._ssh: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._why_lost = ""
        self._host_try_again_s = 0.0
        atexit.register(self.close)

    @property
    def url(self) -> str:
        """The address of the engine, for programs of this host."""
        return f"unix://{self._socket}"

    def start(self) -> str:
        """Start SSH and wait until the tunnel is open; return a sentence that says why it is not, or nothing."""
        said = Path(self._folder.name) / "said"
        self._socket.unlink(missing_ok=True)  # what an SSH that was killed left would pass for the new one's
        try:
            with said.open("wb") as errors:  # a file, not a pipe: `ssh` may say more while nobody reads
                ssh = self._ssh = subprocess.Popen(
                    tunnel_command(self._host, self._socket),
                    stderr=errors,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
        except OSError as error:
            return (
                f"Host {self._host.name!r} is reached by SSH, but `ssh` does not run here ({error.strerror}: install "
                "openssh-client)."
            )
        give_up_host_s = time.monotonic() + OPEN_WITHIN_HOST_S
        while not self._socket.exists() and ssh.poll() is None and time.monotonic() < give_up_host_s:
            time.sleep(_LOOK_EVERY_HOST_S)
        if self._socket.exists():
            return ""
        self._end()
        last = last_line(said.read_text(errors="replace"), "SSH opened no tunnel")
        return f"Host {self._host.name!r} is not reached at {self._host.engine}: {last}."

    def require(self) -> None:
        """Open the tunnel again if it was lost.

        Raises:
            TunnelLost: if that fails; for a while it is not tried again then.
        """
        with self._lock:  # who comes meanwhile waits for the same attempts
            if self._ssh is not None and self._ssh.poll() is None:
                return
            if time.monotonic() >= self._host_try_again_s:
                self._why_lost = self._started_again()
                self._host_try_again_s = time.monotonic() + LEFT_ALONE_HOST_S if self._why_lost else 0.0
            if self._why_lost:
                raise TunnelLost(
                    f"{self._why_lost.rstrip('.')} (the tunnel to its engine was lost, and is opened again once "
                    f"`{self._login}` gets there without a password)."
                )

    def close(self) -> None:
        """End the tunnel, and remove its socket."""
        self._end()
        self._folder.cleanup()

    @property
    def _login(self) -> str:
        target, port = self._host.ssh_target
        return f"ssh {target}" if port is None else f"ssh -p {port} {target}"

    def _started_again(self) -> str:
        """Try to start SSH, several times if the host refuses at once; return as `start` does."""
        last_attempt_host_s = time.monotonic() + ATTEMPTS_BEGIN_WITHIN_HOST_S
        why = self.start()
        for _ in range(ATTEMPTS - 1):
            if not why or time.monotonic() > last_attempt_host_s:
                break
            time.sleep(PAUSE_HOST_S)
            why = self.start()
        return why

    def _end(self) -> None:
        if self._ssh is not None:
            self._ssh.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._ssh.wait(timeout=END_WITHIN_HOST_S)


def tunnel_command(host: Host, socket: Path) -> list[str]:
    """Return the command that forwards `socket` to the engine of a host."""
    target, port = host.ssh_target
    options = [word for key, value in _OPTIONS.items() for word in ("-o", f"{key}={value}")]
    stated = [] if port is None else ["-p", str(port)]
    return ["ssh", "-nNT", *options, *stated, "-L", f"{socket}:{ENGINE_SOCKET}", target]


def open_tunnel(host: Host) -> Tunnel:
    """Open a tunnel to the engine of a host.

    Raises:
        EngineUnavailable: if SSH is not installed, or does not get there; with what it said last.
    """
    tunnel = Tunnel(host)
    if why := tunnel.start():
        raise EngineUnavailable(why)
    return tunnel
