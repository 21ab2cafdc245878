"""The nodes of an allocation, as Slurm reports them at the head, and the job's ranks on each.

A cluster whose nodes are machines of their own needs a daemon on each; Slurm alone knows how many processors of which
node an allocation holds.
"""

from __future__ import annotations

import re
from typing import Final

from emulator.clusters.protocol import NodeShare
from emulator.model.errors import ClaimFailed

ASK_NODES: Final = (
    r"scontrol show job --details {allocation}"
    r" | sed -n 's/^ *Nodes=\([^ ]*\) CPU_IDs=\([^ ]*\).*/\1 \2/p'"
    r' | while read -r nodes identities; do scontrol show hostnames "$nodes" | sed "s/$/ $identities/"; done'
)
"""Prints a line for each node of an allocation: its name, and the identities of its processors (``0-3,6``)."""

_LISTED: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*) ([0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*)")


def shares(listed: str, processors: int, cluster: str) -> tuple[NodeShare, ...]:
    """Distribute `processors` over the nodes that Slurm listed, in its order; none gets more than it holds there.

    Slurm may give more than was asked for, whole cores or whole nodes; the surplus stays idle.

    Raises:
        ClaimFailed: if the nodes hold fewer, as they do when the allocation has ended, or are no nodes.
    """
    dealt: list[NodeShare] = []
    left = processors
    for line in listed.splitlines():
        found = _LISTED.fullmatch(line)
        if found is None:
            raise ClaimFailed(f"Cluster {cluster!r} lists a node of its allocation as {line[:60]!r}, which is no node.")
        node, identities = found.groups()
        count = min(left, _count(identities))
        if count:
            dealt.append(NodeShare(node, count))
        left -= count
    if left:
        held = processors - left
        raise ClaimFailed(f"Cluster {cluster!r} holds {held} of the {processors} processors that it gave.")
    return tuple(dealt)


def _count(identities: str) -> int:
    ends = [piece.partition("-")[::2] for piece in identities.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, last in ends)
