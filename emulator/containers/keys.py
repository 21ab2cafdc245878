"""The SSH keys of a testbed, made here (the host needs no ssh-keygen) and kept in its state.

keys/broker             the broker's private key
keys/grid               the private key that clusters use to reach each other
keys/hosts/CLUSTER      a head's private host key
keys/authorized_keys    the two public keys that every head accepts, each only from where its owner is
keys/known_hosts        every head's public key, by its address and names; a real head's as it was checked
keys/grid.pub           the line by which a real head accepts the grid's key, for jobs that span it and containers

Every job can read the grid's key. So it opens commands at heads and nothing else: no terminal, no forwarding of
connections, and in containers no login from outside of the testbed's networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from emulator.containers.state import TestbedState, write_secret

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
        private, public[user] = _pair()
        write_secret(folder / user, private)
    origins = {
        "broker": state.addresses.broker,
        "grid": f"{state.addresses.control_network},{state.addresses.all_sites}",
    }
    accepted = [f'{COMMANDS_ONLY},from="{origins[user]}" {public[user]} {user}\n' for user in USERS]
    _write_public(folder / "authorized_keys", "".join(accepted))
    _write_public(folder / "grid.pub", f"{COMMANDS_ONLY} {public['grid']} grid\n")
    lines = [f"{line}\n" for line in known_heads]
    for cluster in state.record.clusters:
        private, key = _pair()
        write_secret(folder / "hosts" / cluster.name, private)
        lines.append(f"{cluster.head},{cluster.site},{cluster.name},{cluster.container} {key}\n")
    _write_public(folder / "known_hosts", "".join(lines))


def _pair() -> tuple[bytes, str]:
    """Return a new private key as OpenSSH keeps it in a file, and its public key."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()), public.decode()


def _write_public(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o644)
