"""Policies and disciplines by the names that the command line and the API know, a researcher's own ones among them.

A name is one of those listed here, a class in a file (``mypolicy.py:Mine``), or an entry point that an installed
package declares in the group `ENTRY_POINTS`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.scanning import Scanning
from emulator.policies.placement.by_kind import ByKind
from emulator.policies.placement.close_to_files import CloseToFiles
from emulator.policies.placement.cluster_minimization import ClusterMinimization
from emulator.policies.placement.flexible_cluster_minimization import FlexibleClusterMinimization
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.placement.worst_fit_distinct import WorstFitDistinct
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline
from emulator.policies.queues.gp import GlobalPriority
from emulator.policies.queues.gs import GlobalScheduler
from emulator.policies.queues.lp_gf import LocalPriorityGlobalFirst
from emulator.policies.queues.lp_lf import LocalPriorityLocalFirst
from emulator.policies.queues.lp_rd import LocalPriorityRandom
from emulator.policies.queues.ls_do import LocalSchedulersDisabled
from emulator.policies.queues.ls_or import LocalSchedulersOrdered
from emulator.policies.queues.ls_rd import LocalSchedulersRandom
from emulator.policies.queues.ls_ro import LocalSchedulersReleased
from emulator.policies.queues.placement_queue import PlacementQueue
from emulator.policies.queues.sc import SingleCluster

ENTRY_POINTS = "multicluster_testbed.policies"

PLACEMENT_POLICIES: dict[str, Callable[[], PlacementPolicy]] = {
    "wf": WorstFit,
    "wf-distinct": WorstFitDistinct,
    "cm": ClusterMinimization,
    "fcm": FlexibleClusterMinimization,
    "cf": CloseToFiles,
    "by-kind": ByKind,
}


def _scanned(scanning: Scanning, *, adaptive: bool) -> PlacementQueue:
    return PlacementQueue(scanning.interval_s, scanning.tries_threshold, adaptive, scanning.at_departures)


QUEUE_DISCIPLINES: dict[str, Callable[[Scanning], QueueDiscipline]] = {
    "placement": lambda scanning: _scanned(scanning, adaptive=scanning.adaptive),
    "placement-adaptive": lambda scanning: _scanned(scanning, adaptive=True),
    "gs": lambda scanning: GlobalScheduler(),
    "ls-or": lambda scanning: LocalSchedulersOrdered(),
    "ls-rd": lambda scanning: LocalSchedulersRandom(),
    "ls-ro": lambda scanning: LocalSchedulersReleased(),
    "ls-do": lambda scanning: LocalSchedulersDisabled(),
    "gp": lambda scanning: GlobalPriority(),
    "lp-lf": lambda scanning: LocalPriorityLocalFirst(),
    "lp-gf": lambda scanning: LocalPriorityGlobalFirst(),
    "lp-rd": lambda scanning: LocalPriorityRandom(),
    "sc": lambda scanning: SingleCluster(),
}

SCANNING_DISCIPLINES = frozenset({"placement", "placement-adaptive"})
"""Those whose queue is scanned; all others decide at arrivals and departures only."""

DEFAULT_POLICY = {"placement": "wf", "placement-adaptive": "wf"}
"""The placement policy that goes with a discipline unless another is named; `wf-distinct` with all others."""


def default_policy(discipline: str) -> str:
    """The name of the placement policy that goes with the discipline called `discipline`."""
    return DEFAULT_POLICY.get(discipline, "wf-distinct")


def placement_policy(name: str) -> PlacementPolicy:
    """The placement policy called `name`, or the one made by the class that `name` points to in a file.

    Raises:
        UnknownName: if there is none.
        InvalidInput: if a file cannot be loaded, or its class is no placement policy.
    """
    if name in PLACEMENT_POLICIES:
        return PLACEMENT_POLICIES[name]()
    policy: PlacementPolicy | None = _own(name, "place", "accepts")
    if policy is None:
        raise UnknownName.among("policy", name, sorted(PLACEMENT_POLICIES))
    return policy


def queue_discipline(name: str, scanning: Scanning) -> QueueDiscipline:
    """The queue discipline called `name`, which scans as `scanning` says if it scans.

    Raises:
        UnknownName: if there is none.
        InvalidInput: if a file cannot be loaded, or its class is no queue discipline.
    """
    if name in QUEUE_DISCIPLINES:
        return QUEUE_DISCIPLINES[name](scanning)
    discipline: QueueDiscipline | None = _own(name, "decide", "next_scan_s", "waiting", "snapshot", "restore")
    if discipline is None:
        raise UnknownName.among("queue", name, sorted(QUEUE_DISCIPLINES))
    return discipline


def _own(name: str, *needed: str) -> Any:
    path, colon, class_name = name.rpartition(":")
    if colon and path.endswith(".py"):
        found = getattr(_module_at(Path(path)), class_name, None)
        if found is None:
            raise InvalidInput(f"{path}: there is no class {class_name!r} in this file.")
    else:
        points = [point for point in entry_points(group=ENTRY_POINTS) if point.name == name]
        if not points:
            return None
        found = points[0].load()
    return _made(name, found, needed)


def _module_at(path: Path) -> Any:
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or specification is None or specification.loader is None:
        raise InvalidInput(f"There is no policy file {str(path)!r}.")
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise InvalidInput(f"{path}: the file cannot be loaded: {type(error).__name__}: {error}") from error
    return module


def _made(name: str, maker: Any, needed: tuple[str, ...]) -> Any:
    try:
        made = maker()
    except Exception as error:
        raise InvalidInput(f"{name} cannot be made without arguments: {type(error).__name__}: {error}") from error
    missing = [attribute for attribute in needed if not hasattr(made, attribute)]
    if missing:
        raise InvalidInput(f"{name} lacks {', '.join(missing)}, so it cannot be used here.")
    return made
