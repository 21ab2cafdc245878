"""The SSH keys of a testbed, made here (the host needs no ssh-keygen) and kept in its state.

keys/broker             the broker's private key
keys/grid               the private key that containers use to reach each other
keys/hosts/CLUSTER      a head's private host key
keys/authorized_keys    the two public keys that every head accepts, each only from where its owner is
keys/known_hosts        every head's public key, by its address and names; those of a real head and of the jump
                        hosts before it as they were checked

Every job can read the grid's key. So it opens commands at the heads of containers and nothing else: no terminal, no
forwarding of connections, no login from outside of the testbed's networks, and no real head. Those get a key for each
job or transfer (`emulator.clusters.passes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emulator.containers.state import TestbedState, write_secret
from emulator.model.ssh_keys import key_pair

USERS = ("broker", "grid")
COMMANDS_ONLY = "restrict"
"""The option of OpenSSH for a key that runs commands: without a terminal, forwarding or the user's start-up file."""


def make_keys(state: TestbedState, known_heads: Sequence[str]) -> None:
    """Make every key of a testbed and write it into its state.

    `known_heads` are the known-hosts lines of real heads.
    """
    folder = state.folder / "keys"
    public = {}
    for user in USERS:
        private, public[user] = key_pair()
        write_secret(folder / user, private)
    origins = {
        "broker": state.addresses.broker,
        "grid": f"{state.addresses.control_network},{state.addresses.all_sites}",
    }
    accepted = [f'{COMMANDS_ONLY},from="{origins[user]}" {public[user]} {user}\n' for user in USERS]
    _write_public(folder / "authorized_keys", "".join(accepted))
    lines = [f"{line}\n" for line in known_heads]
    for cluster in state.record.clusters:
        private, key = key_pair()
        write_secret(folder / "hosts" / cluster.name, private)
        lines.append(f"{cluster.head},{cluster.site},{cluster.name},{cluster.container} {key}\n")
    _write_public(folder / "known_hosts", "".join(lines))


def add_known_heads(state: TestbedState, known_heads: Sequence[str]) -> None:
    """Add the known-hosts lines that are new; a host that is known keeps the key that it had."""
    file = state.folder / "keys" / "known_hosts"
    text = file.read_text()
    known = {tuple(line.split()[:2]) for line in text.splitlines()}
    added = "".join(f"{line}\n" for line in known_heads if tuple(line.split()[:2]) not in known)
    # In its place: containers mount the file itself.
    with file.open("a") as lines:
        lines.write(added)


def _write_public(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o644)
