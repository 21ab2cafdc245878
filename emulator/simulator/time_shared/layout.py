"""What a topology says of shared nodes: how they are numbered, what they hold, and their network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.topology import NodeUse, Topology
from emulator.model.units import BYTES_PER_MEGABYTE, rate_bytes_per_s
from emulator.policies.nodes.changes import Nodes
from emulator.policies.state import NodeState
from emulator.simulator.time_shared.network import SharedNetwork
from workloads.local_users import LocalUser

SINGLE_PROCESSOR: Final = 1
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


def node_states(topology: Topology, users: Sequence[LocalUser]) -> Nodes:
    """Return the nodes of `topology` without jobs, with what `users` occupy.

    Raises:
        InvalidInput: if a cluster does not say what is needed, or a user's node does not exist.
    """
    if topology.nodes is NodeUse.EXCLUSIVE:
        raise InvalidInput(f"Topology {topology.name!r}: nodes: shared nodes cannot be exclusive; leave this out.")
    nodes: list[list[NodeState]] = []
    for cluster in topology.clusters:
        if cluster.processors_per_node != SINGLE_PROCESSOR and topology.time_sharing is None:
            raise InvalidInput(
                f"Cluster {cluster.name!r}: processors_per_node: shared nodes have 1 processor, "
                f"not {cluster.processors_per_node} (or the topology states time_sharing)."
            )
        if cluster.node_memory_mb is None:
            raise InvalidInput(f"Cluster {cluster.name!r}: node_memory_mb: is missing; shared nodes need their memory.")
        nodes.append([NodeState(round(cluster.node_memory_mb * BYTES_PER_MEGABYTE)) for _ in range(cluster.nodes)])
    for user in users:
        if not (0 <= user.cluster < len(nodes) and 0 <= user.node < len(nodes[user.cluster])):
            raise InvalidInput(f"local users: there is no node {user.node} in cluster {user.cluster}.")
        node = nodes[user.cluster][user.node]
        if node.has_local_users:
            raise InvalidInput(f"local users: node {user.node} has a user already.")
        held = round(user.profile.memory_share * node.memory_bytes)
        nodes[user.cluster][user.node] = NodeState(
            node.memory_bytes, local_share=user.profile.processor_share, local_memory_bytes=held
        )
    return tuple(tuple(of_cluster) for of_cluster in nodes)


def _path_rate(topology: Topology, source: str, target: str) -> float:
    return 0.0 if source == target else rate_bytes_per_s(topology.path_rate_mbit(source, target))
