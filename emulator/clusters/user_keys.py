"""The user's private keys for one login: files that can be read as they are, and keys that an ssh-agent holds.

A file goes before the agent's copy of the same key, because it outlives the agent. A key with a passphrase is used
through the agent only: nothing here asks for a passphrase or writes a key without one.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import paramiko

from emulator.clusters.host_keys import fingerprint
from emulator.clusters.ssh_config import StatedHop
from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import PublicKey


@dataclass(frozen=True, slots=True)
class UserKey:
    """A key that can be tried: what a message calls it, and where the broker finds it again."""

    key: paramiko.PKey
    shown: str
    file: Path | None = None
    agent_key: PublicKey | None = None


@dataclass(frozen=True, slots=True)
class UserKeys:
    """The keys for one login, in the order in which they are tried, and files that only a passphrase opens."""

    keys: tuple[UserKey, ...]
    locked: tuple[Path, ...]


def agent_keys() -> dict[str, paramiko.AgentKey]:
    """Return the keys of the running ssh-agent by their fingerprints; none if there is no agent."""
    try:
        return {fingerprint(key): key for key in paramiko.Agent().get_keys()}
    except (OSError, EOFError, paramiko.SSHException) as error:
        socket = os.environ.get("SSH_AUTH_SOCK", "")
        raise ClusterUnreachable(
            f"The ssh-agent at {socket} does not answer ({error}): start one anew, or unset SSH_AUTH_SOCK."
        ) from error


def keys_for(cluster: str, hop: StatedHop) -> UserKeys:
    """Return the user's keys for a login.

    Raises:
        ClusterUnreachable: if the only file that is stated does not exist, or is no key.
    """
    held = agent_keys()
    keys: list[UserKey] = []
    locked: list[Path] = []
    for file in hop.key_files:
        try:
            keys.append(UserKey(_read(file), _short(file), file=file))
        except TypeError:  # it has a passphrase
            shown = _fingerprint_of(file)
            if shown in held:
                keys.append(_of_agent(held.pop(shown)))
            else:
                locked.append(file)
        except (OSError, ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType) as problem:
            shown = _fingerprint_of(file)
            if shown in held:  # the file is a public key, or has one beside it
                keys.append(_of_agent(held.pop(shown)))
            elif len(hop.key_files) == 1:
                raise ClusterUnreachable(f"Cluster {cluster!r}: {_unusable(file)}.") from problem
    if not hop.only_these:
        known = {fingerprint(key.key) for key in keys}
        keys += [_of_agent(key) for shown, key in held.items() if shown not in known]
    return UserKeys(tuple(keys), tuple(locked))


def _of_agent(key: paramiko.AgentKey) -> UserKey:
    public = base64.b64encode(key.blob).decode()
    return UserKey(key, f"the ssh-agent's key {key.comment or fingerprint(key)}", agent_key=public)


def _read(file: Path) -> paramiko.PKey:
    """Return the private key of a file, without a certificate that lies beside it: the broker would not have that."""
    key: paramiko.PKey = paramiko.PKey.from_path(file)
    key.public_blob = None
    return key


def _fingerprint_of(file: Path) -> str | None:
    """Return the fingerprint of a key whose private part cannot be read, or of the public key beside it."""
    for each in (file, file.with_name(f"{file.name}.pub")):
        try:
            ended = subprocess.run(
                ["ssh-keygen", "-l", "-E", "sha256", "-f", str(each)], stdin=subprocess.DEVNULL, capture_output=True,
                text=True, check=False,
            )  # fmt: skip
        except FileNotFoundError:  # without OpenSSH there is no agent either
            return None
        if found := re.search(r"SHA256:\S+", ended.stdout):
            return found[0]
    return None


def _unusable(file: Path) -> str:
    if not file.is_file():
        return f"there is no key {_short(file)} (make one with ssh-keygen)"
    return f"{_short(file)} is no private key (name another)"


def _short(file: Path) -> str:
    home = Path.home()
    return f"~/{file.relative_to(home)}" if file.is_relative_to(home) else str(file)
