"""Functions common to the placement policies: the order of clusters by idle processors, and making a placement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.model.placement import Component, Placement

NOWHERE: Final = Component(-1, 0)
"""Placeholder for a component that has no cluster yet."""


def roomiest(idle: list[int]) -> int:
    """Return the cluster with most idle processors; the lowest index among equals."""
    best = 0
    most = idle[0]
    for cluster in range(1, len(idle)):
        there = idle[cluster]
        if there > most:
            best = cluster
            most = there
    return best


def fits_nowhere(processors: int, idle: tuple[int, ...]) -> bool:
    """Return whether every cluster has fewer idle processors; most tries of a waiting head end with this check."""
    return all(free < processors for free in idle)


def by_idle(idle: Sequence[int]) -> list[int]:
    """Return all clusters by decreasing idle processors; the lowest index first among equals."""
    return sorted(range(len(idle)), key=lambda cluster: -idle[cluster])


def placed(sizes: tuple[int, ...], clusters: list[int]) -> Placement:
    """Return the placement of components of these `sizes` on these `clusters`, in the same order."""
    return Placement(tuple([Component(clusters[index], size) for index, size in enumerate(sizes)]))
