"""An iteration of Poisson as arithmetic: what computing, borders and the reduction take on a topology, without a host.

The rules are those of the ranks' own pacing (``apps/kernels/messages.pyx``): inside a cluster a sender's interconnect
takes in one message after another, and a receiver's brings no two at once; between clusters packets cross the sender's
access link, the pair's delay line and the receiver's link, all first in first out, both links with the burst that their
token buckets allow, and the line transmitting at the slower link's rate. There is no noise and no host in it, so that
parameters can be fitted in seconds; then they are measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.grid import Block, ProcessGrid, block_of
from apps.tree import TreePlace, place_in_tree
from emulator.containers.wan.program import FRAME_BYTES
from emulator.model.interconnects import Interconnect
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s
from emulator.studies.published_runtimes import Setup

ITERATIONS = 4
BURST_BYTES = FRAME_BYTES * 1.5
"""About what the buckets hold at the dilations at which these jobs are measured."""
SEGMENT_BYTES = 1448
HEADER_BYTES = 66
MESSAGE_HEADER_BYTES = 24
"""The stamp that each message begins with, and Open MPI's own header."""
REDUCTION_BYTES = 32
STEPS = ("top", "bottom", "left", "right")

Sent = tuple[int, int, int]
"""Sender, receiver, bytes."""


@dataclass(frozen=True)
class Modelled:
    """Seconds of an iteration, and of its border exchange: from the last end of computing to the last border."""

    iteration_s: float
    border_exchange_s: float


def modelled(topology: Topology, grid: int, processors: int, setup: Setup) -> Modelled:
    """What an iteration takes in `setup` on the first clusters of `topology`, once it is alike from one to the next."""
    job = _Job(topology, grid, processors, setup)
    ends_s, borders_s = [], []
    for _ in range(ITERATIONS):
        computed_s = job.compute()
        borders_s.append(job.exchange() - computed_s)
        ends_s.append(job.reduce())
    return Modelled((ends_s[-1] - ends_s[0]) / (ITERATIONS - 1), borders_s[-1])


@dataclass
class _Link:
    """An access link in one direction: a token bucket, first in first out."""

    rate_bytes_s: float
    tokens: float = BURST_BYTES
    free_s: float = 0.0

    def passed_s(self, timestamp_s: float, size_bytes: int) -> float:
        """When a packet that comes at `timestamp_s`, no earlier than any before it, has passed."""
        begin_s = max(timestamp_s, self.free_s)
        self.tokens = min(BURST_BYTES, self.tokens + (begin_s - self.free_s) * self.rate_bytes_s)
        wait_s = max(0.0, size_bytes - self.tokens) / self.rate_bytes_s
        self.tokens = max(0.0, self.tokens - size_bytes)
        self.free_s = begin_s + wait_s
        return self.free_s


@dataclass
class _WideArea:
    """The access links of a job's clusters and the delays between them."""

    topology: Topology
    names: Sequence[str]
    up: list[_Link] = field(init=False)
    down: list[_Link] = field(init=False)
    lines: defaultdict[tuple[int, int], float] = field(init=False)

    def __post_init__(self) -> None:
        links = [self.topology.clusters[self.topology.index(name)].access_link for name in self.names]
        self.up = [_Link(rate_bytes_per_s(link.up_mbit)) for link in links]
        self.down = [_Link(rate_bytes_per_s(link.down_mbit)) for link in links]
        self.lines = defaultdict[tuple[int, int], float](float)

    def arrivals_s(self, messages: Sequence[tuple[float, int, int, int]]) -> list[float]:
        """Return when each message arrives, by its time of sending, its two clusters and its bytes."""
        packets = sorted(
            (sent_s, index, packet, size, source, target)
            for index, (sent_s, source, target, length) in enumerate(messages)
            for packet, size in enumerate(_packets(length))
        )
        across = sorted(
            (self._crossed_s(sent_s, source, target, size), index, packet, size, target)
            for sent_s, index, packet, size, source, target in packets
        )
        found_s = [0.0] * len(messages)
        for timestamp_s, index, _, size, target in across:
            found_s[index] = max(found_s[index], self.down[target].passed_s(timestamp_s, size))
        return found_s

    def _crossed_s(self, sent_s: float, source: int, target: int, size_bytes: int) -> float:
        """When a packet is through the sender's link and the path's delay line."""
        delay_s = self.topology.path(self.names[source], self.names[target]).delay_s
        rate_bytes_s = min(self.up[source].rate_bytes_s, self.down[target].rate_bytes_s)
        begin_s = max(self.up[source].passed_s(sent_s, size_bytes) + delay_s, self.lines[source, target])
        self.lines[source, target] = begin_s + size_bytes / rate_bytes_s
        return self.lines[source, target]


def _packets(length: int) -> list[int]:
    whole, rest = divmod(length + MESSAGE_HEADER_BYTES, SEGMENT_BYTES)
    return [SEGMENT_BYTES + HEADER_BYTES] * whole + ([rest + HEADER_BYTES] if rest else [])


class _Job:
    """The ranks of a job: each one's timestamp, and when its interconnect is free to send and to receive."""

    def __init__(self, topology: Topology, grid: int, processors: int, setup: Setup) -> None:
        costs, interconnect = topology.processor.costs, topology.interconnects.of(setup.clusters, setup.interconnect)
        assert costs is not None
        assert interconnect is not None
        self.interconnect: Interconnect = interconnect
        self.process_grid = ProcessGrid.of_processes(processors)
        self.blocks: list[Block] = [block_of(rank, grid, self.process_grid) for rank in range(processors)]
        self.compute_s = [costs.duration_s(block.points) for block in self.blocks]
        self.cluster_of = [rank * setup.clusters // processors for rank in range(processors)]
        self.wide_area = _WideArea(topology, topology.cluster_names[: setup.clusters])
        self.timestamps_s, self.out_free_s, self.in_free_s = ([0.0] * processors for _ in range(3))
        self.places: list[TreePlace] = [place_in_tree(rank, self.cluster_of) for rank in range(processors)]
        self.depths = [self._depth(rank) for rank in range(processors)]

    def _depth(self, rank: int) -> int:
        parent = self.places[rank].parent
        return 0 if parent is None else 1 + self._depth(parent)

    def compute(self) -> float:
        """Every rank computes; returns when the last has."""
        self.timestamps_s = [
            timestamp_s + own_s for timestamp_s, own_s in zip(self.timestamps_s, self.compute_s, strict=True)
        ]
        return max(self.timestamps_s)

    def exchange(self) -> float:
        """The four steps; returns when the last rank is through."""
        for step in STEPS:
            self._round([sent for rank in range(len(self.blocks)) for sent in self._border(rank, step)])
        return max(self.timestamps_s)

    def _border(self, rank: int, step: str) -> list[Sent]:
        receiver: int | None = getattr(self.process_grid.neighbours(rank), step)
        block = self.blocks[rank]
        points = block.columns if step in ("top", "bottom") else block.rows
        return [] if receiver is None else [(rank, receiver, 8 * points)]

    def reduce(self) -> float:
        """Collects along the tree and distributes; returns when the last rank knows."""
        ranks = range(len(self.blocks))
        for depth in range(max(self.depths), 0, -1):
            reporting = [rank for rank in ranks if self.depths[rank] == depth]
            self._round([(rank, self.places[rank].parent or 0, REDUCTION_BYTES) for rank in reporting])
        for depth in range(max(self.depths)):
            telling = [rank for rank in ranks if self.depths[rank] == depth]
            self._round([(rank, child, REDUCTION_BYTES) for rank in telling for child in self.places[rank].children])
        return max(self.timestamps_s)

    def _round(self, sends: Sequence[Sent]) -> None:
        """Messages that are sent together; every rank then has sent its own and received those to it."""
        near: dict[int, list[tuple[float, int]]] = defaultdict(list)
        far: list[tuple[float, int, int, int]] = []
        far_receivers: list[int] = []
        for sender, receiver, size in sends:
            if self.cluster_of[sender] == self.cluster_of[receiver]:
                taken_s = self.interconnect.message_s + size / rate_bytes_per_s(self.interconnect.rate_mbit)
                self.out_free_s[sender] = max(self.out_free_s[sender], self.timestamps_s[sender]) + taken_s
                near[receiver].append((self.out_free_s[sender], size))
            else:
                far.append((self.timestamps_s[sender], self.cluster_of[sender], self.cluster_of[receiver], size))
                far_receivers.append(receiver)
        senders = {sender for sender, _, _ in sends}
        after_s = [
            max(timestamp_s, self.out_free_s[rank]) if rank in senders else timestamp_s
            for rank, timestamp_s in enumerate(self.timestamps_s)
        ]
        for receiver, messages in near.items():
            after_s[receiver] = max(after_s[receiver], self._taken_in_s(receiver, messages))
        for receiver, arrival_s in zip(far_receivers, self.wide_area.arrivals_s(far), strict=True):
            after_s[receiver] = max(after_s[receiver], arrival_s)
        self.timestamps_s = after_s

    def _taken_in_s(self, receiver: int, messages: Sequence[tuple[float, int]]) -> float:
        for sent_s, size in sorted(messages):
            through_s = self.in_free_s[receiver] + size / rate_bytes_per_s(self.interconnect.rate_mbit)
            self.in_free_s[receiver] = max(sent_s + self.interconnect.latency_s, through_s)
        return self.in_free_s[receiver]
