"""The user's ssh-agent: its keys, and a connection to it that the broker inherits.

An agent talks to its own user and to root only, and the broker is neither. So the broker's container connects to the
agent as root, and starts the broker with that connection (`images/broker/with_agent.py`).
"""

from __future__ import annotations

import base64
import os
import socket
import threading
from functools import cache
from pathlib import Path
from typing import Final

import paramiko
from paramiko.agent import AgentSSH, get_agent_connection
from pydantic import ValidationError

from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import AgentSocket, PublicKey

INHERITED: Final = "TESTBED_AGENT_DESCRIPTOR"
"""The environment variable with the number of the inherited connection."""

GONE: Final = "the ssh-agent that holds its key is gone: `ssh-add` the key again, then `testbed up`"


class InheritedAgent(AgentSSH):
    """An agent at the other end of an open connection, which threads may share."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._conn = connection
        self._lock = threading.Lock()

    def _send_message(self, msg: paramiko.Message) -> tuple[int, paramiko.Message]:
        """Ask the agent; paramiko's keys call this.

        Raises:
            paramiko.SSHException: if it does not answer any more.
        """
        try:
            with self._lock:
                answer: tuple[int, paramiko.Message] = super()._send_message(msg)  # type: ignore[misc]
        except (OSError, paramiko.SSHException) as error:
            raise paramiko.SSHException(GONE) from error
        return answer


def agent_socket() -> AgentSocket:
    """Return the socket of the running ssh-agent, for the broker's container to mount.

    Raises:
        ClusterUnreachable: if no container can mount it, or it is gone.
    """
    path = Path(os.environ.get("SSH_AUTH_SOCK", ""))
    try:
        return AgentSocket(path=path, inode=path.stat().st_ino)
    except (OSError, ValidationError) as error:
        raise ClusterUnreachable(
            f"The ssh-agent's socket {str(path)!r} cannot be mounted by the broker: start an agent with "
            '`eval "$(ssh-agent)"`, and `ssh-add` the key.'
        ) from error


def agent_key(public: PublicKey) -> paramiko.PKey:
    """Return the private key that the agent holds for a public one.

    Raises:
        paramiko.SSHException: if there is no agent.
    """
    return paramiko.AgentKey(_agent(), base64.b64decode(public))


@cache
def _agent() -> AgentSSH:
    """Return the agent of this process: the inherited connection, or the one that SSH_AUTH_SOCK names."""
    number = os.environ.pop(INHERITED, "")
    if number:
        os.set_inheritable(int(number), False)
    connection = socket.socket(fileno=int(number)) if number else get_agent_connection()
    if connection is None:
        raise paramiko.SSHException(GONE)
    return InheritedAgent(connection)
