"""Print every burst of a cluster's local users: `python3 -m apps.local_bursts`. It ends when its input ends.

A line has the wall clock's moment of the burst's end, the node, the parallel tasks beside it, its processor time, and
its delay; the last two in emulated seconds.
"""

from __future__ import annotations

import json
import select
import socket
import sys

from apps.shared_pacing import MOST_BYTES, PLACE, WATCHES


def main(place: str = PLACE) -> None:
    """Print what the arbiter tells."""
    arbiter = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    arbiter.connect(place)
    arbiter.send(json.dumps(WATCHES).encode())
    while True:
        ready, _, _ = select.select([arbiter, sys.stdin], [], [])
        if sys.stdin in ready and not sys.stdin.readline():
            return
        if arbiter in ready:
            told = arbiter.recv(MOST_BYTES)
            if not told:
                sys.exit("the arbiter has ended, or this program reads too slowly")
            print(told.decode(), flush=True)


if __name__ == "__main__":
    main()
