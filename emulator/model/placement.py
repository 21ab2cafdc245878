"""Placements: component sizes mapped to clusters.

A simulation makes a few of these values for every job. Their constructors are therefore written out, so that a compiler
turns them into plain assignments. Treat the values as immutable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from emulator.model.compilation import mypyc_attr
from emulator.model.node_names import node_name


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class Component:
    """The part of a job on one cluster: `processors` of the cluster with index `cluster`.

    `nodes` names the node of each processor if the policy chooses nodes; if empty, the local manager chooses them.
    """

    cluster: int
    processors: int
    nodes: tuple[int, ...]

    def __init__(self, cluster: int, processors: int, nodes: tuple[int, ...] = ()) -> None:
        self.cluster = cluster
        self.processors = processors
        self.nodes = nodes


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class Placement:
    """Component sizes mapped to clusters, in the order of the request's components.

    `file_sites` holds the cluster index of the replica that each component reads; it is empty if the job has no file.
    `transfer_s` is the longest estimated transfer time (FTT in the Close-to-Files paper). `learned` holds the pairs
    (cluster, file site) that the placement adds to that paper's history table; a researcher's own policy may add other
    pairs of whole numbers, and finds them in the history of every later state.
    """

    components: tuple[Component, ...]
    file_sites: tuple[int, ...]
    transfer_s: float
    learned: frozenset[tuple[int, int]]

    def __init__(
        self,
        components: tuple[Component, ...],
        file_sites: tuple[int, ...] = (),
        transfer_s: float = 0.0,
        learned: frozenset[tuple[int, int]] = frozenset(),
    ) -> None:
        self.components = components
        self.file_sites = file_sites
        self.transfer_s = transfer_s
        self.learned = learned

    @property
    def processors(self) -> int:
        """All processors that it takes."""
        return sum([component.processors for component in self.components])

    def by_cluster(self) -> dict[int, int]:
        """Return the processors taken per cluster index, summed over the components."""
        taken: dict[int, int] = {}
        for component in self.components:
            taken[component.cluster] = taken.get(component.cluster, 0) + component.processors
        return taken

    def nodes_in(self, cluster: int) -> list[str]:
        """Return the names of the nodes that the policy chose in a cluster, as its Slurm has them; empty if none."""
        return [
            node_name(node) for component in self.components if component.cluster == cluster for node in component.nodes
        ]

    def clusters(self) -> list[int]:
        """Return the distinct clusters, in the order in which the components first name them."""
        clusters: list[int] = []
        for component in self.components:
            if component.cluster not in clusters:
                clusters.append(component.cluster)
        return clusters
