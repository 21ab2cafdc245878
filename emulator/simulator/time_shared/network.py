"""Messages between nodes: when they arrive.

Each node sends one message after another through its interface, and the nodes of a cluster share its access link for
messages to other clusters, also one after another. The switch inside a cluster holds nothing up.
"""

from __future__ import annotations

from typing import final


@final
class SharedNetwork:
    """The interfaces of all nodes, numbered through all clusters, and the access links of the clusters."""

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
        self._latency_s = latency_s
        self._message_s = message_s
        self._path_rates = path_rates_bytes_per_s
        self._delays_s = delays_s
        self._free_s: list[float] = [0.0] * len(cluster_of)
        self._link_free_s: list[float] = [0.0] * len(delays_s)

    def arrival_s(self, source: int, target: int, size_bytes: float, now_s: float) -> float:
        """Send a message at `now_s`, not before any sent earlier; return when it arrives."""
        free_s = self._free_s[source]
        begin_s = free_s if free_s > now_s else now_s
        sent_s = begin_s + self._message_s + size_bytes / self._rates[source]
        self._free_s[source] = sent_s
        home = self._cluster_of[source]
        away = self._cluster_of[target]
        if home == away:
            return sent_s + self._latency_s
        free_s = self._link_free_s[home]
        begin_s = free_s if free_s > sent_s else sent_s
        left_s = begin_s + size_bytes / self._path_rates[home][away]
        self._link_free_s[home] = left_s
        return left_s + self._delays_s[home][away] + self._latency_s
