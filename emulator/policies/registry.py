"""Policies and disciplines by the names that the command line and the API know."""

from __future__ import annotations

from collections.abc import Callable

from emulator.model.errors import UnknownName
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline
from emulator.policies.queues.placement_queue import PlacementQueue

PLACEMENT_POLICIES: dict[str, Callable[[], PlacementPolicy]] = {"wf": WorstFit}
QUEUE_DISCIPLINES: dict[str, Callable[[float], QueueDiscipline]] = {"placement": PlacementQueue}


def placement_policy(name: str) -> PlacementPolicy:
    """The placement policy called `name`.

    Raises:
        UnknownName: if there is none.
    """
    if name not in PLACEMENT_POLICIES:
        raise UnknownName.among("policy", name, sorted(PLACEMENT_POLICIES))
    return PLACEMENT_POLICIES[name]()


def queue_discipline(name: str, scan_interval_s: float) -> QueueDiscipline:
    """The queue discipline called `name`, scanning every `scan_interval_s` emulated seconds if it scans.

    Raises:
        UnknownName: if there is none.
    """
    if name not in QUEUE_DISCIPLINES:
        raise UnknownName.among("queue", name, sorted(QUEUE_DISCIPLINES))
    return QUEUE_DISCIPLINES[name](scan_interval_s)
