"""The first connection to a real head, as the user would make it, and what the testbed needs to make it again."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

import paramiko
from pydantic import ValidationError

from emulator.clusters.hops import Connection, Keys, MoreThanAKey
from emulator.clusters.host_keys import ACCEPT_NEW, HostKeyRefused, HostKeyRule, fingerprint, known_hosts_line
from emulator.clusters.ssh_config import StatedHop, stated_hops
from emulator.clusters.user_keys import UserKey, UserKeys, keys_for
from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import Hop, RealHead


@dataclass(frozen=True, slots=True)
class Reached:
    """A connection to a head, its route with the keys that were accepted, and the host keys that were shown."""

    connection: Connection
    route: tuple[Hop, ...]
    known_hosts_lines: tuple[str, ...]


def reach(cluster: str, ssh: RealHead) -> Reached:
    """Connect to a head through its jump hosts, whose host keys the topology's rule accepts, too.

    Raises:
        ClusterUnreachable: if there is no such head, a host key is refused, or no key of the user is accepted.
    """
    connection, route, lines = Connection(), [], []
    try:
        for hop in stated_hops(cluster, ssh):
            user_keys = keys_for(cluster, hop)
            accepted = _logged_in(cluster, ssh, connection, hop, user_keys)
            route.append(_handed_over(cluster, hop, accepted))
            key = connection.transports()[-1].get_remote_server_key()
            lines.append(known_hosts_line(hop.login.host, hop.login.port, key))
    except BaseException:
        connection.close()
        raise
    return Reached(connection, tuple(route), tuple(lines))


def _handed_over(cluster: str, hop: StatedHop, accepted: UserKey) -> Hop:
    """Return a login for the broker, with the key that was accepted."""
    login = hop.login
    try:
        return Hop(
            host=login.host, port=login.port, user=login.user, key_file=accepted.file, agent_key=accepted.agent_key
        )
    except ValidationError as error:
        raise ClusterUnreachable(
            f"Cluster {cluster!r}: the broker's container cannot mount {accepted.shown} (give it a path without ':' "
            "and '$')."
        ) from error


def _logged_in(cluster: str, ssh: RealHead, connection: Connection, hop: StatedHop, user_keys: UserKeys) -> UserKey:
    """Log in at the next hop, and return the key that was accepted."""
    keys = Keys(hop.login.user, [each.key for each in user_keys.keys])
    stated = ssh.host_key if hop.is_head else None
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(HostKeyRule(stated, accepts_new=ssh.unknown_host_key == ACCEPT_NEW))
    try:
        if stated is None:  # else the fingerprint decides alone
            _load_known_hosts(client, ssh, hop)
        connection.log_in(hop.login, client, keys)
    except (OSError, EOFError, paramiko.SSHException) as problem:
        said = _sentence(ssh, hop, user_keys, keys, problem)
        raise ClusterUnreachable(f"Cluster {cluster!r}: {said}.") from problem
    if keys.accepted is None:
        raise ClusterUnreachable(f"Cluster {cluster!r}: {hop.shown} lets everybody in (state another head).")
    return user_keys.keys[keys.accepted]


def _load_known_hosts(client: paramiko.SSHClient, ssh: RealHead, hop: StatedHop) -> None:
    """Load the known hosts; a file that the topology itself states must exist."""
    for file in hop.known_hosts:
        if ssh.known_hosts is not None or file.is_file():
            client.load_host_keys(str(file))


def _sentence(ssh: RealHead, hop: StatedHop, user_keys: UserKeys, keys: Keys, problem: Exception) -> str:
    """Return what went wrong, and what to do about it, without a full stop."""
    place = hop.shown
    if isinstance(problem, paramiko.BadHostKeyException):
        shown, known = fingerprint(problem.key), fingerprint(problem.expected_key)
        return f"{place} shows the host key {shown}, not the known {known} (ask its administrators which is right)"
    if isinstance(problem, HostKeyRefused):
        remedy = "state it as ssh.host_key" if hop.is_head else f"log in once with `ssh {hop.name}`"
        return f"{place}: {problem} (ask its administrators for it, and {remedy})"
    if isinstance(problem, FileNotFoundError) and problem.filename is not None:
        return f"{problem.filename} cannot be read (correct the path)"
    if isinstance(problem, MoreThanAKey):
        return f"{place} asks for more than a key ({problem}), which no broker can answer (ask its administrators)"
    if isinstance(problem, paramiko.AuthenticationException):
        return _refused_keys(place, user_keys, keys, problem)
    if isinstance(problem, socket.gaierror) and ssh.hop is None and hop.is_known_by_its_name_only:
        return f"{hop.name!r} is neither a Host of ~/.ssh/config nor a machine's name (correct it, or add it there)"
    if isinstance(problem, paramiko.ChannelException):
        return (
            f"the jump host before {place} does not connect to it ({problem.text or problem}): try `{ssh.ssh_command}`"
        )
    said = str(problem).rstrip(".") or type(problem).__name__
    return f"{place} cannot be reached ({said}): try `{ssh.ssh_command}`"


def _refused_keys(place: str, user_keys: UserKeys, keys: Keys, problem: paramiko.AuthenticationException) -> str:
    """Return why no key opened a login: locked ones come first, because the user may expect just those to work."""
    if user_keys.locked:
        locked = user_keys.locked[0]
        start = "" if os.environ.get("SSH_AUTH_SOCK") else 'eval "$(ssh-agent)"; '
        return f"{locked} has a passphrase, and no ssh-agent holds it (`{start}ssh-add {locked}`)"
    if isinstance(problem, paramiko.BadAuthenticationType):
        return f"{place} accepts no keys, only {', '.join(problem.allowed_types)} (ask its administrators)"
    if not user_keys.keys:
        return f"there is no key for {place} (name one as IdentityFile, or add one to an ssh-agent with `ssh-add`)"
    if keys.hung_up and keys.tried < len(user_keys.keys):
        return f"{place} hung up after {keys.tried} keys (name the right one as IdentityFile, with IdentitiesOnly yes)"
    if len(user_keys.keys) > 1:
        return f"{place} lets none of {len(user_keys.keys)} keys in (name the right one as IdentityFile)"
    (only,) = user_keys.keys
    public = f"{only.shown}.pub" if only.file else "its public part"
    return f"{place} does not let {only.shown} in (append {public} to its ~/.ssh/authorized_keys)"
