"""Messages of many segments that cross the wide area together, each over a TCP connection of its own.

Many connections that send at once fill the queues of access links. What does not fit comes later, by the rules of TCP
in Linux:

- A connection has at most two frames in the queue of its own node. If that queue is full and nothing of the
  connection is under way, it tries again after the least timeout.
- A packet that finds the queue of the receiver's link full is dropped. It is sent again as soon as a later one of the
  connection is acknowledged, or after the least timeout if none is.
- As many packets are under way as the window allows. It grows by one with each acknowledgement, and is one after a
  timeout.

Acknowledgements take a path's delay and no rate.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.fidelity.iteration.wide_area import FarMessage, packet_sizes
from emulator.model.link_queues import FRAME_BYTES, LEAST_TIMEOUT_S, queue_bytes
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s

_FIRST_WINDOW: Final = 10
"""The packets that a new connection sends at once (RFC 6928)."""
_IN_OWN_QUEUE: Final = 2
"""The packets of a connection that wait in its own node's queue at most."""
_OPENING_ROUND_TRIPS: Final = 2
"""A connection is opened by TCP, and then the two processes tell each other who they are."""
_SENT_MEANWHILE_BYTES: Final = 8 * FRAME_BYTES
"""What leaves the sender's node while it opens its connections, one after another: so much was seen live."""
_SPREAD_S: Final = 0.001
"""Processes that send at the same time do so within this many seconds, in no particular order."""
_DRAWS: Final = 3
"""Which packets of short messages are dropped depends on that order: of so many, that with the median end counts."""
_SHORT_PACKETS: Final = 32
"""A longer message loses many packets, and it does not matter which."""
_MOST_PACKETS: Final = 64
"""The packets of a message that are followed one by one; of a larger message several are followed as one."""


def arrivals_s(
    topology: Topology, names: Sequence[str], messages: Sequence[FarMessage], *, opened: bool
) -> list[float]:
    """Return when each of `messages` between the clusters `names` has arrived; their links carry nothing else.

    If connections are not yet `opened`, that comes first.
    """
    if not messages:
        return []
    longest = max(len(packet_sizes(message.size_bytes)) for message in messages)
    together = -(-longest // _MOST_PACKETS)
    draws = [
        _Crossing(topology, names, messages, together, random.Random(draw), opened=opened).arrivals_s()
        for draw in range(_DRAWS if longest <= _SHORT_PACKETS else 1)
    ]
    return sorted(draws, key=max)[len(draws) // 2]


@dataclass(slots=True)
class _Queue:
    """The queue before an access link in one direction, first in first out."""

    rate_bytes_s: float
    most_s: float
    free_s: float = 0.0

    def passed_s(self, timestamp_s: float, size_bytes: int) -> float | None:
        """Return when a packet that comes at `timestamp_s` has passed the link; None if the queue has no room."""
        begin_s = max(timestamp_s, self.free_s)
        passed_s = begin_s + size_bytes / self.rate_bytes_s
        if passed_s - timestamp_s > self.most_s:
            return None
        self.free_s = passed_s
        return passed_s


class _Connection:
    """A connection with its message: packets from `following` on were never sent, those in `lost` are sent again.

    `under_way` holds the packets that are not acknowledged, in the order in which they were sent.
    """

    __slots__ = (
        "arrived_s", "back_s", "deadline_s", "down", "following", "in_own_queue", "looked_at_s", "lost", "missing",
        "patience_s", "sizes", "there_s", "timeouts", "under_way", "up", "window",
    )  # fmt: skip

    def __init__(self, up: _Queue, down: _Queue, there_s: float, back_s: float, sizes: Sequence[int]) -> None:
        self.up, self.down, self.there_s, self.back_s, self.sizes = up, down, there_s, back_s, sizes
        self.following = 0
        self.lost: list[int] = []
        self.under_way: dict[int, None] = {}
        self.missing = set(range(len(sizes)))
        self.window = _FIRST_WINDOW
        self.in_own_queue = 0
        self.timeouts = 0
        self.patience_s = LEAST_TIMEOUT_S + there_s + back_s
        self.deadline_s = 0.0
        self.looked_at_s = math.inf
        self.arrived_s = 0.0

    def lose(self, packets: Sequence[int]) -> None:
        """Take `packets` for lost: those that have not arrived are sent again."""
        for packet in packets:
            del self.under_way[packet]
        self.lost = sorted({*self.lost, *packets} & self.missing)


_Happening = Callable[[_Connection, int, float], None]
"""What happens to a connection or one of its packets at a timestamp."""


class _Crossing:
    """Messages on their way, event by event."""

    def __init__(
        self,
        topology: Topology,
        names: Sequence[str],
        messages: Sequence[FarMessage],
        together: int,
        chance: random.Random,
        *,
        opened: bool,
    ) -> None:
        links = [(name, topology.cluster(name).access_link) for name in names]
        more_bytes = 0 if opened else _SENT_MEANWHILE_BYTES
        up = [_queue(topology, name, link.up_mbit, together, more_bytes) for name, link in links]
        down = [_queue(topology, name, link.down_mbit, together) for name, link in links]
        self._order = itertools.count()
        self._events: list[tuple[float, int, _Happening, _Connection, int]] = []
        self._connections: list[_Connection] = []
        self._unfinished = len(messages)
        for message in messages:
            there, back = (names[message.source], names[message.target]), (names[message.target], names[message.source])
            sizes = packet_sizes(message.size_bytes)
            connection = _Connection(
                up[message.source],
                down[message.target],
                topology.path(*there).delay_s,
                topology.path(*back).delay_s,
                [sum(sizes[at : at + together]) for at in range(0, len(sizes), together)],
            )
            self._connections.append(connection)
            opening_s = 0.0 if opened else _OPENING_ROUND_TRIPS * (connection.there_s + connection.back_s)
            begin_s = message.sent_s + opening_s + chance.uniform(0.0, _SPREAD_S)
            self._plan(begin_s, self._begin, connection)

    def arrivals_s(self) -> list[float]:
        """Follow all packets, and return when each message has arrived."""
        while self._unfinished:
            time_s, _, happen, connection, packet = heapq.heappop(self._events)
            happen(connection, packet, time_s)
        return [connection.arrived_s for connection in self._connections]

    def _plan(self, time_s: float, happen: _Happening, connection: _Connection, packet: int = 0) -> None:
        heapq.heappush(self._events, (time_s, next(self._order), happen, connection, packet))

    def _begin(self, connection: _Connection, _: int, time_s: float) -> None:
        self._send(connection, time_s)

    def _send(self, connection: _Connection, time_s: float) -> None:
        """Send what the window and the node's own queue allow."""
        if not connection.under_way:
            self._await(connection, time_s)
        while connection.in_own_queue < _IN_OWN_QUEUE and len(connection.under_way) < connection.window:
            packet = connection.lost[0] if connection.lost else connection.following
            if packet == len(connection.sizes):
                return
            left_s = connection.up.passed_s(time_s, connection.sizes[packet])
            if left_s is None:
                return
            if connection.lost:
                del connection.lost[0]
            else:
                connection.following += 1
            connection.under_way[packet] = None
            connection.in_own_queue += 1
            self._plan(left_s, self._leave, connection)
            self._plan(left_s + connection.there_s, self._arrive, connection, packet)

    def _leave(self, connection: _Connection, _: int, time_s: float) -> None:
        connection.in_own_queue -= 1
        self._send(connection, time_s)

    def _arrive(self, connection: _Connection, packet: int, time_s: float) -> None:
        """Pass a packet on to the receiver, unless the queue of its link is full."""
        passed_s = connection.down.passed_s(time_s, connection.sizes[packet])
        if passed_s is None:
            return
        connection.missing.discard(packet)
        if not connection.missing and not connection.arrived_s:
            connection.arrived_s = passed_s
            self._unfinished -= 1
        self._plan(passed_s + connection.back_s, self._acknowledge, connection, packet)

    def _acknowledge(self, connection: _Connection, packet: int, time_s: float) -> None:
        """Take an acknowledgement: packets that were sent before this one, and are not acknowledged, are lost."""
        if packet in connection.under_way:
            lost = list(itertools.takewhile(lambda each: each != packet, connection.under_way))
            del connection.under_way[packet]
            connection.window += 1
            if lost:
                connection.lose(lost)
        connection.timeouts = 0
        self._await(connection, time_s)
        self._send(connection, time_s)

    def _await(self, connection: _Connection, time_s: float) -> None:
        """Wait for an acknowledgement from now on: after each timeout twice as long as before."""
        connection.deadline_s = time_s + connection.patience_s * 2**connection.timeouts
        if connection.deadline_s < connection.looked_at_s:
            self._plan_look(connection)

    def _plan_look(self, connection: _Connection) -> None:
        connection.looked_at_s = connection.deadline_s
        self._plan(connection.deadline_s, self._look_at_timeout, connection)

    def _look_at_timeout(self, connection: _Connection, _: int, time_s: float) -> None:
        """If nothing was acknowledged for too long, send again all that is under way, and begin with one packet."""
        if time_s != connection.looked_at_s:
            return
        connection.looked_at_s = math.inf
        if time_s < connection.deadline_s:
            self._plan_look(connection)
        elif connection.missing:
            connection.lose(list(connection.under_way))
            connection.window = 1
            connection.timeouts += 1
            self._send(connection, time_s)


def _queue(topology: Topology, cluster: str, rate_mbit: float, together: int, more_bytes: int = 0) -> _Queue:
    most_bytes = together * (queue_bytes(topology, cluster, rate_mbit) + more_bytes)
    rate_bytes_s = rate_bytes_per_s(rate_mbit)
    return _Queue(rate_bytes_s, most_bytes / rate_bytes_s)
