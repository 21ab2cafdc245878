"""The head of a real cluster, as a topology states it: how SSH reaches it, and options for its Slurm.

All texts end up in command lines, so each may contain only the few characters that it needs. Only `setup` is a shell
command.
"""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from emulator.model.documents import DocumentModel

SSH_PORT: Final = 22
_ADDRESS: Final = re.compile(r"(?P<user>[A-Za-z_][A-Za-z0-9_.-]{0,31})@(?P<host>[^@:\s]+)(?::(?P<port>[0-9]{1,5}))?")
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*")
_ALIAS: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
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
PublicKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]+={0,2}$")]
"""A public key without its type, as it stands in a `.pub` file."""


def _host(text: str) -> str:
    if _HOST.fullmatch(text) is None:
        raise ValueError(f"a host name or an IPv4 address, not {text!r}")
    return text


def _mountable(path: Path) -> Path:
    if not path.is_absolute() or not str(path).isprintable() or any(letter in str(path) for letter in ":$"):
        raise ValueError(f"an absolute path without ':' and '$', which no container could mount, not {str(path)!r}")
    return path


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


HostName = Annotated[str, Field(max_length=253), AfterValidator(_host)]
Port = Annotated[int, Field(gt=0, lt=65536)]
MountableFile = Annotated[Path, AfterValidator(_mountable)]
ShellLine = Annotated[str, Field(max_length=2000), AfterValidator(_one_line)]
SbatchOption = Annotated[str, Field(max_length=256), AfterValidator(_sbatch_option)]
NetworkRange = Annotated[str, AfterValidator(_network)]


class Hop(DocumentModel):
    """One login on the way to a head, and the key for it: a private key's file, or one that an ssh-agent holds."""

    host: HostName
    port: Port = SSH_PORT
    user: UserName
    key_file: MountableFile | None = None
    agent_key: PublicKey | None = None

    @property
    def shown(self) -> str:
        """The login as people write it."""
        return shown_login(self.user, self.host, self.port)


class AgentSocket(DocumentModel):
    """The socket of a user's ssh-agent; `inode` differs for another agent at the same path."""

    path: MountableFile
    inode: int


def shown_login(user: str, host: str, port: int) -> str:
    """Return a login as people write it."""
    return f"{user}@{host}" if port == SSH_PORT else f"{user}@{host}:{port}"


class RealHead(DocumentModel):
    """The head of a real cluster: `address` is ``user@host[:port]``, or a Host of the user's ``~/.ssh/config``.

    `key` is the private key that it accepts; with a Host it may be left out, and is then found as `ssh` finds it. The
    host keys of the head and of jump hosts must be those in `known_hosts`; the head's may have the fingerprint
    `host_key` instead. Other hosts are rejected, unless `unknown_host_key` is ``accept-new``, which accepts the first
    key that a host shows. If `partition` is empty, the default partition is used. `setup` runs before the search for
    Open MPI and the applications. `network` is the range of node addresses for MPI's messages; if empty, MPI chooses.
    """

    address: Annotated[str, Field(max_length=300)]
    key: HostFile | None = None
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
        if _ALIAS.fullmatch(text) is not None:
            return text
        found = _ADDRESS.fullmatch(text)
        if found is None or _HOST.fullmatch(found["host"]) is None or not 0 < int(found["port"] or SSH_PORT) < 65536:
            raise ValueError(f"an address is user@host, user@host:port or a Host of ~/.ssh/config, not {text!r}")
        return text

    @model_validator(mode="after")
    def _has_one_rule_for_its_host_key(self) -> Self:
        if self.host_key is not None and self.unknown_host_key != "reject":
            raise ValueError("host_key: one that is stated leaves nothing unknown (leave out unknown_host_key)")
        return self

    @model_validator(mode="after")
    def _has_a_key_unless_it_is_an_alias(self) -> Self:
        if self.key is None and "@" in self.address:
            raise ValueError(f"key: {self.address} needs one (or state a Host of ~/.ssh/config as address)")
        return self

    @property
    def hop(self) -> Hop | None:
        """The login that the address itself states; None if it is a Host of ``~/.ssh/config``."""
        found = _ADDRESS.fullmatch(self.address)
        if found is None or self.key is None:
            return None
        port = int(found["port"] or SSH_PORT)
        return Hop(host=found["host"], port=port, user=found["user"], key_file=Path(self.key).expanduser())

    @property
    def ssh_command(self) -> str:
        """The command by which a person logs in there."""
        hop = self.hop
        return f"ssh -p {hop.port} {hop.user}@{hop.host}" if hop else f"ssh {self.address}"
