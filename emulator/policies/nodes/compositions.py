"""Compositions by name: a node selection, a job selection and an order, three parts that are chosen independently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from emulator.model.errors import InvalidInput, UnknownName
from emulator.policies.names import custom_file, plain_name
from emulator.policies.nodes.job_queue import ORDERS, NodeQueue
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline
from emulator.policies.registry import JOB_SELECTIONS, NODE_SELECTIONS, placement_policy
from emulator.policies.traits import traits_of_placement

SHARED: Final = 4
"""The most parallel jobs on a node in the paper."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A node selection, a job selection and an order by name, and the most jobs that may share a node.

    The node selection may be a researcher's own class, as ``FILE.py:Class``. `sources` holds the text of its file by
    the name of the file; without it the file itself is read.

    Raises:
        UnknownName: if there is no such part.
    """

    name: str
    nodes: str
    jobs: str
    most_jobs: int
    order: str = "fcfs"
    sources: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for kind, named, known in (
            ("node selection", self.nodes, NODE_SELECTIONS),
            ("job selection", self.jobs, JOB_SELECTIONS),
            ("job order", self.order, ORDERS),
        ):
            is_own = kind == "node selection" and self.has_own_nodes
            if named not in known and not is_own:
                raise UnknownName.among(kind, named, list(known))

    @property
    def has_own_nodes(self) -> bool:
        """Whether the node selection is a researcher's own class."""
        return custom_file(self.nodes) is not None

    @property
    def needs_estimates(self) -> bool:
        """Whether every job must come with the user's estimate."""
        return self.order != "fcfs" or JOB_SELECTIONS[self.jobs]().needs_estimates

    @property
    def live_names(self) -> tuple[str, str]:
        """The placement policy and the queue discipline by which a live run has this composition.

        Raises:
            InvalidInput: if it has another order than FCFS, which has no name there.
        """
        if self.order != "fcfs":
            raise InvalidInput(f"composition {self.name!r}: live jobs start in the order fcfs, not {self.order}.")
        alone = self.most_jobs == 1 and self.nodes == "normal"
        return "normal-alone" if alone else self.nodes, self.jobs

    def policy(self, limits: NodeLimits) -> PlacementPolicy:
        """Return the node selection, within `limits` and with this composition's multiprogramming level.

        A researcher's own keeps the limits that the nodes of the state have (`emulator.policies.nodes.stated.within`).

        Raises:
            InvalidInput: if it is a researcher's own that cannot be loaded, does not choose nodes, or wants what it
                does not get here.
        """
        found = placement_policy(self.nodes, self.sources, self.limits(limits))
        traits = traits_of_placement(found)
        if not traits.chooses_nodes:
            raise InvalidInput(f"{self.nodes}: is no node selection, because it lacks chooses_nodes = True.")
        if self.has_own_nodes and traits.needs_running_jobs:
            raise InvalidInput(
                f"{self.nodes}: needs_running_jobs: `testbed share` shows a node selection nodes and tasks, not the "
                "running jobs; read these, or run it live."
            )
        if self.has_own_nodes and limits.most_processor_share is not None:
            raise InvalidInput(
                f"most-processor-share: {self.nodes} chooses nodes by rules of its own; state the limit there."
            )
        return found

    def limits(self, limits: NodeLimits) -> NodeLimits:
        """Return `limits` with this composition's multiprogramming level."""
        return replace(limits, most_jobs=self.most_jobs)

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


def is_composition(name: str) -> bool:
    """Return whether `name` is that of a composition of the paper, or spells one as NODES+JOBS+ORDER."""
    return name.lower() in COMPOSITIONS or len(_parts(name)) == 3


def _parts(name: str) -> list[str]:
    """Return the parts that are joined by +, of which the folder of a researcher's own file may have some, too."""
    return name.rsplit("+", 2) if "+" in name.rpartition("/")[2] else [name]


def composition_named(name: str) -> Composition:
    """Return the composition of that name: one of the paper's, or NODES+JOBS+ORDER, as ``normal+best-fit+sjf``.

    NODES may be a researcher's own class, as in ``mypolicy.py:Mine+backfill+fcfs``.

    Raises:
        UnknownName: if there is none.
    """
    lower = name.lower()
    if lower in COMPOSITIONS:
        return COMPOSITIONS[lower]
    parts = _parts(name)
    if len(parts) == 3:
        nodes = parts[0] if custom_file(parts[0]) is not None else parts[0].lower()
        jobs, order = parts[1].lower(), parts[2].lower()
        return Composition(f"{plain_name(nodes)}+{jobs}+{order}", nodes, jobs, SHARED, order)
    raise UnknownName.among("composition", name, [*COMPOSITIONS, "NODES+JOBS+ORDER"])
