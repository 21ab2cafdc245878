"""The system as a policy sees it: read-only, and complete enough that a decision can be made again from it.

Clusters stand in the topology's order; their position is the index that placements name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from emulator.model.job import Placement


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A cluster at the moment of a decision: all its processors, and those that nobody uses."""

    processors: int
    idle: int


@dataclass(frozen=True, slots=True)
class SystemState:
    """The multicluster at emulated moment `time_s`."""

    clusters: tuple[ClusterState, ...]
    time_s: float = 0.0

    @property
    def idle(self) -> tuple[int, ...]:
        """Idle processors per cluster."""
        return tuple(cluster.idle for cluster in self.clusters)

    def after(self, placement: Placement) -> SystemState:
        """The state once `placement` has taken its processors."""
        taken = placement.by_cluster()
        clusters = tuple(
            replace(cluster, idle=cluster.idle - taken.get(index, 0)) for index, cluster in enumerate(self.clusters)
        )
        return replace(self, clusters=clusters)
