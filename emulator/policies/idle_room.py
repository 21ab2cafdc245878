"""The idle processors of many clusters with an index: the roomiest cluster is found in the logarithm of their number.

The index is a tree of maxima over the clusters. The simulator keeps one up to date and lends it to the states that it
makes; worst fit asks it instead of looking at every cluster. Answers are the same.
"""

from __future__ import annotations

from typing import Final, final

from emulator.model.placement import Component

TAKEN: Final = -1
"""The value for a cluster that already has a component of the job, and for leaves of the tree without a cluster."""


@final
class IdleRoom:
    """The index over `idle`, the idle processors per cluster; a caller that changes the list calls `note_changed`."""

    __slots__ = ("_idle", "_leaves", "_most", "total")

    def __init__(self, idle: list[int]) -> None:
        self._idle = idle
        self._leaves: int = 1
        while self._leaves < len(idle):
            self._leaves *= 2
        self._most: list[int] = [TAKEN] * self._leaves + idle + [TAKEN] * (self._leaves - len(idle))
        self.total: int = sum(idle)
        for node in range(self._leaves - 1, 0, -1):
            self._most[node] = max(self._most[2 * node], self._most[2 * node + 1])

    def note_changed(self, cluster: int) -> None:
        """Take over the idle processors of a cluster from the list."""
        now = self._idle[cluster]
        self.total += now - self._most[self._leaves + cluster]
        self._set(cluster, now)

    def of(self, cluster: int) -> int:
        """Return the idle processors of a cluster."""
        return self._idle[cluster]

    def as_list(self) -> list[int]:
        """Return the idle processors of every cluster."""
        return list(self._idle)

    def worst_fit(
        self, sizes: tuple[int, ...], descending: tuple[int, ...], taken: tuple[Component, ...], distinct: bool
    ) -> list[int] | None:
        """Return the cluster of each component, in decreasing size where most processors are idle, or None.

        `taken` are processors that are not idle any more. If `distinct`, no two components get the same cluster.
        """
        touched: list[int] = []
        for component in taken:
            self._lower(component.cluster, component.processors, touched)
        clusters = [0] * len(sizes)
        fits = True
        for index in descending:
            size = sizes[index]
            if self._most[1] < size:
                fits = False
                break
            cluster = self._roomiest()
            clusters[index] = cluster
            self._lower(cluster, self._most[self._leaves + cluster] - TAKEN if distinct else size, touched)
        for cluster in touched:
            self._set(cluster, self._idle[cluster])
        return clusters if fits else None

    def _roomiest(self) -> int:
        """Return the cluster with most idle processors; the lowest index among equals."""
        most = self._most[1]
        node = 1
        while node < self._leaves:
            node *= 2
            if self._most[node] != most:
                node += 1
        return node - self._leaves

    def _lower(self, cluster: int, processors: int, touched: list[int]) -> None:
        self._set(cluster, self._most[self._leaves + cluster] - processors)
        touched.append(cluster)

    def _set(self, cluster: int, value: int) -> None:
        node = self._leaves + cluster
        self._most[node] = value
        node //= 2
        while node > 0:
            left = self._most[2 * node]
            right = self._most[2 * node + 1]
            most = left if left >= right else right
            if self._most[node] == most:
                break
            self._most[node] = most
            node //= 2
