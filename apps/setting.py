"""The setting of a job: where its processes are, and the emulated time, processors and interconnect they run with."""

from __future__ import annotations

import math
from dataclasses import dataclass

from apps.interconnect import SHARED_MEMORY, Interconnect
from apps.pacing import ProcessorProfile
from apps.tree import Pattern
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput
from emulator.model.point_costs import WorkingSet

WIDE_AREA = "wide-area"


@dataclass(frozen=True, slots=True)
class JobSetting:
    """The setting of a job of any application: its components, their clusters, time, processors and interconnect.

    `profile` is None if the processors are the host's own, unpaced. `weight` is the cost of the application's update of
    a point relative to Poisson's, which the profile states. `interconnect` is None if messages inside a cluster are not
    paced. A component fills nodes of its cluster with `per_node` ranks each; a single number holds for all components.
    Collectives follow `pattern`. A message between clusters takes `far_stretch` times as long as the wide area's delay;
    `far_delays_s` holds the delays if that is more than once, for each ordered pair of clusters, as `permutations` has
    them. With `sampled` numerics most iterations do not compute. `shared_nodes` names the node of each rank where tasks
    share nodes in time; empty elsewhere. `clocks_ahead_s` says for each cluster how far the clock there is ahead of the
    one by which a start is stated; empty if none is.

    Raises:
        InvalidInput: if the weight or the ranks of a node are not positive, a delay or the stretch cannot be, there are
            not as many numbers of ranks as components, not as many nodes as ranks or not as many clocks as clusters,
            or unpaced processors are shared or sample their numerics.
    """

    dilation: Dilation
    clusters: int
    components: tuple[int, ...]
    profile: ProcessorProfile | None
    weight: float = 1.0
    interconnect: Interconnect | None = None
    per_node: tuple[int, ...] = (1,)
    pattern: Pattern = "tree"
    far_delays_s: tuple[float, ...] = ()
    far_stretch: float = 1.0
    sampled: bool = False
    shared_nodes: tuple[str, ...] = ()
    clocks_ahead_s: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 < self.weight < math.inf:
            raise InvalidInput(f"--weight must be a positive number of Poisson updates, not {self.weight!r}.")
        if min(self.per_node) < 1:
            raise InvalidInput(f"--per-node must be at least 1, not {min(self.per_node)}.")
        if len(self.per_node) not in (1, len(self.components)):
            raise InvalidInput(
                f"--per-node must be one number or one for each of {len(self.components)} components, not "
                f"{','.join(map(str, self.per_node))!r}."
            )
        self._check_far()
        if self.sampled and self.profile is None:
            raise InvalidInput(
                "--numerics sampled needs paced processors: native ones take the time of their numerics."
            )
        self._check_shared_nodes()
        if len(self.clocks_ahead_s) not in (0, self.clusters) or not all(map(math.isfinite, self.clocks_ahead_s)):
            raise InvalidInput(
                f"--clocks-ahead-s has seconds for each of {self.clusters} clusters, not {list(self.clocks_ahead_s)}."
            )

    def _check_shared_nodes(self) -> None:
        if not self.shared_nodes:
            return
        if self.profile is None:
            raise InvalidInput("--shared-nodes needs paced processors: native ones are shared as the host does it.")
        if len(self.shared_nodes) != sum(self.components):
            raise InvalidInput(
                f"--shared-nodes names the node of each of {sum(self.components)} ranks, not {len(self.shared_nodes)}."
            )

    def _check_far(self) -> None:
        if not 1.0 <= self.far_stretch < math.inf:
            raise InvalidInput(f"--far-stretch must be 1 or more, not {self.far_stretch!r}.")
        if not all(0.0 <= delay_s < math.inf for delay_s in self.far_delays_s):
            raise InvalidInput(f"--far-delays-s must be zero or more seconds each, not {list(self.far_delays_s)}.")
        pairs = self.clusters * (self.clusters - 1)
        if len(self.far_delays_s) != (pairs if self.far_stretch > 1.0 else 0):
            raise InvalidInput(
                f"--far-delays-s states {len(self.far_delays_s)} delays; with --far-stretch there is one for each of "
                f"{pairs} pairs of clusters, without it none."
            )

    def far_delay_s(self, source: int, target: int) -> float:
        """Return the delay of the wide area between two clusters of a stretched job; 0 inside a cluster."""
        if source == target or not self.far_delays_s:
            return 0.0
        return self.far_delays_s[source * (self.clusters - 1) + target - (target > source)]

    def duration_s(self, working_set: WorkingSet, rank: int) -> float:
        """Return the emulated seconds of a sweep over `working_set` by the processor of `rank`; 0 if it is unpaced."""
        if self.profile is None:
            return 0.0
        return self.profile.costs.duration_s(working_set, self.computing_beside(rank)) * self.weight

    def computing_beside(self, rank: int) -> int:
        """Return how many ranks the node of `rank` has: a component fills its nodes one after another."""
        per_node = self.per_node * len(self.components) if len(self.per_node) == 1 else self.per_node
        first = 0
        for size, together in zip(self.components, per_node, strict=True):
            if rank < first + size:
                rest = size % together
                return rest if rank >= first + size - rest else together
            first += size
        return 1

    def cluster_of_ranks(self) -> tuple[int, ...]:
        """Return the cluster of each rank: components fill one cluster after another; any left over share the last."""
        last = self.clusters - 1
        return tuple(min(index, last) for index, size in enumerate(self.components) for _ in range(size))

    def clock_ahead_s(self, rank: int) -> float:
        """Return by how many host seconds the clock of `rank` is ahead of that by which a start is stated."""
        return self.clocks_ahead_s[self.cluster_of_ranks()[rank]] if self.clocks_ahead_s else 0.0

    def nodes_beside(self, rank: int) -> set[str]:
        """Return the shared nodes of all ranks that are in the cluster of `rank`."""
        cluster_of = self.cluster_of_ranks()
        return {
            node for node, cluster in zip(self.shared_nodes, cluster_of, strict=True) if cluster == cluster_of[rank]
        }

    @property
    def interconnects(self) -> str:
        """The names of what carries messages: the interconnect inside clusters, and the wide area between them."""
        inside = SHARED_MEMORY if self.interconnect is None else self.interconnect.name
        return inside if self.clusters == 1 else f"{inside}+{WIDE_AREA}"
