"""The inventory of hosts, as its user writes it (``hosts.yaml``): how engines are reached, and where each host is."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, ClassVar, Final, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from emulator.model.documents import DocumentModel, Name
from emulator.model.names import named_among

MAX_HOSTS: Final = 64
_SSH: Final = re.compile(
    r"ssh://(?P<user>[A-Za-z_][A-Za-z0-9_.-]{0,31})@(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)"
    r"(?::(?P<port>[0-9]{1,5}))?"
)
_SOCKET: Final = re.compile(r"unix://(?P<path>/[A-Za-z0-9._/+@-]+)")


def _underlay_address(text: str) -> str:
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError as error:
        raise ValueError(f"an IPv4 address such as 192.168.1.10, not {text!r}") from error
    if address.is_loopback or address.is_multicast or address.is_unspecified:
        raise ValueError(f"the address at which other hosts reach it, not {text!r}")
    return str(address)


class Host(DocumentModel):
    """A host: how its engine is reached, and its address among the hosts.

    `engine` is ``unix:///var/run/docker.sock`` for the host at which the command runs, or ``ssh://user@host[:port]``.
    `address` is the one of the network under the testbed (the underlay) by which hosts reach one another. Of its cores
    and memory the testbed may use `share`. `delay_s` (one way, to the central host) and `rate_mbit` say what its user
    knows of that network: a plan reckons with them, and `up` measures them.
    """

    name: Name
    engine: Annotated[str, Field(max_length=300)]
    address: Annotated[str, AfterValidator(_underlay_address)]
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    delay_s: Annotated[float | None, Field(ge=0, le=1)] = None
    rate_mbit: Annotated[float | None, Field(gt=0)] = None

    @field_validator("engine")
    @classmethod
    def _is_engine(cls, text: str) -> str:
        found = _SSH.fullmatch(text)
        if found is not None and (found["port"] is None or 0 < int(found["port"]) < 65536):
            return text
        if _SOCKET.fullmatch(text) is None:
            raise ValueError(f"an engine is ssh://user@host, ssh://user@host:port or unix:///path, not {text!r}")
        return text

    @property
    def is_local(self) -> bool:
        """Whether the engine is reached by a socket of this file system."""
        return self.engine.startswith("unix:")

    @property
    def socket_path(self) -> str:
        """The socket of a local engine; empty for one that is reached by SSH."""
        found = _SOCKET.fullmatch(self.engine)
        return found["path"] if found else ""

    @property
    def ssh_target(self) -> tuple[str, int | None]:
        """The account and host (``user@host``; empty for a local engine), and the port of its SSH if one is stated."""
        found = _SSH.fullmatch(self.engine)
        if found is None:
            return "", None
        return f"{found['user']}@{found['host']}", int(found["port"]) if found["port"] else None


class HostInventory(DocumentModel):
    """The hosts over which a testbed spreads.

    Router and broker are on the one that manages the Swarm: the first with a local engine, or else the first at all.
    """

    called: ClassVar[str] = "hosts inventory"

    hosts: Annotated[tuple[Host, ...], Field(min_length=1, max_length=MAX_HOSTS)]

    @model_validator(mode="after")
    def _are_different(self) -> Self:
        for key in ("name", "engine", "address"):
            values = [getattr(host, key) for host in self.hosts]
            for index, value in enumerate(values):
                if value in values[:index]:
                    raise ValueError(f"hosts.{index}.{key}: two hosts have the {key} {value!r} (state each host once)")
        return self

    @property
    def names(self) -> list[str]:
        """The names of the hosts, in the inventory's order."""
        return [host.name for host in self.hosts]

    def host(self, name: str) -> Host:
        """Return the host called `name`.

        Raises:
            UnknownName: if there is none.
        """
        return self.hosts[self.names.index(named_among("host", name, self.names))]
