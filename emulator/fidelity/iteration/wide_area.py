"""Packets between clusters: the sender's access link, the pair's delay line, the receiver's link, first in first out.

Both links let a burst pass, as their token buckets do; the delay line transmits at the slower link's rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s

SEGMENT_BYTES: Final = 1448
"""What a TCP segment carries."""

_HEADER_BYTES: Final = 66
_MESSAGE_HEADER_BYTES: Final = 24
"""Of a frame; of a message: the stamp that it begins with, and Open MPI's own header."""
_BURST_BYTES: Final = 1.5 * 1514
"""About what the buckets hold at the dilations at which jobs over several clusters run."""


@dataclass(frozen=True, slots=True)
class FarMessage:
    """A message between clusters, given by their indices; it leaves at `sent_s`."""

    sent_s: float
    source: int
    target: int
    size_bytes: int


@dataclass(slots=True)
class _Link:
    """An access link in one direction: a token bucket, first in first out."""

    rate_bytes_s: float
    tokens: float = _BURST_BYTES
    free_s: float = 0.0

    def passed_s(self, timestamp_s: float, size_bytes: int) -> float:
        """Return when a packet that comes at `timestamp_s`, no earlier than any before it, has passed."""
        begin_s = max(timestamp_s, self.free_s)
        self.tokens = min(_BURST_BYTES, self.tokens + (begin_s - self.free_s) * self.rate_bytes_s)
        wait_s = max(0.0, size_bytes - self.tokens) / self.rate_bytes_s
        self.tokens = max(0.0, self.tokens - size_bytes)
        self.free_s = begin_s + wait_s
        return self.free_s


@dataclass(slots=True)
class WideArea:
    """The access links of a job's clusters and the paths between them."""

    topology: Topology
    names: Sequence[str]
    _up: list[_Link] = field(init=False)
    _down: list[_Link] = field(init=False)
    _line_free_s: dict[tuple[int, int], float] = field(init=False)
    _delays_s: dict[tuple[int, int], float] = field(init=False)

    def __post_init__(self) -> None:
        self._line_free_s, self._delays_s = {}, {}
        links = [self.topology.cluster(name).access_link for name in self.names] if len(self.names) > 1 else []
        self._up = [_Link(rate_bytes_per_s(link.up_mbit)) for link in links]
        self._down = [_Link(rate_bytes_per_s(link.down_mbit)) for link in links]

    def arrivals_s(self, messages: Sequence[FarMessage]) -> list[float]:
        """Return when each message has arrived."""
        packets = sorted(
            (message.sent_s, index, packet, size)
            for index, message in enumerate(messages)
            for packet, size in enumerate(packet_sizes(message.size_bytes))
        )
        across = sorted(
            (self._crossed_s(sent_s, messages[index], size), index, packet, size)
            for sent_s, index, packet, size in packets
        )
        found_s = [0.0] * len(messages)
        for timestamp_s, index, _, size in across:
            found_s[index] = max(found_s[index], self._down[messages[index].target].passed_s(timestamp_s, size))
        return found_s

    def all_to_all_s(self, cluster_of: Sequence[int], pair_bytes: float) -> float:
        """Return how long it takes until every rank has `pair_bytes` from every rank of another cluster."""
        slowest_s = 0.0
        ranks = len(cluster_of)
        for cluster in range(len(self._up)):
            own = cluster_of.count(cluster)
            crossing_bytes = own * (ranks - own) * pair_bytes
            link_s = crossing_bytes / min(self._up[cluster].rate_bytes_s, self._down[cluster].rate_bytes_s)
            delay_s = max(self._delay_s((cluster, other)) for other in range(len(self._up)) if other != cluster)
            slowest_s = max(slowest_s, link_s + delay_s)
        return slowest_s

    def _crossed_s(self, sent_s: float, message: FarMessage, size_bytes: int) -> float:
        """Return when a packet is through the sender's link and the path's delay line."""
        pair = (message.source, message.target)
        rate_bytes_s = min(self._up[message.source].rate_bytes_s, self._down[message.target].rate_bytes_s)
        begin_s = self._up[message.source].passed_s(sent_s, size_bytes) + self._delay_s(pair)
        begin_s = max(begin_s, self._line_free_s.get(pair, 0.0))
        self._line_free_s[pair] = begin_s + size_bytes / rate_bytes_s
        return self._line_free_s[pair]

    def _delay_s(self, pair: tuple[int, int]) -> float:
        if pair not in self._delays_s:
            self._delays_s[pair] = self.topology.path(self.names[pair[0]], self.names[pair[1]]).delay_s
        return self._delays_s[pair]


def packet_sizes(length: int) -> list[int]:
    """Return the bytes of the packets that carry a message of that `length`."""
    whole, rest = divmod(length + _MESSAGE_HEADER_BYTES, SEGMENT_BYTES)
    return [SEGMENT_BYTES + _HEADER_BYTES] * whole + ([rest + _HEADER_BYTES] if rest else [])
