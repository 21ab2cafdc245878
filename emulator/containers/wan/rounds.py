"""The rounds of a verification: which streams measure a quantity, and when they are sent. Pure.

Streams that must not disturb each other follow one another, with time for the queues to drain in between. All times
and rates are the host's, at the dilation that is programmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from emulator.containers.addresses import AddressPlan
from emulator.containers.wan.program import (
    SMALLEST_FRAME_BYTES,
    Shaper,
    WideAreaProgram,
    wide_area_program,
)
from emulator.containers.wan.schedule import Stream
from emulator.model.clock import Dilation
from emulator.model.link_queues import FRAME_BYTES
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s, rate_mbit

FLOOD: Final = 1.2
"""How far above what a path carries a flood is sent."""

LESSER: Final = 0.5
"""The share of a link's rate that the lesser of two sources sends into it."""

HALF: Final = 0.5
HOST_DELAY_SPACING_S: Final = 0.02
HOST_WINDOW_S: Final = 0.8
FEWEST_FRAMES: Final = 100
HOST_SETTLING_S: Final = 0.15
HOST_MARGIN_S: Final = 0.1

Pair = tuple[str, str]
Triple = tuple[str, str, str]
"""Two sources and a target."""


@dataclass(frozen=True, slots=True)
class DilatedTopology:
    """A topology as it is programmed at a dilation."""

    topology: Topology
    dilation: Dilation
    program: WideAreaProgram

    @classmethod
    def at(cls, topology: Topology, dilation: Dilation, addresses: AddressPlan) -> DilatedTopology:
        """Return `topology` as it is programmed at `dilation`."""
        return cls(topology, dilation, wide_area_program(topology, dilation, addresses))

    def up(self, cluster: str) -> Shaper:
        """Return a cluster's uplink."""
        return self.program.edges[self.topology.index(cluster)].up

    def down(self, cluster: str) -> Shaper:
        """Return a cluster's downlink."""
        return self.program.edges[self.topology.index(cluster)].down

    def host_delay_s(self, source: str, target: str) -> float:
        """Return the one-way delay from `source` to `target` on the host."""
        return self.dilation.host_duration_s(self.topology.path(source, target).delay_s)

    def link_mbit(self, source: str, target: str) -> float:
        """Return the emulated rate of the slower of the two access links from `source` to `target`."""
        sending, receiving = self.topology.cluster(source), self.topology.cluster(target)
        return min(sending.access_link.up_mbit, receiving.access_link.down_mbit)

    def host_load_mbit(self, pairs: Sequence[Pair]) -> float:
        """Return the host's rate of what passes the router if all `pairs` fill their links at once."""
        return sum(self.dilation.host_rate_mbit(self.link_mbit(source, target)) for source, target in pairs)

    def carried_mbit(self, source: str, target: str) -> float:
        """Return the emulated rate at which `source` alone can fill the path to `target`, on which packets are lost."""
        up = self.topology.cluster(source).access_link.up_mbit * (1 - self.topology.path(source, target).loss)
        return min(up, self.topology.cluster(target).access_link.down_mbit)

    def host_flood_mbit(self, source: str, target: str) -> float:
        """Return the host's rate of a flood from `source` to `target`: a little above what the path takes.

        A fast uplink could send much more than a slow downlink takes. The path's delay line, which transmits at the
        slower rate, would then hold packets for longer than any round waits.
        """
        taken_mbit = self.carried_mbit(source, target) / (1 - self.topology.path(source, target).loss)
        return FLOOD * self.dilation.host_rate_mbit(taken_mbit)

    def host_drain_s(self, clusters: Sequence[str], streams: Sequence[Stream] = ()) -> float:
        """Return how long after `streams` between `clusters` the last packet has arrived, in host seconds."""
        queues_s = max(drain_s(self.up(name)) for name in clusters) + max(drain_s(self.down(name)) for name in clusters)
        delays_s = [
            self.host_delay_s(a, b) + self.dilation.host_duration_s(self.topology.path(a, b).jitter_s)
            for a, b in self.topology.ordered_pairs
        ]
        held_s = max(map(self._host_held_s, streams), default=0.0)
        return queues_s + max(delays_s, default=0.0) + held_s + HOST_MARGIN_S

    def _host_held_s(self, stream: Stream) -> float:
        """Return for how long after a stream its path's delay line transmits what the uplink let through too fast."""
        source, target = (self.topology.cluster_names[at] for at in (stream.source_index, stream.target_index))
        offered_mbit = rate_mbit(stream.frame_bytes * stream.frames_per_host_s, 1.0)
        let_through_mbit = min(offered_mbit, self.up(source).host_rate_mbit)
        excess = let_through_mbit / self.dilation.host_rate_mbit(self.link_mbit(source, target)) - 1
        return max(0.0, excess) * (stream.host_end_s - stream.host_begin_s)


def drain_s(shaper: Shaper) -> float:
    """Return the host seconds in which a full queue drains."""
    return shaper.queue_bytes / rate_bytes_per_s(shaper.host_rate_mbit)


def delay_streams(topology: Topology, pairs: Sequence[Pair], packets: int) -> list[Stream]:
    """Return streams of small packets on every pair at once, evenly staggered."""
    return [
        Stream(
            topology.index(source),
            topology.index(target),
            host_begin_s=HOST_DELAY_SPACING_S * number / len(pairs),
            host_end_s=HOST_DELAY_SPACING_S * (packets + number / len(pairs)) - 1e-6,
            frame_bytes=SMALLEST_FRAME_BYTES,
            frames_per_host_s=1 / HOST_DELAY_SPACING_S,
        )
        for number, (source, target) in enumerate(pairs)
    ]


def in_turns(
    dilated: DilatedTopology, turns: Sequence[Sequence[Pair]], *, flood: bool, begin_s: float = 0.0
) -> list[Stream]:
    """Return a stream for each pair of each turn from `begin_s` on: flooded, or at half of what it carries.

    The pairs of a turn send at once, the turns one after another.
    """
    streams: list[Stream] = []
    for turn in turns:
        of_turn: list[Stream] = []
        for source, target in turn:
            host_rate_mbit = (
                dilated.host_flood_mbit(source, target)
                if flood
                else HALF * dilated.dilation.host_rate_mbit(dilated.carried_mbit(source, target))
            )
            settle_s = HOST_SETTLING_S + dilated.host_delay_s(source, target)
            of_turn.append(_full_frames(dilated, source, target, begin_s, host_rate_mbit, settle_s))
        streams += of_turn
        ends_s = max((stream.host_end_s for stream in of_turn), default=begin_s)
        begin_s = ends_s + dilated.host_drain_s([name for pair in turn for name in pair], of_turn)
    return streams


def two_into_one(dilated: DilatedTopology, triples: Sequence[Triple]) -> list[Stream]:
    """Return per triple (first, second, target) a flood of the first and a lesser stream of the second into one link.

    Each triple has two streams; rates are counted once the shared queue is full.
    """
    streams: list[Stream] = []
    begin_s = 0.0
    for first, second, target in triples:
        lesser_mbit = dilated.dilation.host_rate_mbit(lesser_rate_mbit(dilated, second, target))
        filling_s = drain_s(dilated.down(target)) / LESSER
        settle_s = HOST_SETTLING_S + filling_s + max(dilated.host_delay_s(name, target) for name in (first, second))
        streams.append(_full_frames(dilated, first, target, begin_s, dilated.host_flood_mbit(first, target), settle_s))
        lesser = _full_frames(dilated, second, target, begin_s, lesser_mbit, settle_s)
        ends_s = max(streams[-1].host_end_s, lesser.host_end_s)
        streams[-1:] = [_until(streams[-1], ends_s), _until(lesser, ends_s)]
        begin_s = ends_s + dilated.host_drain_s([first, second, target], streams[-2:])
    return streams


def lesser_rate_mbit(dilated: DilatedTopology, source: str, target: str) -> float:
    """Return the emulated rate that the lesser of two sources sends towards `target`; below its uplink's rate."""
    link = dilated.topology.cluster(target).access_link.down_mbit
    return LESSER * min(link, dilated.topology.cluster(source).access_link.up_mbit)


def turns_of_disjoint_pairs(clusters: Sequence[str], at_once: int) -> list[list[Pair]]:
    """Return every pair of clusters once, both ways in one turn (of a round-robin tournament).

    At most `at_once` pairs are in a turn, and no cluster is in two of them.
    """
    ring: list[str | None] = [*clusters, *([None] if len(clusters) % 2 else [])]
    turns: list[list[Pair]] = []
    for _ in range(len(ring) - 1):
        meetings = [(ring[i], ring[-1 - i]) for i in range(len(ring) // 2)]
        pairs = [(a, b) for a, b in meetings if a is not None and b is not None]
        turns += [_both_ways(pairs[i : i + at_once]) for i in range(0, len(pairs), at_once)]
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return turns


def circle(clusters: Sequence[str]) -> list[Pair]:
    """Return pairs in which every cluster sends to one other and receives from one; none if there is only one."""
    return list(zip(clusters, [*clusters[1:], clusters[0]], strict=True)) if len(clusters) > 1 else []


def triples_into_each(clusters: Sequence[str]) -> list[Triple]:
    """Return for each cluster the next two (in a circle) as sources into its link; none if there are only two."""
    count = len(clusters)
    if count < 3:
        return []
    return [(clusters[(i + 1) % count], clusters[(i + 2) % count], clusters[i]) for i in range(count)]


def _both_ways(pairs: Sequence[Pair]) -> list[Pair]:
    return [direction for a, b in pairs for direction in ((a, b), (b, a))]


def _full_frames(
    dilated: DilatedTopology, source: str, target: str, begin_s: float, host_rate_mbit: float, settle_s: float
) -> Stream:
    frames_per_s = rate_bytes_per_s(host_rate_mbit) / FRAME_BYTES
    window_s = max(HOST_WINDOW_S, FEWEST_FRAMES / frames_per_s)
    return Stream(
        dilated.topology.index(source),
        dilated.topology.index(target),
        begin_s,
        begin_s + settle_s + window_s,
        FRAME_BYTES,
        frames_per_s,
        settle_s,
    )


def _until(stream: Stream, host_end_s: float) -> Stream:
    return replace(stream, host_end_s=host_end_s)
