"""An SSH connection to a head, through none, one or several jump hosts, and the keys that it is opened with.

Each login goes through a channel of the one before (`direct-tcpip`, as OpenSSH's ProxyJump does it). So a jump host
only carries bytes: the head's host key and the user's key are checked from end to end.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import paramiko
from paramiko.auth_strategy import AuthStrategy, InMemoryPrivateKey, SourceResult

from emulator.model.real_head import SSH_PORT

CONNECT_TIMEOUT_HOST_S: Final = 10.0
BANNER_TIMEOUT_HOST_S: Final = 8.0
"""Less than the time for all of it, so that paramiko names the silence of something that is no SSH server."""


@dataclass(frozen=True, slots=True)
class Login:
    """The login at one hop; its host key is looked up under `known_as` if that is stated, as HostKeyAlias does."""

    host: str
    port: int
    user: str
    known_as: str = ""


class MoreThanAKey(paramiko.SSHException):
    """A host that took the key, and asks for something else too."""


class Keys(AuthStrategy):
    """Private keys that are tried one after the other; `accepted` is the index of the one that opened the login."""

    def __init__(self, user: str, keys: Sequence[paramiko.PKey]) -> None:
        super().__init__(paramiko.SSHConfig())
        self._user = user
        self._keys = keys
        self.tried = 0
        self.hung_up = False
        self.accepted: int | None = None

    def get_sources(self) -> Iterator[InMemoryPrivateKey]:
        """Yield the keys in order."""
        for key in self._keys:
            yield InMemoryPrivateKey(self._user, key)

    def authenticate(self, transport: paramiko.Transport) -> list[SourceResult]:
        """Try the keys.

        Raises:
            MoreThanAKey: if one is accepted and does not suffice.
            paramiko.AuthenticationException: if none is accepted.
        """
        for index, source in enumerate(self.get_sources()):
            self.tried += 1
            try:
                further = source.authenticate(transport)
            except paramiko.BadAuthenticationType:
                raise
            except paramiko.AuthenticationException:
                self.hung_up = not transport.is_active()
                if self.hung_up:
                    break
                continue
            if further:
                raise MoreThanAKey(", ".join(further))
            self.accepted = index
            return [SourceResult(source, further)]
        raise paramiko.AuthenticationException("no key is accepted")


class Connection:
    """The clients of a route, from the first jump host to the head; the head's depends on all before it."""

    def __init__(self) -> None:
        self._clients: list[paramiko.SSHClient] = []

    def __enter__(self) -> Connection:
        """Leave it open until the block ends."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self.close()

    @property
    def head(self) -> paramiko.SSHClient:
        """The client of the last login."""
        return self._clients[-1]

    def log_in(self, login: Login, client: paramiko.SSHClient, keys: Keys) -> None:
        """Log in at the next hop with `client`, which knows the host keys.

        Raises:
            OSError, EOFError, paramiko.SSHException: if that is not possible.
        """
        line = self._line_to(login.host, login.port)
        try:
            # Host and port only name the host key here, since there is a line already.
            client.connect(
                login.known_as or login.host,
                port=SSH_PORT if login.known_as else login.port,
                username=login.user,
                sock=line,
                timeout=CONNECT_TIMEOUT_HOST_S,
                banner_timeout=BANNER_TIMEOUT_HOST_S,
                auth_timeout=CONNECT_TIMEOUT_HOST_S,
                auth_strategy=keys,
            )
        except BaseException:
            client.close()
            line.close()
            raise
        self._clients.append(client)

    def transports(self) -> list[paramiko.Transport]:
        """Return the transports, from the first jump host's to the head's; a client that is closed has none."""
        return [transport for client in self._clients if (transport := client.get_transport()) is not None]

    def is_active(self) -> bool:
        """Return whether the head's transport still works."""
        transport = self.head.get_transport() if self._clients else None
        return transport is not None and transport.is_active()

    def close(self) -> None:
        """Hang up, at the head first."""
        while self._clients:
            self._clients.pop().close()

    def _line_to(self, host: str, port: int) -> socket.socket | paramiko.Channel:
        if not self._clients:
            return socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_HOST_S)
        transport = self.head.get_transport()
        if transport is None:
            raise paramiko.SSHException("the jump host hung up")
        return transport.open_channel("direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=CONNECT_TIMEOUT_HOST_S)
