"""What the placement policies share: where most processors are idle, and how chosen clusters become a placement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.model.placement import Component, Placement

NOWHERE: Final = Component(-1, 0)
"""Stands in a placement being made where a component has no cluster yet."""


def roomiest(idle: list[int]) -> int:
    """The cluster with most idle processors; the lowest index among equals."""
    best = 0
    most = idle[0]
    for cluster in range(1, len(idle)):
        there = idle[cluster]
        if there > most:
            best = cluster
            most = there
    return best


def fits_nowhere(processors: int, idle: tuple[int, ...]) -> bool:
    """Whether no cluster has so many processors idle: what most tries of a waiting head end with."""
    return all(free < processors for free in idle)


def by_idle(idle: Sequence[int]) -> list[int]:
    """All clusters by decreasing idle processors; equal ones in order of index."""
    return sorted(range(len(idle)), key=lambda cluster: -idle[cluster])


def placed(sizes: tuple[int, ...], clusters: list[int]) -> Placement:
    """The placement of components of these `sizes` on these `clusters`, one by one."""
    return Placement(tuple([Component(clusters[index], size) for index, size in enumerate(sizes)]))
