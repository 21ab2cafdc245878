"""Messages between nodes: when they have been sent, and when they arrive.

Each node sends one message after another through its interface, and the nodes of a cluster share its access link for
messages to other clusters, which takes one after another, too, in the order in which they reach it. The switch inside a
cluster holds nothing up.
"""

from __future__ import annotations

from typing import final


@final
class SharedNetwork:
    """The interfaces of all nodes, numbered through all clusters, and the access links of the clusters.

    `latency_s` is the time from a message's leaving its interface, or the access link, to its arrival; between clusters
    their delay comes on top.
    """

    def __init__(
        self,
        cluster_of: list[int],
        rates_bytes_per_s: list[float],
        latency_s: float,
        message_s: float,
        path_rates_bytes_per_s: list[list[float]],
        delays_s: list[list[float]],
    ) -> None:
        self._cluster_of = cluster_of
        self._rates = rates_bytes_per_s
        self.latency_s = latency_s
        self._message_s = message_s
        self._path_rates = path_rates_bytes_per_s
        self._delays_s = delays_s
        self._free_s: list[float] = [0.0] * len(cluster_of)
        self._link_free_s: list[float] = [0.0] * len(delays_s)

    def is_inside(self, source: int, target: int) -> bool:
        """Return whether two nodes are of one cluster."""
        return self._cluster_of[source] == self._cluster_of[target]

    def sent_s(self, source: int, size_bytes: float, now_s: float) -> float:
        """Send a message at `now_s`, not before any sent earlier; return when it has left the node's interface."""
        free_s = self._free_s[source]
        begin_s = free_s if free_s > now_s else now_s
        sent_s = begin_s + self._message_s + size_bytes / self._rates[source]
        self._free_s[source] = sent_s
        return sent_s

    def crossed_s(self, source: int, target: int, size_bytes: float, now_s: float) -> float:
        """Take a message to another cluster into the access link, which it reaches at `now_s`; return when it arrives.

        It is called in the order in which messages reach the link.
        """
        home = self._cluster_of[source]
        away = self._cluster_of[target]
        free_s = self._link_free_s[home]
        begin_s = free_s if free_s > now_s else now_s
        left_s = begin_s + size_bytes / self._path_rates[home][away]
        self._link_free_s[home] = left_s
        return left_s + self._delays_s[home][away] + self.latency_s
