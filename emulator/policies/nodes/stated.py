"""The nodes of a topology as policies see them: what each holds, who works there, and what it may run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.local_users import LocalUser, profile_named
from emulator.model.node_names import node_names
from emulator.model.topology import NodeUse, Topology
from emulator.model.units import BYTES_PER_MEGABYTE
from emulator.policies.nodes.changes import Nodes
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.state import NodeState

SINGLE_PROCESSOR: Final = 1


def stated_users(topology: Topology) -> tuple[LocalUser, ...]:
    """Return the local users that the clusters of `topology` state."""
    return tuple(
        LocalUser(node_names(cluster.nodes).index(node), profile_named(profile), index)
        for index, cluster in enumerate(topology.clusters)
        for node, profile in cluster.local_users.items()
    )


def empty_nodes(topology: Topology) -> Nodes:
    """Return the nodes of `topology` without jobs, with the local users and within the limits that it states.

    Raises:
        InvalidInput: if a cluster does not say what is needed.
    """
    return within(node_states(topology, stated_users(topology)), stated_limits(topology))


def within(nodes: Nodes, limits: NodeLimits) -> Nodes:
    """Return `nodes` that state what `limits` allow them: their most tasks, and the memory that these may hold."""
    return tuple([tuple([_within(node, limits) for node in of_cluster]) for of_cluster in nodes])


def _within(node: NodeState, limits: NodeLimits) -> NodeState:
    most = limits.most_jobs if node.most_tasks is None else min(node.most_tasks, limits.most_jobs)
    return replace(node, most_tasks=most, memory_for_jobs_bytes=math.floor(limits.memory_for_jobs(node)))


def stated_limits(topology: Topology) -> NodeLimits:
    """Return the limits of the nodes of `topology`: its processors of a node, and the contract of its time sharing."""
    if topology.time_sharing is None:
        return NodeLimits()
    most_jobs = max(cluster.processors_per_node for cluster in topology.clusters)
    return NodeLimits(most_jobs, topology.time_sharing.contract)


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
        most_tasks = None if topology.time_sharing is None else cluster.processors_per_node
        memory_bytes = round(cluster.node_memory_mb * BYTES_PER_MEGABYTE)
        nodes.append([NodeState(memory_bytes, most_tasks=most_tasks) for _ in range(cluster.nodes)])
    for user in users:
        if not (0 <= user.cluster < len(nodes) and 0 <= user.node < len(nodes[user.cluster])):
            raise InvalidInput(f"local users: there is no node {user.node} in cluster {user.cluster}.")
        node = nodes[user.cluster][user.node]
        if node.has_local_users:
            raise InvalidInput(f"local users: node {user.node} has a user already.")
        held = round(user.profile.memory_share * node.memory_bytes)
        share = user.profile.processor_share
        nodes[user.cluster][user.node] = replace(node, local_share=share, local_memory_bytes=held)
    return tuple(tuple(of_cluster) for of_cluster in nodes)
