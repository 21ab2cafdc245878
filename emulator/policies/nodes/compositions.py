"""Compositions by name: a node selection, a job selection and an order, three parts that are chosen independently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from emulator.model.errors import UnknownName
from emulator.policies.nodes.job_queue import ORDERS, NodeQueue
from emulator.policies.nodes.job_selection import Backfill, BestFit, JobSelection, JustFirst
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.nodes.selection import NormalNodes, UniformNodes
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline

NODE_SELECTIONS: Final[dict[str, Callable[[NodeLimits], PlacementPolicy]]] = {
    "normal": NormalNodes,
    "uniform-light": lambda limits: UniformNodes(limits, hard=False),
    "uniform-hard": lambda limits: UniformNodes(limits, hard=True),
}

JOB_SELECTIONS: Final[dict[str, Callable[[], JobSelection]]] = {
    "just-first": JustFirst,
    "best-fit": BestFit,
    "backfill": Backfill,
}

SHARED: Final = 4
"""The most parallel jobs on a node in the paper."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A node selection, a job selection and an order by name, and the most jobs that may share a node.

    Raises:
        UnknownName: if there is no such part.
    """

    name: str
    nodes: str
    jobs: str
    most_jobs: int
    order: str = "fcfs"

    def __post_init__(self) -> None:
        for kind, named, known in (
            ("node selection", self.nodes, NODE_SELECTIONS),
            ("job selection", self.jobs, JOB_SELECTIONS),
            ("job order", self.order, ORDERS),
        ):
            if named not in known:
                raise UnknownName.among(kind, named, list(known))

    @property
    def needs_estimates(self) -> bool:
        """Whether every job must come with the user's estimate."""
        return self.order != "fcfs" or JOB_SELECTIONS[self.jobs]().needs_estimates

    def policy(self, limits: NodeLimits) -> PlacementPolicy:
        """Return the node selection, within `limits` and with this composition's multiprogramming level."""
        return NODE_SELECTIONS[self.nodes](replace(limits, most_jobs=self.most_jobs))

    def discipline(self) -> QueueDiscipline:
        """Return the job selection in its order, as a discipline that has no jobs yet."""
        return NodeQueue(self.order, JOB_SELECTIONS[self.jobs]())


COMPOSITIONS: Final = {
    composition.name: composition
    for composition in (
        Composition("basic", "normal", "just-first", 1),
        Composition("normal", "normal", "just-first", SHARED),
        Composition("uniform-light", "uniform-light", "just-first", SHARED),
        Composition("uniform-hard", "uniform-hard", "just-first", SHARED),
        Composition("2dbf", "normal", "backfill", 1),
        Composition("3dbf-light", "uniform-light", "backfill", SHARED),
        Composition("3dbf-hard", "uniform-hard", "backfill", SHARED),
    )
}


def composition_named(name: str) -> Composition:
    """Return the composition of that name: one of the paper's, or NODES+JOBS+ORDER, as ``normal+best-fit+sjf``.

    Raises:
        UnknownName: if there is none.
    """
    lower = name.lower()
    if lower in COMPOSITIONS:
        return COMPOSITIONS[lower]
    parts = lower.split("+")
    if len(parts) == 3:
        return Composition(lower, parts[0], parts[1], SHARED, parts[2])
    raise UnknownName.among("composition", name, [*COMPOSITIONS, "NODES+JOBS+ORDER"])
