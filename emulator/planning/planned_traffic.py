"""The packets that one iteration sends between clusters, as the planner counts them.

Borders and reductions are those of the applications (`apps.grid`, `apps.tree`, `apps.exchange`). What messages take is
the model's matter (`emulator.fidelity.iteration`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.grid import Neighbours
from emulator.model.collectives import Pattern
from emulator.model.units import BYTES_PER_POINT

FULL_PACKET_BYTES: Final = 1448
"""What one TCP segment carries over an Ethernet-sized link."""

_STAMP_BYTES: Final = 8

Part = tuple[str, int]
"""A cluster and how many of the job's ranks are in it."""


@dataclass(frozen=True, slots=True)
class RankPackets:
    """The packets between the parts of a job, which are in the order of its ranks."""

    parts: tuple[Part, ...]

    @property
    def clusters_of_ranks(self) -> list[str]:
        """The cluster of each rank."""
        return [cluster for cluster, size in self.parts for _ in range(size)]

    def borders(self, neighbours: Mapping[int, Neighbours], row_points: int, column_points: int) -> float:
        """Return the packets of a border exchange: rows go up and down, columns left and right."""
        cluster_of = self.clusters_of_ranks
        packets = 0.0
        for rank, beside in neighbours.items():
            for points, other in (
                (row_points, beside.top),
                (row_points, beside.bottom),
                (column_points, beside.left),
                (column_points, beside.right),
            ):
                if other is not None and cluster_of[rank] != cluster_of[other]:
                    packets += math.ceil((points * BYTES_PER_POINT + _STAMP_BYTES) / FULL_PACKET_BYTES)
        return packets

    def reduction(self, pattern: Pattern) -> float:
        """Return the packets of a reduction: each way one for each other cluster, or for each of its ranks if flat."""
        root = self.parts[0][0]
        if pattern == "flat":
            return 2.0 * sum(size for cluster, size in self.parts if cluster != root)
        return 2.0 * (len(dict(self.parts)) - 1)

    def all_to_all(self, total_bytes: float) -> float:
        """Return the packets with which every rank gives every other an equal part of what all hold together."""
        ranks = sum(size for _, size in self.parts)
        of_clusters: dict[str, float] = {}
        for cluster, size in self.parts:
            of_clusters[cluster] = of_clusters.get(cluster, 0.0) + size / ranks
        crossing_bytes = total_bytes * (1.0 - sum(share**2 for share in of_clusters.values()))
        return crossing_bytes / FULL_PACKET_BYTES
