"""Checks of the nodes that placements name: one with room for each task, all of them different.

Simulations and the broker use the same checks, so both refuse the same placements, whoever made them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.model.errors import PolicyFailed
from emulator.model.placement import Placement
from emulator.model.request import JobRequest
from emulator.model.units import BYTES_PER_MEGABYTE
from emulator.policies.nodes.changes import Nodes, occupied
from emulator.policies.protocols import Reject, Start
from emulator.policies.state import NodeState


def check_nodes_of_answers(
    policy: str,
    answers: Sequence[Start | Reject],
    nodes: Nodes,
    request_of_waiting: Callable[[int], JobRequest | None],
) -> None:
    """Check the nodes that the starts of one decision name, one start after another (`check_named_nodes`).

    `request_of_waiting` returns the request of a waiting job, or None if the job is not waiting.

    Raises:
        PolicyFailed: if a start does not name a node with room for each task.
    """
    for answer in answers:
        request = request_of_waiting(answer.job_id)
        if isinstance(answer, Start) and request is not None:
            check_named_nodes(policy, request, answer.placement, nodes)
            if nodes:
                nodes = occupied(nodes, answer.job_id, request, answer.placement)


def check_named_nodes(policy: str, request: JobRequest, placement: Placement, nodes: Nodes) -> None:
    """Check that `placement` names a node with room for each task, all different, of the `nodes` of a state.

    In a state without nodes it must name none. `policy` is named in the message.

    Raises:
        PolicyFailed: if this is not so.
    """
    if not nodes:
        check_names_none(policy, placement)
        return
    named: set[tuple[int, int]] = set()
    for component in placement.components:
        cluster = component.cluster
        if len(component.nodes) != component.processors:
            raise PolicyFailed(
                f"{policy}: names {len(component.nodes)} nodes of cluster {cluster} for {component.processors} tasks; "
                "each task needs a node of its own."
            )
        known = nodes[cluster] if 0 <= cluster < len(nodes) else ()
        for index in component.nodes:
            cause = " twice" if (cluster, index) in named else _why_not(index, known, request)
            if cause:
                raise PolicyFailed(f"{policy}: places a task on node {index} of cluster {cluster}{cause}.")
            named.add((cluster, index))


def check_names_none(name: str, placement: Placement) -> None:
    """Check that a placement by the policy or discipline `name` names no nodes.

    Raises:
        PolicyFailed: if it names some.
    """
    for component in placement.components:
        if component.nodes:
            raise PolicyFailed(
                f"{name}: names nodes of cluster {component.cluster}; only a policy with chooses_nodes = True does so."
            )


def _why_not(index: int, nodes: Sequence[NodeState], request: JobRequest) -> str:
    """Return why a node of `nodes` cannot run a task of `request`, as the end of a sentence; empty if it can."""
    if not 0 <= index < len(nodes):
        return f", but there are only 0 to {len(nodes) - 1}" if nodes else ", whose nodes are not known now"
    node = nodes[index]
    if node.is_full:
        return f", which runs {len(node.tasks)} tasks and takes no more"
    if request.memory_bytes > node.free_memory_bytes:
        asked_mb, free_mb = request.memory_bytes / BYTES_PER_MEGABYTE, node.free_memory_bytes / BYTES_PER_MEGABYTE
        return f", which has {free_mb:g} MB left for a task of {asked_mb:g} MB"
    return ""
