"""The state of nodes with one job more, or without some."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from emulator.model.placement import Placement
from emulator.model.request import JobRequest
from emulator.policies.state import NodeState, NodeTask, SystemState

Nodes = tuple[tuple[NodeState, ...], ...]


def joined(state: SystemState, job: int, request: JobRequest, placement: Placement) -> SystemState:
    """Return `state` with the tasks of `job` on the nodes of its placement."""
    task = NodeTask(job, request.memory_bytes, request.processor_share)
    clusters = [list(nodes) for nodes in state.surroundings.nodes]
    for component in placement.components:
        nodes = clusters[component.cluster]
        for index in component.nodes:
            nodes[index] = replace(nodes[index], tasks=(*nodes[index].tasks, task))
    return with_nodes(state, tuple([tuple(nodes) for nodes in clusters]))


def without(state: SystemState, jobs: Collection[int]) -> SystemState:
    """Return `state` without the tasks of `jobs`."""
    return with_nodes(
        state,
        tuple(
            [
                tuple([_node_without(node, jobs) if node.tasks else node for node in nodes])
                for nodes in state.surroundings.nodes
            ]
        ),
    )


def with_nodes(state: SystemState, nodes: Nodes) -> SystemState:
    """Return `state` with other nodes; nodes without a task are its idle processors."""
    idle = tuple([sum([not node.tasks for node in of_cluster]) for of_cluster in nodes])
    return SystemState(state.processors, idle, state.time_s, replace(state.surroundings, nodes=nodes))


def _node_without(node: NodeState, jobs: Collection[int]) -> NodeState:
    left = tuple([task for task in node.tasks if task.job not in jobs])
    return node if len(left) == len(node.tasks) else replace(node, tasks=left)
