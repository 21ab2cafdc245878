"""A program inside a cluster that sends steady background traffic to other clusters. Standard library only.

Its one argument is a JSON document ``{"address", "streams": [{"peer", "frames_per_s"}, ...], "payload_bytes"}``, with
rates in host seconds. It sends until its standard input ends, then prints ``{"due", "sent"}``, both in frames. Frames
are of an IP protocol of their own, so that they are neither a job's nor a stranger's. What arrives is not read: the
socket is only there so that the kernel does not answer it.

A frame is sent at a random moment of its interval: evenly spaced ones could fall into step with a job's messages.
"""

from __future__ import annotations

import heapq
import json
import random
import select
import socket
import sys
import time

PROTOCOL = 253
"""A number of RFC 3692 for experiments."""
LATEST_S = 0.2
"""A frame that could not be sent for so long is left out, so that a standstill is not followed by a burst."""


def run(address: str, peers: list[str], rates_per_s: list[float], payload_bytes: int) -> tuple[int, int]:
    """Send to all peers until the standard input ends; return the frames that were due, and those sent."""
    line = socket.socket(socket.AF_INET, socket.SOCK_RAW, PROTOCOL)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    line.bind((address, 0))
    line.setblocking(False)
    payload, began_s, sent, numbers = bytes(payload_bytes), time.monotonic(), 0, [0] * len(peers)
    waiting = [(began_s + random.random() / rate, stream) for stream, rate in enumerate(rates_per_s)]
    heapq.heapify(waiting)
    while True:
        pause_s = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([sys.stdin], [], [], pause_s)[0]:
            break
        due_s, stream = waiting[0]
        now_s = time.monotonic()
        if now_s < due_s:
            continue
        if now_s - due_s < LATEST_S:
            try:
                line.sendto(payload, (peers[stream], 0))
                sent += 1
            except OSError:
                pass  # The link's queue is full, or the peer's container is gone.
        numbers[stream] += 1
        next_s = began_s + (numbers[stream] + random.random()) / rates_per_s[stream]
        heapq.heapreplace(waiting, (next_s, stream))
    lasted_s = time.monotonic() - began_s
    return sum(int(lasted_s * rate) for rate in rates_per_s), sent


def main() -> None:
    """Send what the argument says, and print how much it was."""
    plan = json.loads(sys.argv[1])
    streams = plan["streams"]
    due, sent = run(
        plan["address"],
        [stream["peer"] for stream in streams],
        [stream["frames_per_s"] for stream in streams],
        plan["payload_bytes"],
    )
    print(json.dumps({"due": due, "sent": sent}))


if __name__ == "__main__":
    main()
