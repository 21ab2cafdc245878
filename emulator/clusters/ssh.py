"""Lasting SSH connections to a cluster's head, shared by all who have something to run there.

A server lets a connection have ten sessions, unless it is configured otherwise, so there are as many connections as the
running commands need. `SecureShell` connects when needed and again after a loss, through the head's jump hosts;
`execute` runs a short command to its end, `open_program` starts a long one whose output is read as it comes. Host keys,
also those of jump hosts, are checked against the given known-hosts file.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import paramiko

from emulator.clusters.agent import agent_key
from emulator.clusters.hops import CONNECT_TIMEOUT_HOST_S, Connection, Keys, Login
from emulator.clusters.protocol import CONNECTION_LOST
from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import Hop
from emulator.model.settings import BrokerSettings, Head

COMMAND_TIMEOUT_HOST_S = 30.0
"""Host seconds in which a command must end, whatever it writes meanwhile."""
LARGEST_ANSWER_BYTES = 16 * 1024**2
"""Bytes that a command may write to each of its streams: those of a list of hundreds of thousands of allocations."""
KEEPALIVE_HOST_S = 5
SILENT_PEER_HOST_S = 10
"""A head whose machine acknowledges nothing for so long is gone; without a limit the kernel goes on for 45 s."""
ERROR_TEXT_BYTES = 16_384
RECEIVED_AT_ONCE_BYTES = 65_536
LATE = "a command did not end in time"
MOST_CONNECTIONS = 64
"""To one head, for one purpose: those of 640 jobs at once."""
LONGEST_LINE_BYTES = 4_194_304


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ended."""

    output: str
    error: str
    exit_code: int


class Program:
    """A command that runs; its standard output is read line by line, its standard error kept to the last bytes."""

    def __init__(self, channel: paramiko.Channel, script: str | None, *, stays_open: bool = False) -> None:
        self._channel = channel
        self._error = bytearray()
        self._drain = threading.Thread(target=self._keep_error, name="ssh-stderr", daemon=True)
        self._drain.start()
        if script is not None:
            with contextlib.suppress(OSError):
                channel.sendall(script.encode())
                if not stays_open:
                    channel.shutdown_write()

    def lines(self, silent_host_s: float | None = None) -> Iterator[str]:
        """Yield lines of standard output, long ones in pieces, until it is closed or the connection is lost.

        A program that writes nothing for `silent_host_s` is lost, too. By default it may be silent for ever.
        """
        self._channel.settimeout(silent_host_s)
        with self._channel.makefile("rb") as stream, contextlib.suppress(OSError):
            while line := stream.readline(LONGEST_LINE_BYTES):
                yield line.decode(errors="replace").rstrip("\n")

    def error_text(self) -> str:
        """Return the last bytes of standard error."""
        return self._error.decode(errors="replace")

    def exit_code(self) -> int:
        """Return the exit code; `CONNECTION_LOST` if there is none."""
        code = self._channel.recv_exit_status()
        self._drain.join(timeout=1.0)
        return code

    def send(self, text: str) -> None:
        """Write `text` to its standard input; do nothing if the connection is lost."""
        with contextlib.suppress(OSError):
            self._channel.sendall(text.encode())

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
    """Connections to `head` with the key for it, else the broker's own; safe to share between threads.

    A command that fails or takes too long loses its own channel only, since others may share the connection.
    """

    def __init__(self, head: Head, settings: BrokerSettings) -> None:
        self._head = head
        self._settings = settings
        self._connections: list[Connection] = []
        self._lock = threading.Lock()

    def execute(self, command: str, script: str = "") -> Completed:
        """Run `command` to its end with `script` on its standard input.

        Raises:
            ClusterUnreachable: if the head cannot be reached, or the command writes too much or does not end in time.
        """
        deadline_host_s = time.monotonic() + COMMAND_TIMEOUT_HOST_S
        channel = self._channel(command)
        try:
            channel.settimeout(COMMAND_TIMEOUT_HOST_S)
            channel.sendall(script.encode())
            channel.shutdown_write()
            output_bytes = _read_to_end(channel, channel.recv, deadline_host_s)
            error_bytes = _read_to_end(channel, channel.recv_stderr, deadline_host_s)
            code = _exit_code(channel, deadline_host_s)
        except (OSError, paramiko.SSHException) as problem:
            raise ClusterUnreachable(f"Cluster {self._head.cluster!r} stopped answering ({problem}).") from problem
        finally:
            channel.close()
        if code == CONNECTION_LOST:
            raise ClusterUnreachable(f"Cluster {self._head.cluster!r} closed the connection during a command.")
        return Completed(output_bytes.decode(errors="replace"), error_bytes.decode(errors="replace"), code)

    def open_program(self, command: str, script: str | None = "", *, stays_open: bool = False) -> Program:
        """Start `command` with `script` on its standard input (left open if None) and return while it runs.

        If it `stays_open`, the standard input does not end with the script.

        Raises:
            ClusterUnreachable: if the head cannot be reached.
        """
        return Program(self._channel(command), script, stays_open=stays_open)

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            while self._connections:
                self._connections.pop().close()

    def _channel(self, command: str) -> paramiko.Channel:
        try:
            channel = self._session()
            _request(channel, command)
        except (OSError, EOFError, paramiko.SSHException) as problem:
            raise ClusterUnreachable(
                f"Cluster {self._head.cluster!r} cannot be reached at {self._head.address} ({problem})."
            ) from problem
        return channel

    def _session(self) -> paramiko.Channel:
        """Return a new session of the first connection that has room for one, which may be a new one."""
        for number in range(MOST_CONNECTIONS):
            transport, is_new = self._connected(number)
            try:
                return transport.open_session(timeout=CONNECT_TIMEOUT_HOST_S)
            except paramiko.ChannelException:
                # The head lets this connection have no more sessions. One that has none is refused for another reason.
                if is_new:
                    raise
        raise paramiko.SSHException(f"{MOST_CONNECTIONS} connections have no room for another command")

    def _connected(self, number: int) -> tuple[paramiko.Transport, bool]:
        """Return the transport of the connection with that number, from 0, and whether it was connected now."""
        with self._lock:
            while number >= len(self._connections):
                self._connections.append(Connection())
            connection = self._connections[number]
            is_new = not connection.is_active()
            if is_new:
                connection.close()
                self._connect(connection)
            return connection.transports()[-1], is_new

    def _connect(self, connection: Connection) -> None:
        head = self._head
        last = Login(head.address, head.port, head.user)
        try:
            for hop in head.jumps:
                self._log_in(connection, Login(hop.host, hop.port, hop.user), _key_of(hop, self._settings))
            self._log_in(connection, last, _key_of(head, self._settings))
        except BaseException:
            connection.close()
            raise
        for transport in connection.transports():
            transport.set_keepalive(KEEPALIVE_HOST_S)
            if isinstance(transport.sock, socket.socket):
                transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_PEER_HOST_S * 1000)

    def _log_in(self, connection: Connection, login: Login, key: paramiko.PKey) -> None:
        client = paramiko.SSHClient()
        client.load_host_keys(str(self._settings.known_hosts_file))
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        connection.log_in(login, client, Keys(login.user, [key]))


def _request(channel: paramiko.Channel, command: str) -> None:
    """Ask for `command`; close the channel if the head does not answer in time, for which Paramiko waits without limit.

    Raises:
        OSError, EOFError, paramiko.SSHException: if the head refuses, is lost or does not answer.
    """
    unanswered = threading.Timer(COMMAND_TIMEOUT_HOST_S, _give_up, (channel,))
    unanswered.daemon = True
    unanswered.start()
    try:
        channel.exec_command(command)
    finally:
        unanswered.cancel()


def _give_up(channel: paramiko.Channel) -> None:
    """Close a channel, whose connection may be lost."""
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
        channel.close()


def _key_of(hop: Hop | Head, settings: BrokerSettings) -> paramiko.PKey:
    """Return the key for a login: the agent's, or that of a file.

    Raises:
        paramiko.SSHException: if no such key is there.
    """
    if hop.agent_key is not None:
        return agent_key(hop.agent_key)
    file = hop.key_file or settings.key_file
    try:
        key: paramiko.PKey = paramiko.PKey.from_path(file)
    except (TypeError, ValueError, paramiko.pkey.UnknownKeyType) as error:
        raise paramiko.SSHException(f"{file} is no private key without a passphrase") from error
    return key


def _read_to_end(channel: paramiko.Channel, receive: Callable[[int], bytes], deadline_host_s: float) -> bytes:
    """Read a stream of `channel` to its end.

    Raises:
        OSError: if it does not end in time, or is too long.
    """
    read = bytearray()
    while True:
        channel.settimeout(_left_host_s(deadline_host_s))
        try:
            chunk = receive(RECEIVED_AT_ONCE_BYTES)
        except TimeoutError as error:
            raise TimeoutError(LATE) from error
        if not chunk:
            return bytes(read)
        read += chunk
        if len(read) > LARGEST_ANSWER_BYTES:
            raise OSError(f"a command wrote more than {LARGEST_ANSWER_BYTES / 1024**2:g} MiB")


def _exit_code(channel: paramiko.Channel, deadline_host_s: float) -> int:
    """Return the exit code of a command that may have closed its streams before its end."""
    if not channel.status_event.wait(_left_host_s(deadline_host_s)):
        raise TimeoutError(LATE)
    return channel.recv_exit_status()


def _left_host_s(deadline_host_s: float) -> float:
    left_host_s = deadline_host_s - time.monotonic()
    if left_host_s <= 0:
        raise TimeoutError(LATE)
    return left_host_s
