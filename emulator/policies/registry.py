"""Policies and disciplines by the names used on the command line and in the API, including a researcher's own.

A name is one of those listed here (capital letters do not count), a class in a file (``mypolicy.py:Mine``), or an
entry point that an installed package declares in the group `ENTRY_POINTS`. If `sources` are given, files are looked up
by name in `sources` only. The broker and replay therefore load the code that a run's request contains, never a file on
their own disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.scheduling import Scanning
from emulator.policies.custom import CustomDiscipline, CustomPolicy
from emulator.policies.custom_code import RAISED, module_of, said, source_at
from emulator.policies.names import policy_name, queue_name
from emulator.policies.placement.by_kind import ByKind
from emulator.policies.placement.close_to_files import CloseToFiles
from emulator.policies.placement.cluster_minimization import ClusterMinimization
from emulator.policies.placement.flexible_cluster_minimization import FlexibleClusterMinimization
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.placement.worst_fit_distinct import WorstFitDistinct
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline
from emulator.policies.queues.backfilling import ConservativeBackfilling, EasyBackfilling
from emulator.policies.queues.by_estimate import LongestJobFirst, ShortestJobFirst
from emulator.policies.queues.global_priority import GlobalPriority
from emulator.policies.queues.global_scheduler import GlobalScheduler, SingleCluster
from emulator.policies.queues.local_priority import (
    LocalPriorityGlobalFirst,
    LocalPriorityLocalFirst,
    LocalPriorityRandom,
)
from emulator.policies.queues.local_schedulers import (
    LocalSchedulersDisabled,
    LocalSchedulersOrdered,
    LocalSchedulersRandom,
    LocalSchedulersReleased,
)
from emulator.policies.queues.placement_queue import PlacementQueue

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
    "fcfs": lambda scanning: GlobalScheduler(),
    "sjf": lambda scanning: ShortestJobFirst(),
    "ljf": lambda scanning: LongestJobFirst(),
    "easy": lambda scanning: EasyBackfilling(),
    "conservative": lambda scanning: ConservativeBackfilling(),
    "sc": lambda scanning: SingleCluster(),
}

SCANNING_DISCIPLINES = frozenset({"placement", "placement-adaptive"})
"""The disciplines that scan their queue; all others decide at arrivals and departures only."""

DEFAULT_POLICY = {"placement": "wf", "placement-adaptive": "wf"}
"""The default placement policy by discipline; the default of all other disciplines is `wf-distinct`."""


def default_policy(discipline: str) -> str:
    """Return the name of the default placement policy of the discipline named `discipline`."""
    return DEFAULT_POLICY.get(queue_name(discipline), "wf-distinct")


def custom_file(name: str) -> str | None:
    """Return the file part of `name` (``mypolicy.py`` of ``mypolicy.py:Mine``), or None if it names no file."""
    path, colon, _ = name.rpartition(":")
    return path if colon and path.endswith(".py") else None


def is_entry_point(name: str) -> bool:
    """Return whether a package that is installed here declares a policy or discipline called `name`."""
    return any(point.name == name for point in entry_points(group=ENTRY_POINTS))


def placement_policy(name: str, sources: Mapping[str, str] | None = None) -> PlacementPolicy:
    """Return the placement policy named `name`, which may be a class in a file or an entry point.

    Raises:
        UnknownName: if there is no such policy.
        InvalidInput: if a file or an entry point cannot be loaded, or its class is not a placement policy.
    """
    make = PLACEMENT_POLICIES.get(policy_name(name))
    if make is not None:
        return make()
    policy = _custom(name, sources, "place", "accepts")
    if policy is None:
        raise UnknownName.among("policy", name, sorted(PLACEMENT_POLICIES))
    return CustomPolicy(name, policy)


def queue_discipline(name: str, scanning: Scanning, sources: Mapping[str, str] | None = None) -> QueueDiscipline:
    """Return the queue discipline named `name`; `scanning` holds the options of disciplines that scan.

    Raises:
        UnknownName: if there is no such discipline.
        InvalidInput: if a file or an entry point cannot be loaded, or its class is not a queue discipline.
    """
    make = QUEUE_DISCIPLINES.get(queue_name(name))
    if make is not None:
        return make(scanning)
    discipline = _custom(name, sources, "decide", "next_scan_s", "waiting", "snapshot", "restore")
    if discipline is None:
        raise UnknownName.among("queue", name, sorted(QUEUE_DISCIPLINES))
    return CustomDiscipline(name, discipline)


def _custom(name: str, sources: Mapping[str, str] | None, *needed: str) -> Any:
    file, class_name = custom_file(name), name.rpartition(":")[2]
    if file is not None:
        found = getattr(module_of(file, _source(file, sources)), class_name, None)
        if found is None:
            raise InvalidInput(f"{file}: there is no class {class_name!r} in this file.")
    else:
        points = [point for point in entry_points(group=ENTRY_POINTS) if point.name == name]
        if not points:
            return None
        found = _loaded(points[0])
    return _made(name, found, needed)


def _loaded(point: EntryPoint) -> Any:
    """Return what the entry point names.

    Raises:
        InvalidInput: if its module cannot be imported, or holds nothing of that name.
    """
    try:
        return point.load()
    except RAISED as error:
        package = f" of package {point.dist.name!r}" if point.dist else ""
        raise InvalidInput(
            f"Entry point {point.name!r}{package} ({point.value}) cannot be loaded: {said(error, '')}; install that "
            "package again or mend it."
        ) from error


def _source(file: str, sources: Mapping[str, str] | None) -> str:
    if sources is None:
        return source_at(Path(file))
    if file not in sources:
        raise InvalidInput(f"There is no policy file {file!r} among the sources that came with the request.")
    return sources[file]


def _made(name: str, maker: Any, needed: tuple[str, ...]) -> Any:
    try:
        made = maker()
    except RAISED as error:
        why = said(error, custom_file(name) or "")
        raise InvalidInput(f"{name} cannot be made without arguments: {why}.") from error
    missing = [attribute for attribute in needed if not hasattr(made, attribute)]
    if missing:
        raise InvalidInput(f"{name} lacks {', '.join(missing)}, so it cannot be used here.")
    return made
