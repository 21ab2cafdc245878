"""Checks of the host keys on the way to a real head, against known-hosts files or a fingerprint.

The rule that a topology states is applied once, when its testbed is brought up. Afterwards the testbed accepts only the
keys that passed then.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

import paramiko

from emulator.model.real_head import SSH_PORT, Fingerprint

ACCEPT_NEW: Final = "accept-new"


class HostKeyRefused(paramiko.SSHException):
    """A host key that the topology's rule refuses."""


class HostKeyRule(paramiko.MissingHostKeyPolicy):
    """The decision on a host key that no known-hosts file holds: by a stated fingerprint, or whether new ones pass."""

    def __init__(self, stated: Fingerprint | None, *, accepts_new: bool) -> None:
        self._stated = stated
        self._accepts_new = accepts_new

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Accept the key, or refuse it with a reason."""
        shown = fingerprint(key)
        if self._stated is None and not self._accepts_new:
            raise HostKeyRefused(f"its host key {shown} is in no known-hosts file")
        if self._stated not in (None, shown):
            raise HostKeyRefused(f"its host key is {shown}, not {self._stated}")


def known_hosts_line(host: str, port: int, key: paramiko.PKey) -> str:
    """Return a host key as a line of a known-hosts file."""
    name = host if port == SSH_PORT else f"[{host}]:{port}"
    return f"{name} {key.get_name()} {key.get_base64()}"


def fingerprint(key: paramiko.PKey) -> str:
    """Return the fingerprint of a public key, as ssh-keygen -l shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
