"""The selection of a job's nodes: the placement policies *Normal* and *Uniform* of the 3DBackfilling paper.

Both give each task of a job a node of its own. A component goes to the cluster with most nodes that may take a task of
it, as worst fit does; if its nodes cannot be chosen there, the next such cluster is tried.

**Normal** takes the least loaded of the nodes that its limits allow: those with least memory in use come first, then
those with fewest jobs, then those with least processor time wanted, local users included.

**Uniform** wants all tasks of a job to see the same parallel load; local users do not count. It first looks for a set
of as many nodes as the job has tasks. All of them must run the same jobs, and these jobs must run on no other node of
the cluster. At most half of those jobs may have the job's own orientation (communication-bound or computation-bound).
Next it takes idle nodes: those without local users first, but also the others. If there are too few, the job waits
under *Hard*, and under *Light* it is placed as by Normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.state import NodeState, SystemState

Chosen = tuple[int, ...]
Load = tuple[int, int, float, int]

PLACED_KINDS: Final = frozenset({RequestKind.TOTAL, RequestKind.UNORDERED, RequestKind.NON_FIXED})


class NormalNodes:
    """The least loaded nodes, within `limits`."""

    accepts: ClassVar[frozenset[RequestKind]] = PLACED_KINDS
    chooses_nodes: ClassVar[bool] = True

    def __init__(self, limits: NodeLimits) -> None:
        self.limits = limits

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement that names the node of each task, or None if there is none now."""
        taken: list[set[int]] = [set() for _ in state.surroundings.nodes]
        placed: dict[int, Component] = {}
        for component in request.descending:
            found = self._component(request, request.components[component], state.surroundings.nodes, taken)
            if found is None:
                return None
            taken[found.cluster].update(found.nodes)
            placed[component] = found
        return Placement(tuple([placed[component] for component in range(len(placed))]))

    def _component(
        self, request: JobRequest, tasks: int, clusters: Sequence[Sequence[NodeState]], taken: Sequence[set[int]]
    ) -> Component | None:
        eligible = [
            [index for index, node in enumerate(nodes) if index not in used and self.limits.allow(node, request)]
            for nodes, used in zip(clusters, taken, strict=True)
        ]
        distinct = request.kind is RequestKind.UNORDERED
        for cluster in sorted(range(len(clusters)), key=lambda cluster: -len(eligible[cluster])):
            if len(eligible[cluster]) < tasks:
                return None
            if distinct and taken[cluster]:
                continue
            nodes = self._within(request, tasks, clusters[cluster], eligible[cluster])
            if nodes is not None:
                return Component(cluster, tasks, nodes)
        return None

    def _within(
        self, request: JobRequest, tasks: int, nodes: Sequence[NodeState], eligible: Sequence[int]
    ) -> Chosen | None:
        """Return nodes for `tasks` tasks, of the `eligible` ones of a cluster."""
        return _least_loaded(tasks, nodes, eligible)


class UniformNodes(NormalNodes):
    """Nodes on which all tasks of a job see the same parallel load; if `hard`, a job waits for such nodes."""

    def __init__(self, limits: NodeLimits, *, hard: bool) -> None:
        super().__init__(limits)
        self.hard = hard

    def _within(
        self, request: JobRequest, tasks: int, nodes: Sequence[NodeState], eligible: Sequence[int]
    ) -> Chosen | None:
        stacked = self._stacked(request, tasks, nodes, set(eligible))
        if stacked is not None:
            return stacked
        idle = [index for index in eligible if not nodes[index].tasks]
        if len(idle) >= tasks:
            return _least_loaded(tasks, nodes, idle)
        return None if self.hard else super()._within(request, tasks, nodes, eligible)

    def _stacked(
        self, request: JobRequest, tasks: int, nodes: Sequence[NodeState], eligible: set[int]
    ) -> Chosen | None:
        """Return the least loaded set of nodes whose jobs run nowhere else and complement the job in orientation."""
        sets: dict[frozenset[int], list[int]] = {}
        spread: dict[int, int] = {}
        for index, node in enumerate(nodes):
            if node.tasks:
                sets.setdefault(node.jobs, []).append(index)
                for job in node.jobs:
                    spread[job] = spread.get(job, 0) + 1
        uniform = [
            members
            for jobs, members in sets.items()
            if len(members) == tasks
            and eligible.issuperset(members)
            and all(spread[job] == tasks for job in jobs)
            and self._complements(request, nodes[members[0]])
        ]
        if not uniform:
            return None
        return tuple(min(uniform, key=lambda members: sorted([_load(nodes[index], index) for index in members])))

    def _complements(self, request: JobRequest, node: NodeState) -> bool:
        own = self.limits.is_communication_bound(request.processor_share)
        alike = sum([self.limits.is_communication_bound(task.processor_share) is own for task in node.tasks])
        return alike <= len(node.tasks) - alike


def _least_loaded(tasks: int, nodes: Sequence[NodeState], among: Sequence[int]) -> Chosen | None:
    if len(among) < tasks:
        return None
    return tuple(sorted(sorted(among, key=lambda index: _load(nodes[index], index))[:tasks]))


def _load(node: NodeState, index: int) -> Load:
    return (
        node.parallel_memory_bytes + node.local_memory_bytes,
        len(node.tasks),
        node.parallel_share + node.local_share,
        index,
    )
