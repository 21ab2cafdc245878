"""The state of nodes with one job more, or without some."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from emulator.model.placement import Placement
from emulator.model.request import JobRequest
from emulator.policies.state import NodeState, NodeTask, SystemState

Nodes = tuple[tuple[NodeState, ...], ...]


def joined(state: SystemState, job: int, request: JobRequest, placement: Placement) -> SystemState:
    """Return `state` with the tasks of `job` on the nodes of its placement, whose pairs are in the history."""
    return with_nodes(state.after(placement), occupied(state.surroundings.nodes, job, request, placement))


def occupied(nodes: Nodes, job: int, request: JobRequest, placement: Placement) -> Nodes:
    """Return `nodes` with the tasks of `job` on those of its placement."""
    task = NodeTask(job, request.memory_bytes, request.processor_share)
    clusters = [list(of_cluster) for of_cluster in nodes]
    for component in placement.components:
        of_cluster = clusters[component.cluster]
        for index in component.nodes:
            of_cluster[index] = replace(of_cluster[index], tasks=(*of_cluster[index].tasks, task))
    return tuple([tuple(of_cluster) for of_cluster in clusters])


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
    """Return `state` with other nodes; as many processors are idle as these may run further tasks."""
    return replace_nodes(SystemState(state.processors, free_places(nodes), state.time_s, state.surroundings), nodes)


def free_places(nodes: Nodes) -> tuple[int, ...]:
    """Return how many further tasks the nodes of each cluster may run."""
    return tuple([sum([_free_places(node) for node in of_cluster]) for of_cluster in nodes])


def replace_nodes(state: SystemState, nodes: Nodes) -> SystemState:
    """Return `state` with other nodes, and its idle processors as they are."""
    surroundings = replace(state.surroundings, nodes=nodes)
    return SystemState(state.processors, state.idle, state.time_s, surroundings)


def _free_places(node: NodeState) -> int:
    """Return how many further tasks a node may run; one that states no limit is taken to run one."""
    most = 1 if node.most_tasks is None else node.most_tasks
    return max(0, most - len(node.tasks))


def _node_without(node: NodeState, jobs: Collection[int]) -> NodeState:
    left = tuple([task for task in node.tasks if task.job not in jobs])
    return node if len(left) == len(node.tasks) else replace(node, tasks=left)
