"""The arbiter of a cluster's nodes that tasks share in time: `python3 -m apps.arbiter RULE NODE...`.

It is started with the cluster. Each rank connects, names its node and the dilation, and asks for processor time
(`apps.shared_pacing`). Who has a node's processor is decided by `emulator.model.time_sharing`, in emulated time; the
arbiter only waits for what comes next. Ranks that share a node belong to one run, so that they have one dilation.
"""

from __future__ import annotations

import json
import math
import select
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from apps.pacing import make_timers_exact
from apps.shared_pacing import ANSWER, MOST_BYTES, PLACE, REQUEST
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput
from emulator.model.time_sharing.arbiter import Arbiter, Grant
from emulator.model.time_sharing.processor import SharedProcessor
from emulator.model.time_sharing.rules import SharingRule, SocialContract, rule_named
from emulator.model.units import nanoseconds, seconds_from_nanoseconds

PATIENCE_HOST_S: Final = 0.001
"""How long a rank that has computed holds its processor until it asks again, or else waits for a message."""
_BACKLOG: Final = 1024


class Node:
    """A node: its processor under a rule, and its ranks by the numbers of their connections."""

    def __init__(self, rule: SharingRule) -> None:
        self._rule = rule
        self._dilation = Dilation(1.0)
        self._arbiter: Arbiter | None = None
        self._ranks: dict[int, socket.socket] = {}

    def add(self, rank: socket.socket, dilation: Dilation) -> None:
        """Take a rank in.

        Raises:
            InvalidInput: if ranks of another dilation are here.
        """
        if not self._ranks:
            self._dilation = dilation
            processor = SharedProcessor(self._rule, SocialContract(), self._emulated_s(time.monotonic_ns()))
            self._arbiter = Arbiter(processor, dilation.emulated_duration_s(PATIENCE_HOST_S))
        if dilation != self._dilation:
            raise InvalidInput(f"its ranks run at a dilation of {self._dilation.factor:g}, not of {dilation.factor:g}")
        self._known.add(rank.fileno())
        self._ranks[rank.fileno()] = rank

    def remove(self, rank: socket.socket) -> None:
        """Let a rank go."""
        del self._ranks[rank.fileno()]
        self._answer(self._known.remove(rank.fileno(), self._emulated_s(time.monotonic_ns())))

    def request(self, rank: socket.socket, message: bytes) -> None:
        """Take a request of a rank.

        Raises:
            InvalidInput: if it is none, or comes before the last one is met.
        """
        if len(message) != REQUEST.size:
            raise InvalidInput(f"a request has {REQUEST.size} bytes, not {len(message)}")
        host_from_ns, host_duration_ns = REQUEST.unpack(message)
        processor_s = self._dilation.emulated_duration_s(seconds_from_nanoseconds(host_duration_ns))
        self._known.request(rank.fileno(), self._emulated_s(host_from_ns), processor_s)

    def advance(self) -> None:
        """Go on to the present, and answer the ranks that have had what they asked for."""
        if self._ranks:
            self._answer(self._known.advance(self._emulated_s(time.monotonic_ns())))

    def next_host_s(self) -> float:
        """Get the timestamp of the monotonic clock at which something is to be done; infinite if there is none."""
        return self._dilation.host_duration_s(self._known.next_s()) if self._ranks else math.inf

    @property
    def _known(self) -> Arbiter:
        assert self._arbiter is not None
        return self._arbiter

    def _emulated_s(self, host_timestamp_ns: int) -> float:
        return self._dilation.emulated_duration_s(seconds_from_nanoseconds(host_timestamp_ns))

    def _host_ns(self, emulated_s: float) -> int:
        return nanoseconds(self._dilation.host_duration_s(emulated_s))

    def _answer(self, grants: Sequence[Grant]) -> None:
        for grant in grants:
            # A rank that has gone is removed when its connection is read.
            with suppress(OSError):
                self._ranks[grant.task].send(ANSWER.pack(self._host_ns(grant.end_s), self._host_ns(grant.late_s)))


@dataclass(frozen=True, slots=True)
class _Rank:
    connection: socket.socket
    node: Node


class Server:
    """The server of the ranks of all nodes."""

    def __init__(self, listener: socket.socket, rule: SharingRule, nodes: Sequence[str]) -> None:
        self._listener = listener
        self._nodes = {name: Node(rule) for name in nodes}
        self._ranks: dict[int, _Rank] = {}
        self._unnamed: dict[int, socket.socket] = {}

    def serve(self) -> NoReturn:
        """Serve for ever."""
        while True:
            self.step()

    def step(self) -> None:
        """Wait for what comes next, and do it."""
        wait_host_s = min(node.next_host_s() for node in self._nodes.values()) - time.monotonic()
        watched = [self._listener.fileno(), *self._unnamed, *self._ranks]
        ready, _, _ = select.select(watched, [], [], None if math.isinf(wait_host_s) else max(0.0, wait_host_s))
        for number in ready:
            if number == self._listener.fileno():
                connection, _ = self._listener.accept()
                self._unnamed[connection.fileno()] = connection
            elif number in self._unnamed:
                self._begin(self._unnamed.pop(number))
            else:
                self._attend(self._ranks[number])
        for node in self._nodes.values():
            node.advance()

    def _begin(self, connection: socket.socket) -> None:
        """Read which node a rank is on, and take it in there."""
        try:
            hello = json.loads(connection.recv(MOST_BYTES))
            node = self._nodes.get(str(hello["node"]))
            if node is None:
                raise InvalidInput(f"this cluster has no node {hello['node']!r}")
            node.add(connection, Dilation(float(hello["dilation"])))
        except (InvalidInput, OSError, ValueError, TypeError, KeyError) as error:
            self._refuse(connection, str(error))
            return
        self._ranks[connection.fileno()] = _Rank(connection, node)
        with suppress(OSError):
            connection.send(json.dumps({"refused": ""}).encode())

    def _attend(self, rank: _Rank) -> None:
        """Take a request; let a rank go that has ended, or asks for what cannot be."""
        try:
            message = rank.connection.recv(MOST_BYTES)
        except ConnectionError:
            message = b""
        try:
            if message:
                rank.node.request(rank.connection, message)
                return
        except InvalidInput as error:
            print(f"a rank is let go: {error}", flush=True)
        del self._ranks[rank.connection.fileno()]
        rank.node.remove(rank.connection)
        rank.connection.close()

    @staticmethod
    def _refuse(connection: socket.socket, reason: str) -> None:
        with suppress(OSError):
            connection.send(json.dumps({"refused": reason.rstrip(".")}).encode())
        connection.close()


def listen(place: Path) -> socket.socket:
    """Listen at `place`, and for this user alone."""
    place.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(place))
    place.chmod(0o600)
    listener.listen(_BACKLOG)
    return listener


def main(words: Sequence[str]) -> NoReturn:
    """Serve the nodes that the command line names."""
    rule, *nodes = words
    make_timers_exact()
    Server(listen(Path(PLACE)), rule_named(rule), nodes).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
