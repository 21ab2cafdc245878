"""The tree along which ranks collect and distribute: within each cluster first, then between the clusters' first ranks.

So every value crosses the wide area once on its way to the root and once on its way back. Pure arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FAN_OUT = 4
"""The number of ranks of its own cluster that one rank collects from and distributes to."""


@dataclass(frozen=True, slots=True)
class TreePlace:
    """One rank's place in the tree: whom it reports to (None at the root) and who reports to it."""

    parent: int | None
    children: tuple[int, ...]


def place_in_tree(rank: int, cluster_of: Sequence[int], root: int = 0, fan_out: int = FAN_OUT) -> TreePlace:
    """Return the place of `rank` in the tree of all ranks under `root`; `cluster_of` names each rank's cluster.

    The root and each other cluster's first rank head the ranks of their clusters; those heads are the root's children.
    """
    cluster = cluster_of[rank]
    heads = {cluster_of[root]: root}
    for other, its_cluster in enumerate(cluster_of):
        heads.setdefault(its_cluster, other)
    head = heads[cluster]
    members = [
        head,
        *(other for other, its_cluster in enumerate(cluster_of) if its_cluster == cluster and other != head),
    ]
    index = members.index(rank)
    children = members[index * fan_out + 1 : (index + 1) * fan_out + 1]
    if rank == root:
        children += [other for its_cluster, other in heads.items() if its_cluster != cluster]
    if index > 0:
        parent: int | None = members[(index - 1) // fan_out]
    else:
        parent = None if rank == root else root
    return TreePlace(parent, tuple(children))
