"""The sockets of this process that other nodes' messages come through, found among its open files.

MPI opens them when two ranks first talk and tells nobody; a rank that waits for another cluster sleeps on them.
"""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

_OPEN_FILES = Path("/proc/self/fd")


def message_sockets() -> list[int]:
    """The numbers of all TCP sockets that are connected to another address than the loopback's.

    What connects to this node's own daemon - Open MPI's - does so over the loopback or without TCP.
    """
    return [number for number in map(int, (path.name for path in _OPEN_FILES.iterdir())) if _leads_elsewhere(number)]


def _leads_elsewhere(number: int) -> bool:
    try:
        with socket.socket(fileno=number) as opened:
            try:
                if opened.type != socket.SOCK_STREAM or opened.family not in (socket.AF_INET, socket.AF_INET6):
                    return False
                return not ipaddress.ip_address(opened.getpeername()[0]).is_loopback
            finally:
                # It is MPI's, not ours to close.
                opened.detach()
    except OSError:
        # Not a socket, closed since, or not connected.
        return False
