"""The tree along which values are collected and distributed: inside each cluster first, then between the clusters.

Three patterns. Along a *tree* and a *binomial* tree values are collected inside each cluster at its first rank, and the
clusters' first ranks report to the root's cluster: so every value crosses the wide area once on its way to the root and
once on its way back. A tree's ranks collect from four others each; a binomial tree's rounds double what one rank has
collected, as MPICH's did. In the *flat* pattern every rank reports to the root itself, over the wide area too. Pure
arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

Pattern = Literal["tree", "binomial", "flat"]
PATTERNS: Final[tuple[Pattern, ...]] = get_args(Pattern)

FAN_OUT = 4
"""The number of ranks of its own cluster that one rank of a *tree* collects from and distributes to."""


@dataclass(frozen=True, slots=True)
class TreePlace:
    """One rank's place in the tree: whom it reports to (None at the root) and who reports to it, in order."""

    parent: int | None
    children: tuple[int, ...]


def place_in_tree(
    rank: int, cluster_of: Sequence[int], root: int = 0, fan_out: int = FAN_OUT, pattern: Pattern = "tree"
) -> TreePlace:
    """Return the place of `rank` in the tree of all ranks under `root`; `cluster_of` names each rank's cluster.

    Unless the pattern is flat, the root and each other cluster's first rank head the ranks of their clusters; those
    heads are the root's children.
    """
    if pattern == "flat":
        others = tuple(other for other in range(len(cluster_of)) if other != root)
        return TreePlace(None, others) if rank == root else TreePlace(root, ())
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
    above, below = _binomial(index, len(members)) if pattern == "binomial" else _of_fan_out(index, fan_out)
    children = [members[child] for child in below if child < len(members)]
    if rank == root:
        children += [other for its_cluster, other in heads.items() if its_cluster != cluster]
    if above is not None:
        return TreePlace(members[above], tuple(children))
    return TreePlace(None if rank == root else root, tuple(children))


def _of_fan_out(index: int, fan_out: int) -> tuple[int | None, list[int]]:
    children = list(range(index * fan_out + 1, (index + 1) * fan_out + 1))
    return (index - 1) // fan_out if index > 0 else None, children


def _binomial(index: int, members: int) -> tuple[int | None, list[int]]:
    """Return a rank's parent, which lacks its lowest bit, and its children, which have one more bit below that one."""
    lowest = index & -index if index > 0 else 1 << max(0, members - 1).bit_length()
    children = []
    bit = lowest >> 1
    while bit > 0:
        children.append(index + bit)
        bit >>= 1
    return (index - lowest) if index > 0 else None, children
