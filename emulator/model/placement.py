"""Where a job went: component sizes mapped to clusters.

These are the smallest values that policies hand out, made a few times for every job of a simulation, so their
constructors are written out: a compiler turns them into plain assignments. Nobody changes one once it is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from emulator.model.compilation import mypyc_attr


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class Component:
    """The part of a job on one cluster: `processors` of the cluster with index `cluster`.

    `nodes` names the node of each processor where a policy chooses nodes too; empty leaves them to the local manager.
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

    `file_sites` holds the cluster index of the replica each component reads (empty if the job has no file) and
    `transfer_s` the longest estimated transfer, FTT in the Close-to-Files paper. `learned` holds the pairs (cluster,
    file site) that the placement adds to that paper's history table.
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

    def by_cluster(self) -> dict[int, int]:
        """Processors taken per cluster index, all components of the job together."""
        taken: dict[int, int] = {}
        for component in self.components:
            taken[component.cluster] = taken.get(component.cluster, 0) + component.processors
        return taken

    def clusters(self) -> list[int]:
        """The clusters combined, in the order in which the components first name them."""
        clusters: list[int] = []
        for component in self.components:
            if component.cluster not in clusters:
                clusters.append(component.cluster)
        return clusters
