"""Checks of a real head's host key against a known-hosts file or a fingerprint.

The rule that a topology states is applied once, when its testbed is brought up. Afterwards the testbed accepts only the
key that passed then.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Final

import paramiko

from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import SSH_PORT, RealHead

USUAL_KNOWN_HOSTS: Final = "~/.ssh/known_hosts"
CONNECT_TIMEOUT_HOST_S: Final = 10.0


class HostKeyRefused(paramiko.SSHException):
    """A host key that the topology's rule refuses."""


class _Rule(paramiko.MissingHostKeyPolicy):
    """The decision on a host key that no known-hosts file holds."""

    def __init__(self, ssh: RealHead) -> None:
        self._ssh = ssh

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Accept the key, or refuse it with a reason."""
        shown = fingerprint(key)
        if self._ssh.host_key is None and self._ssh.unknown_host_key == "reject":
            raise HostKeyRefused(f"its host key {shown} is in no known-hosts file")
        if self._ssh.host_key not in (None, shown):
            raise HostKeyRefused(f"its host key is {shown}, not {self._ssh.host_key}")


def connected(cluster: str, ssh: RealHead) -> paramiko.SSHClient:
    """Connect to a head whose host key the topology's rule accepts.

    Raises:
        ClusterUnreachable: if there is no such head, its host key is refused, or it refuses the user's key.
    """
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(_Rule(ssh))
    key = _private_key(cluster, ssh)
    try:
        _load_known_hosts(client, ssh)
        client.connect(
            ssh.host,
            port=ssh.port,
            username=ssh.user,
            pkey=key,
            timeout=CONNECT_TIMEOUT_HOST_S,
            banner_timeout=CONNECT_TIMEOUT_HOST_S,
            auth_timeout=CONNECT_TIMEOUT_HOST_S,
            allow_agent=False,
            look_for_keys=False,
        )
    except (OSError, EOFError, paramiko.SSHException) as problem:
        client.close()
        raise ClusterUnreachable(f"Cluster {cluster!r}: {_sentence(ssh, problem)}") from problem
    return client


def known_hosts_line(ssh: RealHead, client: paramiko.SSHClient) -> str:
    """Return the head's key as a line of a known-hosts file.

    Raises:
        ClusterUnreachable: if the connection was lost meanwhile.
    """
    transport = client.get_transport()
    if transport is None:
        raise ClusterUnreachable(f"{ssh.address} closed the connection.")
    key = transport.get_remote_server_key()
    name = ssh.host if ssh.port == SSH_PORT else f"[{ssh.host}]:{ssh.port}"
    return f"{name} {key.get_name()} {key.get_base64()}"


def fingerprint(key: paramiko.PKey) -> str:
    """Return the fingerprint of a host key, as ssh-keygen -l shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")


def _private_key(cluster: str, ssh: RealHead) -> paramiko.PKey:
    file = Path(ssh.key).expanduser()
    if not file.is_file():
        raise ClusterUnreachable(f"Cluster {cluster!r}: there is no key {ssh.key} (make one with ssh-keygen).")
    try:
        key: paramiko.PKey = paramiko.PKey.from_path(file)
    except (OSError, TypeError, ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType) as problem:
        raise ClusterUnreachable(
            f"Cluster {cluster!r}: {ssh.key} is no private key that can be read without a passphrase (name another)."
        ) from problem
    return key


def _load_known_hosts(client: paramiko.SSHClient, ssh: RealHead) -> None:
    """Load the known hosts, unless a fingerprint is stated, which then decides alone; the usual file may be missing."""
    if ssh.host_key is not None:
        return
    file = Path(ssh.known_hosts or USUAL_KNOWN_HOSTS).expanduser()
    if ssh.known_hosts is not None or file.is_file():
        client.load_host_keys(str(file))


def _sentence(ssh: RealHead, problem: Exception) -> str:
    """Return what went wrong, and what to do about it."""
    if isinstance(problem, paramiko.BadHostKeyException):
        shown, known = fingerprint(problem.key), fingerprint(problem.expected_key)
        return f"{ssh.host} shows the host key {shown}, not the known {known} (ask its administrators which is right)."
    if isinstance(problem, HostKeyRefused):
        return f"{ssh.address}: {problem} (ask its administrators for it, and state it as ssh.host_key)."
    if isinstance(problem, FileNotFoundError):
        return f"{problem.filename} cannot be read (correct the path)."
    if isinstance(problem, paramiko.AuthenticationException):
        return f"{ssh.address} does not let {ssh.key} in (append {ssh.key}.pub to its ~/.ssh/authorized_keys)."
    said = str(problem).rstrip(".") or type(problem).__name__
    return f"{ssh.address} cannot be reached ({said}): try `ssh -p {ssh.port} {ssh.user}@{ssh.host}`."
