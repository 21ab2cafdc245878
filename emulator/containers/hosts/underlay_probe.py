"""A probe of the network between two hosts, one end in a container of each. Standard library only.

``serve ADDRESS PORT SECONDS`` answers datagrams with the timestamps of their arrival and of the answer, and takes or
sends a stream over TCP for whoever asks, until nobody has asked for `SECONDS`. While another one serves there, it
waits. ``ask ADDRESS PORT COUNT SECONDS`` exchanges `COUNT` datagrams, then measures the rate of a stream in each
direction for about `SECONDS`. It prints a JSON document: `exchanges` of four timestamps in nanoseconds, and for `to`
and `from` the server the bytes and the nanoseconds that a stream took, or under `stalled` why none came through.
Arrivals are stamped by the kernel.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import time

ASKED = struct.Struct("!Q")
ANSWERED = struct.Struct("!Qqq")
COUNTED = struct.Struct("!qq")
STAMP = struct.Struct("@qq")
SO_TIMESTAMPNS = 35
CHUNK = bytes(1 << 16)
HOST_PAUSE_S = 0.003
HOST_ANSWER_WITHIN_S = 0.3
MOST_UNANSWERED = 40


def stamped(opened: socket.socket) -> tuple[bytes, int, tuple[str, int]]:
    """Receive a datagram; return it with the timestamp of its arrival and the sender's address."""
    data, ancillary, _, sender = opened.recvmsg(64, 128)
    arrived_ns = time.time_ns()
    for _, kind, value in ancillary:
        if kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = STAMP.unpack_from(value)
            arrived_ns = seconds * 1_000_000_000 + nanoseconds
    return data, arrived_ns, sender


def datagrams(address: str, port: int) -> socket.socket:
    """Return a socket for datagrams whose arrivals the kernel stamps."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    opened.bind((address, port))
    return opened


def free_datagrams(address: str, port: int, seconds: float) -> socket.socket:
    """Return a socket for datagrams, after waiting at most so long until the port is free."""
    until_s = time.monotonic() + seconds
    while True:
        try:
            return datagrams(address, port)
        except OSError:
            if time.monotonic() > until_s:
                raise
            time.sleep(0.05)


def take(stream: socket.socket) -> tuple[int, int]:
    """Take a stream until it ends; return its bytes and the nanoseconds from its first bytes to its end."""
    first = len(stream.recv(len(CHUNK)))
    began_ns, taken = time.monotonic_ns(), 0
    while received := stream.recv(len(CHUNK)) if first else b"":
        taken += len(received)
    return taken, time.monotonic_ns() - began_ns


def send(stream: socket.socket, seconds: float) -> None:
    """Send a stream for so long, and end it."""
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        stream.sendall(CHUNK)
    stream.shutdown(socket.SHUT_WR)


def serve(address: str, port: int, seconds: float) -> None:
    """Answer whoever asks, until nobody has for so long."""
    asked = free_datagrams(address, port, 2 * seconds)
    with asked, socket.create_server((address, port)) as listening:
        while True:
            ready, _, _ = select.select([asked, listening], [], [], seconds)
            if not ready:
                return
            if asked in ready:
                data, arrived_ns, sender = stamped(asked)
                asked.sendto(ANSWERED.pack(*ASKED.unpack(data), arrived_ns, time.time_ns()), sender)
            if listening in ready:
                stream, _ = listening.accept()
                with stream:
                    stream.settimeout(seconds)
                    (duration_ms,) = ASKED.unpack(stream.recv(ASKED.size, socket.MSG_WAITALL))
                    if duration_ms:
                        send(stream, duration_ms / 1e3)
                    else:
                        stream.sendall(COUNTED.pack(*take(stream)))


def exchanges(address: str, port: int, count: int) -> list[tuple[int, int, int, int]]:
    """Exchange `count` datagrams one after another; return the four timestamps of each that was answered."""
    found: list[tuple[int, int, int, int]] = []
    number = 0
    with datagrams("", 0) as asking:
        asking.settimeout(HOST_ANSWER_WITHIN_S)
        while len(found) < count and number < count + MOST_UNANSWERED:
            number += 1
            sent_ns = time.time_ns()
            asking.sendto(ASKED.pack(number), (address, port))
            try:
                data, returned_ns, _ = stamped(asking)
            except OSError:
                continue
            answered, arrived_ns, answered_ns = ANSWERED.unpack(data)
            if answered == number:
                found.append((sent_ns, arrived_ns, answered_ns, returned_ns))
            time.sleep(HOST_PAUSE_S)
    return found


def rate_to(address: str, port: int, seconds: float) -> tuple[int, int]:
    """Send a stream to the server; return the bytes and nanoseconds that it counted."""
    with socket.create_connection((address, port), 5.0) as stream:
        stream.sendall(ASKED.pack(0))
        send(stream, seconds)
        counted: tuple[int, int] = COUNTED.unpack(stream.recv(COUNTED.size, socket.MSG_WAITALL))
        return counted


def rate_from(address: str, port: int, seconds: float) -> tuple[int, int]:
    """Take a stream from the server; return its bytes and nanoseconds."""
    with socket.create_connection((address, port), 5.0) as stream:
        stream.sendall(ASKED.pack(round(seconds * 1e3)))
        return take(stream)


def main() -> None:
    """Serve or ask, as the arguments say."""
    role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if role == "serve":
        serve(address, port, float(sys.argv[4]))
        return
    count, seconds = int(sys.argv[4]), float(sys.argv[5])
    found: dict[str, object] = {"exchanges": exchanges(address, port, count), "to": (0, 0), "from": (0, 0)}
    if seconds and found["exchanges"]:
        try:
            found |= {"to": rate_to(address, port, seconds), "from": rate_from(address, port, seconds)}
        except (OSError, struct.error) as error:
            found["stalled"] = str(error)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
