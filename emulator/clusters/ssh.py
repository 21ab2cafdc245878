"""One lasting SSH connection to a cluster's head, shared by all who have something to run there.

`SecureShell` connects when needed and again after a loss; `execute` runs a short command to its end, `open_program`
starts a long one whose output is read as it comes. Host keys are checked against the given known-hosts file.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import paramiko

from emulator.model.errors import ClusterUnreachable
from emulator.model.settings import BrokerSettings, Head

CONNECT_TIMEOUT_HOST_S = 10.0
COMMAND_TIMEOUT_HOST_S = 30.0
KEEPALIVE_HOST_S = 5
SILENT_PEER_HOST_S = 10
"""A head whose machine acknowledges nothing for so long is gone; without a limit the kernel goes on for 45 s."""
ERROR_TEXT_BYTES = 16_384
LONGEST_LINE_BYTES = 4_194_304


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ended."""

    output: str
    error: str
    exit_code: int


class Program:
    """A command that runs; its standard output is read line by line, its standard error kept to the last bytes."""

    def __init__(self, channel: paramiko.Channel, script: str | None) -> None:
        self._channel = channel
        self._error = bytearray()
        self._drain = threading.Thread(target=self._keep_error, name="ssh-stderr", daemon=True)
        self._drain.start()
        if script is not None:
            with contextlib.suppress(OSError):
                channel.sendall(script.encode())
                channel.shutdown_write()

    def lines(self) -> Iterator[str]:
        """Yield lines of standard output, long ones in pieces, until it is closed or the connection is lost."""
        with self._channel.makefile("rb") as stream, contextlib.suppress(OSError):
            while line := stream.readline(LONGEST_LINE_BYTES):
                yield line.decode(errors="replace").rstrip("\n")

    def error_text(self) -> str:
        """Return the last bytes of standard error."""
        return self._error.decode(errors="replace")

    def exit_code(self) -> int:
        """Return the exit code; -1 if the connection was lost before there was one."""
        code = self._channel.recv_exit_status()
        self._drain.join(timeout=1.0)
        return code

    def end_input(self) -> None:
        """Close its standard input, which tells a command that listens there to end."""
        with contextlib.suppress(OSError):
            self._channel.shutdown_write()

    def close(self) -> None:
        """Close the channel; the command may go on without a listener."""
        self._channel.close()

    def _keep_error(self) -> None:
        with contextlib.suppress(OSError):
            while chunk := self._channel.recv_stderr(4096):
                self._error += chunk
                del self._error[:-ERROR_TEXT_BYTES]


class SecureShell:
    """A connection to `head` with the broker's own key; safe to share between threads.

    A command that fails or takes too long loses its own channel only, since others may share the connection.
    """

    def __init__(self, head: Head, settings: BrokerSettings) -> None:
        self._head = head
        self._settings = settings
        self._client: paramiko.SSHClient | None = None
        self._lock = threading.Lock()

    def execute(self, command: str, script: str = "") -> Completed:
        """Run `command` to its end with `script` on its standard input.

        Raises:
            ClusterUnreachable: if the head cannot be reached, or the command does not end in time.
        """
        channel = self._channel(command)
        try:
            channel.settimeout(COMMAND_TIMEOUT_HOST_S)
            channel.sendall(script.encode())
            channel.shutdown_write()
            with channel.makefile("rb") as output, channel.makefile_stderr("rb") as error:
                output_bytes, error_bytes = output.read(), error.read()
            code = channel.recv_exit_status()
        except (OSError, paramiko.SSHException) as problem:
            raise ClusterUnreachable(f"Cluster {self._head.cluster!r} stopped answering ({problem}).") from problem
        finally:
            channel.close()
        if code == -1:
            raise ClusterUnreachable(f"Cluster {self._head.cluster!r} closed the connection during a command.")
        return Completed(output_bytes.decode(errors="replace"), error_bytes.decode(errors="replace"), code)

    def open_program(self, command: str, script: str | None = "") -> Program:
        """Start `command` with `script` on its standard input (left open if None) and return while it runs.

        Raises:
            ClusterUnreachable: if the head cannot be reached.
        """
        return Program(self._channel(command), script)

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    def _channel(self, command: str) -> paramiko.Channel:
        try:
            transport = self._connected().get_transport()
            if transport is None:
                raise paramiko.SSHException("not connected")
            channel = transport.open_session(timeout=CONNECT_TIMEOUT_HOST_S)
            channel.exec_command(command)
        except (OSError, EOFError, paramiko.SSHException) as problem:
            raise ClusterUnreachable(
                f"Cluster {self._head.cluster!r} cannot be reached at {self._head.address} ({problem})."
            ) from problem
        return channel

    def _connected(self) -> paramiko.SSHClient:
        with self._lock:
            transport = self._client.get_transport() if self._client else None
            if self._client is not None and transport is not None and transport.is_active():
                return self._client
            client = paramiko.SSHClient()
            client.load_host_keys(str(self._settings.known_hosts_file))
            client.set_missing_host_key_policy(paramiko.RejectPolicy())
            client.connect(
                self._head.address,
                port=self._head.port,
                username=self._head.user,
                key_filename=str(self._head.key_file or self._settings.key_file),
                timeout=CONNECT_TIMEOUT_HOST_S,
                banner_timeout=CONNECT_TIMEOUT_HOST_S,
                auth_timeout=CONNECT_TIMEOUT_HOST_S,
                allow_agent=False,
                look_for_keys=False,
            )
            connected = client.get_transport()
            if connected is not None:
                connected.set_keepalive(KEEPALIVE_HOST_S)
                if isinstance(connected.sock, socket.socket):
                    connected.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_PEER_HOST_S * 1000)
            self._client = client
            return client
