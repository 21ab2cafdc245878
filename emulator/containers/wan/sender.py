"""A program inside a cluster that sends steady background traffic to other clusters. Standard library only.

Its one argument is a JSON document ``{"address", "streams": [{"peer", "frames_per_s", "payload_bytes", "to_router"},
...]}``, with rates in host seconds. It sends until its standard input ends, then prints ``{"due", "sent"}``, both in
frames. Frames are of an IP protocol of their own, so that they are neither a job's nor a stranger's. What arrives is
not read: the socket is only there so that the kernel does not answer it. The router has no such socket, and gets frames
that a kernel does not answer either.

A frame is sent at a random moment of its interval: evenly spaced ones could fall into step with a job's messages.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import select
import socket
import sys
import time
from typing import NamedTuple

PROTOCOL = 253
"""A number of RFC 3692 for experiments."""
UNANSWERED = bytes((253, 0, 0x02, 0xFF))
"""The beginning of frames to the router: ICMP's type 253, for experiments too, code 0 and the checksum of both.

A kernel drops a type of ICMP that it does not know, but answers an unknown protocol.
"""
LATEST_S = 0.2
"""A frame that could not be sent for so long is left out, so that a standstill is not followed by a burst."""


class Stream(NamedTuple):
    """A stream of frames to a peer, which is the router or another cluster."""

    peer: str
    frames_per_s: float
    payload_bytes: int
    to_router: bool = False

    @property
    def latest_s(self) -> float:
        """How late a frame may be sent; within its own interval it makes no burst."""
        return max(LATEST_S, 1.0 / self.frames_per_s)

    @property
    def payload(self) -> bytes:
        """What follows the IP header of its frames."""
        return UNANSWERED.ljust(self.payload_bytes, b"\0") if self.to_router else bytes(self.payload_bytes)

    def overdue(self, due_s: float, ended_s: float) -> int:
        """Return how many frames were not sent in time by the end, if the next one was due at `due_s`."""
        return math.ceil(max(0.0, ended_s - self.latest_s - due_s) * self.frames_per_s)


def run(address: str, streams: list[Stream]) -> tuple[int, int]:
    """Send all streams until the standard input ends; return the frames that were due, and those sent."""
    lines = {False: opened(address, PROTOCOL)}
    if any(stream.to_router for stream in streams):
        lines[True] = opened(address, socket.IPPROTO_ICMP)
    payloads = [stream.payload for stream in streams]
    began_s, due, sent, numbers = time.monotonic(), 0, 0, [0] * len(streams)
    waiting = [(began_s + random.random() / stream.frames_per_s, index) for index, stream in enumerate(streams)]
    heapq.heapify(waiting)
    while True:
        pause_s = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([sys.stdin], [], [], pause_s)[0]:
            break
        due_s, index = waiting[0]
        now_s, stream = time.monotonic(), streams[index]
        if now_s < due_s:
            continue
        due += 1
        if now_s - due_s < stream.latest_s:
            try:
                lines[stream.to_router].sendto(payloads[index], (stream.peer, 0))
                sent += 1
            except OSError:
                pass  # The link's queue is full, or the peer's container is gone.
        numbers[index] += 1
        next_s = began_s + (numbers[index] + random.random()) / stream.frames_per_s
        heapq.heapreplace(waiting, (next_s, index))
    ended_s = time.monotonic()
    return due + sum(streams[index].overdue(due_s, ended_s) for due_s, index in waiting), sent


def opened(address: str, protocol: int) -> socket.socket:
    """Open a socket of that IP protocol, from which nothing is read."""
    line = socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    line.bind((address, 0))
    line.setblocking(False)
    return line


def main() -> None:
    """Send what the argument says, and print how much it was."""
    plan = json.loads(sys.argv[1])
    due, sent = run(plan["address"], [Stream(**stream) for stream in plan["streams"]])
    print(json.dumps({"due": due, "sent": sent}))


if __name__ == "__main__":
    main()
