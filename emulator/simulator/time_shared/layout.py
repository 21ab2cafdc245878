"""What a topology says of the network of shared nodes, and how these are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.local_users import LocalUser
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s
from emulator.simulator.time_shared.network import SharedNetwork

LEAST_RATE_SHARE: Final = 0.01
"""What local users leave of an interface's rate at least."""


def network_of(topology: Topology, users: Sequence[LocalUser]) -> SharedNetwork:
    """Return the network of `topology`, on whose interfaces `users` leave their traffic.

    Raises:
        InvalidInput: if the topology states no interconnect, or a cluster is real.
    """
    interconnect = topology.interconnects.single_cluster
    if interconnect is None:
        raise InvalidInput(
            f"Topology {topology.name!r}: interconnects: shared nodes need the single_cluster interconnect stated."
        )
    clusters = topology.clusters
    first = first_nodes(topology)
    whole = rate_bytes_per_s(interconnect.rate_mbit)
    rates = [whole] * sum(cluster.nodes for cluster in clusters)
    for user in users:
        node = first[user.cluster] + user.node
        rates[node] = max(LEAST_RATE_SHARE * whole, rates[node] - user.profile.traffic_bytes_per_s)
    names = topology.cluster_names
    return SharedNetwork(
        [index for index, cluster in enumerate(clusters) for _ in range(cluster.nodes)],
        rates,
        interconnect.latency_s,
        interconnect.message_s,
        [[_path_rate(topology, source, target) for target in names] for source in names],
        [[0.0 if source == target else topology.path(source, target).delay_s for target in names] for source in names],
    )


def first_nodes(topology: Topology) -> list[int]:
    """Return the number of each cluster's first node, where nodes are numbered through all clusters."""
    return [sum(cluster.nodes for cluster in topology.clusters[:index]) for index in range(len(topology.clusters))]


def _path_rate(topology: Topology, source: str, target: str) -> float:
    return 0.0 if source == target else rate_bytes_per_s(topology.path_rate_mbit(source, target))
