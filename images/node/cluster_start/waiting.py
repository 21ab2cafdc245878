"""Wait for what the start of a cluster needs, and see which local ports are listened on."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable

READY_WITHIN_HOST_S = 120.0
LISTENS = "0A"
"""The state of a listening socket in /proc/net/tcp."""


def wait_until(condition: Callable[[], bool], what: str, pause_host_s: float = 0.05) -> None:
    """Wait until a condition holds; end the container if it does not hold in time."""
    deadline = time.monotonic() + READY_WITHIN_HOST_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what} is not ready after {READY_WITHIN_HOST_S:.0f} s")
        time.sleep(pause_host_s)


def answers(port: int) -> bool:
    """Return whether a process listens on a local port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def listening_ports(table: str) -> set[int]:
    """Return the ports of the kernel's table of sockets that are listened on."""
    sockets = (line.split() for line in table.splitlines()[1:])
    return {int(fields[1].rpartition(":")[2], 16) for fields in sockets if fields[3] == LISTENS}
