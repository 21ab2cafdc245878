"""Policies and disciplines by the names used on the command line and in the API, including a researcher's own.

A name is one of those listed here (capital letters do not count), a class in a file (``mypolicy.py:Mine``), or an
entry point that an installed package declares. If `sources` are given, files are looked up by name in `sources` only.
The broker and replay therefore load the code that a run's request contains, never a file on their own disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from emulator.model.errors import InvalidInput
from emulator.model.scheduling import DEFAULT_ADAPTIVE_SCAN_INTERVAL_S, Scanning
from emulator.policies.custom import CustomDiscipline, CustomPolicy
from emulator.policies.custom_code import RAISED, module_of, said, source_at
from emulator.policies.names import (
    check_policy_name,
    check_queue_name,
    custom_file,
    entry_points_called,
    policy_name,
    queue_name,
)
from emulator.policies.nodes.job_queue import NodeQueue
from emulator.policies.nodes.job_selection import Backfill, BestFit, JobSelection, JustFirst
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.nodes.selection import NormalNodes, UniformNodes
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
from emulator.policies.traits import traits_of_placement, traits_of_queue

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

NODE_SELECTIONS: dict[str, Callable[[NodeLimits], PlacementPolicy]] = {
    "normal": NormalNodes,
    "normal-alone": lambda limits: NormalNodes(replace(limits, most_jobs=1)),
    "uniform-light": lambda limits: UniformNodes(limits, hard=False),
    "uniform-hard": lambda limits: UniformNodes(limits, hard=True),
}

JOB_SELECTIONS: dict[str, Callable[[], JobSelection]] = {
    "just-first": JustFirst,
    "best-fit": BestFit,
    "backfill": Backfill,
}

SCANNING_DISCIPLINES = frozenset({"placement", "placement-adaptive"})
"""The disciplines that scan their queue; all others decide at arrivals and departures only."""

DEFAULT_POLICY = {"placement": "wf", "placement-adaptive": "wf", **dict.fromkeys(JOB_SELECTIONS, "normal")}
"""The default placement policy by discipline; the default of all other disciplines is `wf-distinct`."""

_OF_COMPILED = "cannot inherit from compiled"
"""What Python says where a class made at run time extends a compiled one."""


def default_policy(discipline: str) -> str:
    """Return the name of the default placement policy of the discipline named `discipline`."""
    return DEFAULT_POLICY.get(queue_name(discipline), "wf-distinct")


def placement_policy(
    name: str, sources: Mapping[str, str] | None = None, limits: NodeLimits | None = None
) -> PlacementPolicy:
    """Return the placement policy named `name`, which may be a class in a file or an entry point.

    A policy that chooses nodes keeps `limits`.

    Raises:
        UnknownName: if there is no such policy.
        InvalidInput: if a file or an entry point cannot be loaded, or its class is not a placement policy.
    """
    make = PLACEMENT_POLICIES.get(policy_name(name))
    if make is not None:
        return make()
    chooses = NODE_SELECTIONS.get(policy_name(name))
    if chooses is not None:
        return chooses(limits or NodeLimits())
    check_policy_name(name)
    return CustomPolicy(name, _custom(name, sources, "place", "accepts"))


def chooses_nodes(policy: str, sources: Mapping[str, str] | None = None) -> bool:
    """Return whether the placement policy named `policy` chooses the nodes of a job.

    A researcher's own class is loaded to learn it, which the broker does only in a process of its own.

    Raises:
        UnknownName, InvalidInput: as `placement_policy`.
    """
    return traits_of_placement(placement_policy(policy, sources)).chooses_nodes


def default_scanning(discipline: str) -> Scanning:
    """Return how the discipline named `discipline` is scanned where nothing states it: as in the paper that has it."""
    is_adaptive = queue_name(discipline) == "placement-adaptive"
    return Scanning(DEFAULT_ADAPTIVE_SCAN_INTERVAL_S) if is_adaptive else Scanning()


def queue_discipline(name: str, scanning: Scanning, sources: Mapping[str, str] | None = None) -> QueueDiscipline:
    """Return the queue discipline named `name`; `scanning` holds the options of disciplines that scan.

    Raises:
        UnknownName: if there is no such discipline.
        InvalidInput: if a file or an entry point cannot be loaded, or its class is not a queue discipline.
    """
    make = QUEUE_DISCIPLINES.get(queue_name(name))
    if make is not None:
        return make(scanning)
    selection = JOB_SELECTIONS.get(queue_name(name))
    if selection is not None:
        return NodeQueue("fcfs", selection())
    check_queue_name(name)
    return CustomDiscipline(name, _custom(name, sources, "decide", "next_scan_s", "waiting", "snapshot", "restore"))


def _custom(name: str, sources: Mapping[str, str] | None, *needed: str) -> Any:
    file, class_name = custom_file(name), name.rpartition(":")[2]
    if file is not None:
        found = getattr(module_of(file, _source(file, sources)), class_name, None)
        if found is None:
            raise InvalidInput(f"{file}: there is no class {class_name!r} in this file.")
    else:
        found = _loaded(entry_points_called(name)[0])
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
    _check_extends_nothing(name, maker)
    try:
        made = maker()
    except RAISED as error:
        if _OF_COMPILED in str(error):
            raise _extends(name, "a class") from error
        why = said(error, custom_file(name) or "")
        raise InvalidInput(f"{name} cannot be made without arguments: {why}.") from error
    _check_extends_nothing(name, type(made))
    missing = [attribute for attribute in needed if not hasattr(made, attribute)]
    if missing:
        raise InvalidInput(f"{name} lacks {', '.join(missing)}, so it cannot be used here.")
    return made


def _check_extends_nothing(name: str, maker: Any) -> None:
    """Check that a researcher's own class extends none of the testbed's.

    Simulations compile these, and an interpreted class cannot extend a compiled one. It is refused where nothing is
    compiled, too, so that a class works live and simulated, or in neither.

    Raises:
        InvalidInput: if it does.
    """
    if not isinstance(maker, type) or _is_shipped(maker):
        return
    shipped = next((base for base in maker.__mro__ if _is_shipped(base)), None)
    if shipped is not None:
        raise _extends(name, shipped.__name__)


def _extends(name: str, shipped: str) -> InvalidInput:
    return InvalidInput(
        f"{name} extends {shipped} of the testbed, whose classes simulations compile: leave this base class out, and "
        "hold an object of it to call, or copy its source into the file."
    )


def _is_shipped(kind: type) -> bool:
    return kind.__module__.startswith("emulator.")


def places_singles_at_home(queue: str, sources: Mapping[str, str] | None = None) -> bool:
    """Return whether a discipline places single-component jobs in the cluster of their queue, without a policy.

    Raises:
        UnknownName, InvalidInput: as `queue_discipline`.
    """
    return traits_of_queue(queue_discipline(queue, Scanning(), sources)).places_singles_at_home
