"""The messages of one iteration, as the planner counts them: waits for delays, and packets between clusters.

Borders and reductions are those of the applications (`apps.grid`, `apps.tree`, `apps.exchange`). Counted are the waits
that follow one another; what overlaps with them is left out. So an iteration's time is good to some tenths, which is
all that a plan needs of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.grid import Neighbours
from apps.tree import FAN_OUT
from emulator.model.interconnects import Interconnect
from emulator.model.topology import Topology
from emulator.model.units import BYTES_PER_POINT, rate_bytes_per_s

FULL_PACKET_BYTES: Final = 1448
"""What one TCP segment carries over an Ethernet-sized link."""

_STAMP_BYTES: Final = 8
_REDUCED_BYTES: Final = 40
"""What a reduction's message carries: the stamp, the value, and what of the emulation travels with it."""

Part = tuple[str, int]
"""A cluster and how many of the job's ranks are in it."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Emulated seconds for which messages make an iteration wait, and packets that it sends between clusters."""

    delays_s: float = 0.0
    segments: float = 0.0

    def times(self, count: float) -> Traffic:
        """So many of this, one after another."""
        return Traffic(count * self.delays_s, count * self.segments)

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.delays_s + other.delays_s, self.segments + other.segments)


@dataclass(frozen=True, slots=True)
class RankLinks:
    """The ways between the ranks of a job: its parts in the order of the ranks, and what they are joined by."""

    topology: Topology
    parts: tuple[Part, ...]
    interconnect: Interconnect | None

    @property
    def clusters_of_ranks(self) -> list[str]:
        """The cluster of each rank."""
        return [cluster for cluster, size in self.parts for _ in range(size)]

    def borders(self, neighbours: Mapping[int, Neighbours], row_points: int, column_points: int, steps: int) -> Traffic:
        """Return a border exchange in so many consecutive steps: rows go up and down, columns left and right."""
        cluster_of = self.clusters_of_ranks
        crossing: dict[tuple[str, str], float] = {}
        segments = 0.0
        inside_bytes = 0
        for rank, beside in neighbours.items():
            for points, other in (
                (row_points, beside.top),
                (row_points, beside.bottom),
                (column_points, beside.left),
                (column_points, beside.right),
            ):
                if other is None:
                    continue
                size_bytes = points * BYTES_PER_POINT + _STAMP_BYTES
                pair = (cluster_of[rank], cluster_of[other])
                if pair[0] == pair[1]:
                    inside_bytes = max(inside_bytes, size_bytes)
                else:
                    crossing[pair] = crossing.get(pair, 0.0) + size_bytes
                    segments += math.ceil(size_bytes / FULL_PACKET_BYTES)
        # Of consecutive steps two cross a border between clusters, one each way, and wait for one another.
        waits = min(2, steps)
        wide_s = max((self._crossing_s(pair, size) for pair, size in crossing.items()), default=0.0)
        return Traffic(waits * wide_s + steps * self._inside_s(inside_bytes), segments)

    def reduction(self) -> Traffic:
        """All ranks collect at the first and learn from it, inside clusters first."""
        root, *others = dict(self.parts)
        round_trips_s = [
            self._crossing_s((other, root), _REDUCED_BYTES) + self._crossing_s((root, other), _REDUCED_BYTES)
            for other in others
        ]
        largest = max(size for _, size in self.parts)
        depth = math.ceil(math.log(max(1, largest), FAN_OUT))
        # On the way up a rank's children report at once, on the way down it answers them one after another.
        inside_s = depth * (self._inside_s(_REDUCED_BYTES) + self._inside_s(_REDUCED_BYTES, FAN_OUT))
        return Traffic(max(round_trips_s, default=0.0) + inside_s, 2.0 * len(others))

    def all_to_all(self, total_bytes: float) -> Traffic:
        """Return every rank gives every other an equal part of what all hold together."""
        shares = self._shares()
        crossing_bytes = total_bytes * (1.0 - sum(share**2 for share in shares.values()))
        slowest_s = max(
            (
                total_bytes * share * (1.0 - share) / rate_bytes_per_s(self.topology.cluster(name).access_link.up_mbit)
                for name, share in shares.items()
            ),
            default=0.0,
        )
        return Traffic(slowest_s + self._inside_s(0), crossing_bytes / FULL_PACKET_BYTES)

    def _shares(self) -> dict[str, float]:
        ranks = sum(size for _, size in self.parts)
        shares: dict[str, float] = {}
        for cluster, size in self.parts:
            shares[cluster] = shares.get(cluster, 0.0) + size / ranks
        return shares

    def _crossing_s(self, pair: Sequence[str], size_bytes: float) -> float:
        source, target = pair
        transmission_s = size_bytes / rate_bytes_per_s(self.topology.path_rate_mbit(source, target))
        return self.topology.path(source, target).delay_s + transmission_s

    def _inside_s(self, size_bytes: int, messages: int = 1) -> float:
        """So many messages one after another inside a cluster, where its interconnect is stated."""
        carried = self.interconnect
        if carried is None:
            return 0.0
        return carried.latency_s + messages * (carried.message_s + size_bytes / rate_bytes_per_s(carried.rate_mbit))
