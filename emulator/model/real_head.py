"""The head of a real cluster, as a topology states it: its SSH address and account, and options for its Slurm.

All texts end up in command lines, so each may contain only the few characters that it needs. Only `setup` is a shell
command.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from emulator.model.documents import DocumentModel

SSH_PORT: Final = 22
_ADDRESS: Final = re.compile(r"(?P<user>[A-Za-z_][A-Za-z0-9_.-]{0,31})@(?P<host>[^@:\s]+)(?::(?P<port>[0-9]{1,5}))?")
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*")
_OPTION: Final = re.compile(r"--[a-z][a-z0-9-]*(?:=[^\x00-\x1f\x7f]*)?")
_OURS: Final = frozenset(
    {"array", "chdir", "cpus-per-task", "dependency", "error", "input", "job-name", "ntasks", "ntasks-per-node"}
    | {"output", "parsable", "partition", "wait", "wrap"}
)
"""Options of sbatch that a claim states itself, or that would turn it into something other than one allocation."""

HostFile = Annotated[str, StringConstraints(pattern=r"^(/|~/)[A-Za-z0-9._/+@-]+$", max_length=512)]
"""A file of the host, absolute or under ``~``, without characters that are special to a shell, Compose or a mount."""

UserName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,31}$")]
PartitionName = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$")]
Fingerprint = Annotated[str, StringConstraints(pattern=r"^SHA256:[A-Za-z0-9+/]{43}$")]


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"a single line without control characters, not {text!r}")
    return text


def _sbatch_option(option: str) -> str:
    if _OPTION.fullmatch(option) is None:
        raise ValueError(f"an option of sbatch is one line such as --account=physics, not {option!r}")
    name = option.removeprefix("--").split("=")[0]
    # Slurm accepts a prefix of an option's name.
    ours = next((reserved for reserved in sorted(_OURS) if reserved.startswith(name)), None)
    if ours is not None:
        raise ValueError(f"the testbed states --{ours} itself (leave {option!r} out)")
    return option


def _network(text: str) -> str:
    if text:
        try:
            ipaddress.IPv4Network(text)
        except ValueError as error:
            raise ValueError(f"a range of addresses such as 10.141.0.0/16, not {text!r}") from error
    return text


ShellLine = Annotated[str, Field(max_length=2000), AfterValidator(_one_line)]
SbatchOption = Annotated[str, Field(max_length=256), AfterValidator(_sbatch_option)]
NetworkRange = Annotated[str, AfterValidator(_network)]


class RealHead(DocumentModel):
    """The head of a real cluster: `address` is ``user@host[:port]``, `key` the private key that it accepts.

    Its host key must be the one in `known_hosts`, or have the fingerprint `host_key`. Other hosts are rejected, unless
    `unknown_host_key` is ``accept-new``, which accepts the first key that the host shows. If `partition` is empty, the
    default partition is used. `setup` runs before the search for Open MPI and the applications. `network` is the range
    of node addresses for MPI's messages; if empty, MPI chooses.
    """

    address: Annotated[str, Field(max_length=300)]
    key: HostFile
    known_hosts: HostFile | None = None
    host_key: Fingerprint | None = None
    unknown_host_key: Literal["reject", "accept-new"] = "reject"
    partition: PartitionName = ""
    sbatch: tuple[SbatchOption, ...] = ()
    setup: ShellLine = ""
    network: NetworkRange = ""

    @field_validator("address")
    @classmethod
    def _is_address(cls, text: str) -> str:
        found = _ADDRESS.fullmatch(text)
        if found is None or _HOST.fullmatch(found["host"]) is None or not 0 < int(found["port"] or SSH_PORT) < 65536:
            raise ValueError(f"an address is user@host or user@host:port, not {text!r}")
        return text

    @model_validator(mode="after")
    def _has_one_rule_for_its_host_key(self) -> Self:
        if self.host_key is not None and self.unknown_host_key != "reject":
            raise ValueError("host_key: one that is stated leaves nothing unknown (leave out unknown_host_key)")
        return self

    @property
    def user(self) -> str:
        """The account."""
        return self.address.split("@")[0]

    @property
    def host(self) -> str:
        """The head's host name or address."""
        return self.address.split("@")[1].split(":")[0]

    @property
    def port(self) -> int:
        """The port of its SSH."""
        _, colon, port = self.address.partition(":")
        return int(port) if colon else SSH_PORT
