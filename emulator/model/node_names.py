"""The names of a cluster's nodes, as its Slurm has them: n1, n2, ..."""

from __future__ import annotations


def node_name(index: int) -> str:
    """Return the name of the node with that index, from 0."""
    return f"n{index + 1}"


def node_index(name: str) -> int:
    """Return the index of the node of that name, from 0."""
    return int(name.removeprefix("n")) - 1


def node_names(nodes: int) -> list[str]:
    """Return the names of all nodes of a cluster."""
    return [node_name(index) for index in range(nodes)]
