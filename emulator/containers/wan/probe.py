"""A probe inside a cluster: it sends and receives time-stamped UDP streams by a schedule. Standard library only.

Its one argument is a JSON document ``{"address", "start_s", "until_s", "streams": [...]}``; the same schedule, in other
roles, runs in every cluster. `start_s` is the same moment by the clock of each cluster's host, so that no message is
needed to agree on a start. A stream is ``{"id", "role": "send" | "receive", "peer", "begin_s", "end_s",
"payload_bytes", "rate_per_s", "settle_s"}``; times count from `start_s`, all in host seconds. It prints one JSON
document: per stream what was sent, or what arrived.

One loop serves every stream, so that a cluster's probe is one process and the host has few things to schedule. Delays
are taken from the kernel's receive stamps, so that a late process does not lengthen them; rates from what passed
between the first and the last packet of a window, in bytes as tbf counts them (with the Ethernet header).
"""

from __future__ import annotations

import ctypes
import json
import select
import socket
import struct
import sys
import time
from typing import Any

PORT_BASE = 20000
HEADER = struct.Struct("!Qq")
HEADERS_BYTES = 14 + 20 + 8
STAMP = struct.Struct("@qq")
OVERFLOW = struct.Struct("@I")
SO_TIMESTAMPNS = 35
SO_RXQ_OVFL = 40
PR_SET_TIMERSLACK = 29
MOST_AT_ONCE = 64
SHORTEST_SLEEP_S = 0.0005
LATE_START_S = 0.05


class Sender:
    """One outgoing stream: packets due at even intervals between two timestamps."""

    def __init__(self, stream: dict[str, Any], address: str, start_s: float) -> None:
        self.identity = stream["id"]
        self.begin_s = start_s + stream["begin_s"]
        self.end_s = start_s + stream["end_s"]
        self.interval_s = 1.0 / stream["rate_per_s"]
        self.filling = bytes(max(0, stream["payload_bytes"] - HEADER.size))
        self.sent = 0
        self.refused = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 21)
        self.socket.bind((address, 0))
        self.socket.setblocking(False)
        self.socket.connect((stream["peer"], PORT_BASE + self.identity))

    @property
    def due_s(self) -> float:
        """When the next packet is due; infinity once the stream is over."""
        due = self.begin_s + self.sent * self.interval_s
        return due if due < self.end_s else float("inf")

    def send_due(self) -> None:
        """Send the packets that are due, a few at most."""
        for _ in range(MOST_AT_ONCE):
            if self.due_s > time.time():
                return
            try:
                self.socket.send(HEADER.pack(self.sent, time.time_ns()) + self.filling)
            except (BlockingIOError, OSError):
                self.refused += 1
            self.sent += 1

    def result(self) -> dict[str, Any]:
        """Return what was sent."""
        return {"sent": self.sent, "refused": self.refused}


class Receiver:
    """One incoming stream: how long its packets took, and how many passed in its window.

    Packets that arrive while this process does not run may overflow its socket. The kernel counts them, and they count
    as received, because they have crossed the network.
    """

    def __init__(self, stream: dict[str, Any], address: str, start_s: float) -> None:
        self.identity = stream["id"]
        self.window_begin_ns = int((start_s + stream["begin_s"] + stream["settle_s"]) * 1e9)
        self.window_end_ns = int((start_s + stream["end_s"]) * 1e9)
        self.frame_bytes = stream["payload_bytes"] + HEADERS_BYTES
        self.delays_ns: list[int] = []
        self.in_window: list[tuple[int, int, int]] = []
        self.received = 0
        self.overflowed = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)
        self.socket.bind((address, PORT_BASE + self.identity))
        self.socket.setblocking(False)

    def receive_all(self) -> None:
        """Receive the packets that have arrived, a few at most."""
        for _ in range(MOST_AT_ONCE):
            try:
                data, ancillary, _, _ = self.socket.recvmsg(HEADER.size, 128)
            except BlockingIOError:
                return
            _, sent_ns = HEADER.unpack(data)
            arrived_ns = time.time_ns()
            for _, kind, value in ancillary:
                if kind == SO_TIMESTAMPNS:
                    seconds, nanoseconds = STAMP.unpack_from(value)
                    arrived_ns = seconds * 1_000_000_000 + nanoseconds
                elif kind == SO_RXQ_OVFL:
                    (self.overflowed,) = OVERFLOW.unpack_from(value)
            self.received += 1
            self.delays_ns.append(arrived_ns - sent_ns)
            if self.window_begin_ns <= arrived_ns <= self.window_end_ns:
                self.in_window.append((arrived_ns, arrived_ns - sent_ns, self.overflowed))

    def result(self) -> dict[str, Any]:
        """Return what arrived: packets, median delay in all and within the window, and the rate within the window."""
        rate_mbit, passed_bytes, ends_ns = 0.0, 0, []
        if self.in_window:
            first, last = self.in_window[0], self.in_window[-1]
            passed_bytes = (len(self.in_window) + last[2] - first[2]) * self.frame_bytes
            rate_mbit = (passed_bytes - self.frame_bytes) * 8e3 / max(1, last[0] - first[0])
            ends_ns = [first[0], last[0]]
        return {
            "received": self.received + self.overflowed,
            "overflowed": self.overflowed,
            "delay_s": median_s(self.delays_ns),
            "window_delay_s": median_s([delay_ns for _, delay_ns, _ in self.in_window]),
            "rate_mbit": rate_mbit,
            "window_bytes": passed_bytes,
            "window_ns": ends_ns,
        }


def median_s(durations_ns: list[int]) -> float | None:
    """Return the median of durations in nanoseconds, in seconds; None if there are none."""
    return sorted(durations_ns)[len(durations_ns) // 2] / 1e9 if durations_ns else None


def run(plan: dict[str, Any]) -> dict[str, Any]:
    """Run the schedule; return each stream's result by its number and role, and whether the probe began too late."""
    address, start_s = plan["address"], plan["start_s"]
    senders = [Sender(stream, address, start_s) for stream in plan["streams"] if stream["role"] == "send"]
    receivers = [Receiver(stream, address, start_s) for stream in plan["streams"] if stream["role"] == "receive"]
    late_s = time.time() - start_s
    by_descriptor = {receiver.socket.fileno(): receiver for receiver in receivers}
    poll = select.epoll()
    for descriptor in by_descriptor:
        poll.register(descriptor, select.EPOLLIN)
    until_s = start_s + plan["until_s"]
    while (now_s := time.time()) < until_s:
        due_s = min((sender.due_s for sender in senders), default=until_s)
        waiting_s = min(max(due_s - now_s, 0.0), until_s - now_s)
        # epoll counts in milliseconds: select takes what is finer, once it is the descriptor of the epoll itself.
        ready, _, _ = select.select([poll], [], [], max(waiting_s, SHORTEST_SLEEP_S) if waiting_s else 0.0)
        if ready:
            for descriptor, _ in poll.poll(0):
                by_descriptor[descriptor].receive_all()
        for sender in senders:
            sender.send_due()
    return {
        "late": late_s > LATE_START_S,
        "sent": {sender.identity: sender.result() for sender in senders},
        "received": {receiver.identity: receiver.result() for receiver in receivers},
    }


def main() -> None:
    """Run the schedule given as the argument, and print the result."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    print(json.dumps(run(json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
