"""Emptiest nodes: on nodes that tasks share in time, each task of a job goes where fewest tasks run.

A component goes to the cluster with most nodes that have room for a task of it, and takes the emptiest of these.

    testbed share SIT --policy examples/policies/emptiest_nodes.py:EmptiestNodes+backfill+fcfs
    testbed campaign run SIT --policy examples/policies/emptiest_nodes.py:EmptiestNodes
"""

from collections.abc import Sequence

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.state import NodeState, SystemState


class EmptiestNodes:
    """The policy; `chooses_nodes` says that it names a node for each task."""

    accepts = frozenset({RequestKind.TOTAL, RequestKind.NON_FIXED})
    chooses_nodes = True
    ignores_time = True

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement on nodes that all differ, or None."""
        taken: set[tuple[int, int]] = set()
        placed: dict[int, Component] = {}
        for index in request.descending:
            found = _component(request, request.components[index], state.surroundings.nodes, taken)
            if found is None:
                return None
            taken.update((found.cluster, node) for node in found.nodes)
            placed[index] = found
        # The components of a placement are in the order of the request.
        return Placement(tuple(placed[index] for index in range(len(placed))))


def _component(
    request: JobRequest, tasks: int, clusters: Sequence[Sequence[NodeState]], taken: set[tuple[int, int]]
) -> Component | None:
    roomy = [
        [
            index
            for index, node in enumerate(nodes)
            if (cluster, index) not in taken and node.has_room(request.memory_bytes)
        ]
        for cluster, nodes in enumerate(clusters)
    ]
    chosen = max(range(len(roomy)), key=lambda cluster: len(roomy[cluster]))
    if len(roomy[chosen]) < tasks:
        return None
    emptiest = sorted(roomy[chosen], key=lambda index: len(clusters[chosen][index].tasks))
    return Component(chosen, tasks, tuple(emptiest[:tasks]))
