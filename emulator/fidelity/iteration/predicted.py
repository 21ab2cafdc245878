"""The iteration of an application's job on a topology: what it takes by the model, and what its parts take.

The form of an iteration comes from the application's descriptor. Its messages are followed one by one through the
ranks' timestamps, so that waiting shows where it arises: behind an access link, at the root of a tree, at a slower
neighbour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from apps.descriptor import Arguments, IterationForm, StatedWork
from apps.grid import Block, MasterAndWorkers, Neighbours, ProcessGrid, block_of
from apps.registry import application_named
from apps.tree import Pattern, TreePlace, place_in_tree
from emulator.fidelity.iteration.ranks import Carry, MessageCosts, Ranks, Sent
from emulator.fidelity.iteration.wide_area import WideArea
from emulator.model.interconnects import WhichInterconnect
from emulator.model.point_costs import PointCosts, WorkingSet
from emulator.model.topology import Topology
from emulator.model.units import BYTES_PER_POINT

REDUCED_BYTES: Final = 32
"""What a reduction's message carries: the value, and what of the emulation travels with it."""

_FOLLOWED: Final = 4
"""Iterations that are followed at most from one meeting to the next; further ones are like them."""
_CYCLES: Final = 2
"""From one meeting to the next, after a first one: then all are alike."""
_STEPS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "steps": (("top",), ("bottom",), ("left",), ("right",)),
    "overlapped": (("top", "bottom", "left", "right"),),
}

Part = tuple[str, int]
"""A cluster and how many of the job's ranks are in it."""


@dataclass(frozen=True, slots=True)
class ModelJob:
    """A job as the model takes it: an application's problem, and the clusters and sizes of its parts in rank order.

    `which` is the interconnect inside clusters (None: by the number of clusters). `processors_per_node` is how many
    processors of each node it gets (None: as the topology says).
    """

    application: str
    grid: int
    parts: tuple[Part, ...]
    which: WhichInterconnect | None = None
    processors_per_node: int | None = None
    arguments: Arguments = field(default_factory=dict)
    processor_speed: float = 1.0

    @property
    def processors(self) -> int:
        """All ranks of the job."""
        return sum(size for _, size in self.parts)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The job's clusters, in the order of its parts."""
        return tuple(dict.fromkeys(name for name, _ in self.parts))


@dataclass(frozen=True, slots=True)
class Predicted:
    """Emulated seconds of an iteration, and of its parts: the busiest rank's computation, borders, and meetings.

    A part is counted from where the last rank ended the part before to where the last rank ends this one.
    """

    iteration_s: float
    compute_s: float
    border_exchange_s: float
    meeting_s: float

    @property
    def computing_share(self) -> float:
        """The share of an iteration that is computing."""
        return min(1.0, self.compute_s / self.iteration_s) if self.iteration_s > 0 else 0.0


def predicted(topology: Topology, job: ModelJob) -> Predicted:
    """Predict an iteration of `job` on `topology`; unpaced processors are taken to compute in no time.

    Raises:
        UnknownName: if there is no such application or cluster.
        InvalidInput: if the grid cannot be divided so, or the links of a cluster are unknown.
    """
    following = Following(topology, job)
    phases, meeting_phases = following.form.phases, following.meeting_phases
    meets_every = _FOLLOWED if meeting_phases is None else max(1, meeting_phases // phases)
    followed = min(meets_every, _FOLLOWED)
    following.iterate(followed)
    following.meet()
    following.borders_s = following.meetings_s = 0.0
    begin_s = max(following.ranks.timestamps_s)
    for _ in range(_CYCLES):
        following.iterate(followed)
        following.meet()
    alone_s = (max(following.ranks.timestamps_s) - begin_s - following.meetings_s) / (_CYCLES * followed)
    meeting_s = following.meetings_s / (_CYCLES * meets_every)
    borders_s = following.borders_s / (_CYCLES * followed)
    return Predicted(alone_s + meeting_s, max(following.compute_s), borders_s, meeting_s)


class Following:
    """The ranks of a job, followed through its iterations.

    They meet after `meeting_phases` phases each (None: never). `borders_s` and `meetings_s` are the times that borders
    and meetings have taken so far.
    """

    def __init__(self, topology: Topology, job: ModelJob) -> None:
        self.form: IterationForm = application_named(job.application).form
        self.meeting_phases = self.form.phases_to_meeting(job.arguments)
        self.borders_s = self.meetings_s = 0.0
        self._grid, self._arguments = job.grid, job.arguments
        topology = topology.among(job.processors)
        names = job.clusters
        index = {name: at for at, name in enumerate(names)}
        cluster_of = tuple(index[name] for name, size in job.parts for _ in range(size))
        costs = MessageCosts.of(topology.interconnects.of(len(names), job.which))
        self.ranks = Ranks(cluster_of, costs, WideArea(topology, names))
        self.compute_s = computed_s(topology, job)
        self._steps = [] if self.form.division == "none" else _border_steps(job, self.form)
        self._up, self._down = _meeting_rounds(cluster_of, topology.collectives.pattern)

    def iterate(self, iterations: int) -> None:
        """Follow that many iterations, without a meeting."""
        for _ in range(iterations * self.form.phases):
            self.compute()
            self.exchange_borders()

    def compute(self) -> None:
        """Follow the computation of a phase."""
        self.ranks.compute([own_s / self.form.phases for own_s in self.compute_s])

    def exchange_borders(self, carry: Carry | None = None) -> None:
        """Follow the border exchange of a phase; `carry` is that of `Ranks.exchange`."""
        begin_s = max(self.ranks.timestamps_s)
        for sends in self._steps:
            self.ranks.exchange(sends, carry)
        self.borders_s += max(self.ranks.timestamps_s) - begin_s

    def meet(self) -> None:
        """Follow a meeting, if the application has any."""
        if self.meeting_phases is None:
            return
        begin_s = max(self.ranks.timestamps_s)
        if self.form.all_to_all_bytes is not None:
            total_bytes = self.form.all_to_all_bytes(self._grid, self._arguments)
            for _ in range(2):
                self.ranks.all_to_all(total_bytes)
        for sends in (*self._up, *self._down):
            self.ranks.exchange(sends)
        self.meetings_s += max(self.ranks.timestamps_s) - begin_s


def computed_s(topology: Topology, job: ModelJob) -> list[float]:
    """Return the seconds that each rank computes in an iteration, which depend on the other ranks of its node."""
    descriptor = application_named(job.application)
    costs, work = topology.processor.costs, descriptor.work
    if costs is None:
        return [0.0] * job.processors
    if isinstance(work, StatedWork):
        return [_stated_s(costs, work, job, beside) for beside in _computing_beside(topology, job)]
    weight = topology.processor.weight(job.application) / job.processor_speed
    touched = descriptor.form.arrays * BYTES_PER_POINT
    computing = _computing_beside(topology, job)
    share = work.largest_share(job.grid, job.processors, job.arguments)
    if descriptor.form.division == "none":
        working_set = WorkingSet(share.points, touched, share.row_points)
        return [share.sweeps * costs.duration_s(working_set, beside) * weight for beside in computing]
    blocks, _ = divided_grid(job, descriptor.form)
    return [
        0.0 if block is None else costs.duration_s(WorkingSet(block.points, touched, block.columns), beside) * weight
        for block, beside in zip(blocks, computing, strict=True)
    ]


def _stated_s(costs: PointCosts, work: StatedWork, job: ModelJob, beside: int) -> float:
    points, stated_s = job.arguments.get(work.points, 1), job.arguments.get(work.duration_s)
    if isinstance(stated_s, int | float):
        return float(stated_s)
    return costs.duration_s(WorkingSet(int(points)), beside) / job.processor_speed


def _computing_beside(topology: Topology, job: ModelJob) -> list[int]:
    """Return for each rank how many ranks of the job its node has: nodes are filled one after another."""
    beside: list[int] = []
    for name, size in job.parts:
        of_node = topology.cluster(name).processors_per_node
        per_node = job.processors_per_node or topology.whole_nodes.per_node(
            job.processors, len(job.clusters), job.which, of_node
        )
        together = min(per_node, of_node)
        rest = size % together
        beside += [together] * (size - rest) + [rest] * rest
    return beside


def divided_grid(job: ModelJob, form: IterationForm) -> tuple[list[Block | None], dict[int, Neighbours]]:
    """Return the block of each rank, None for one without points, and the neighbours of each rank that has points.

    Raises:
        InvalidInput: if the grid cannot be divided so.
    """
    ranks = range(job.processors)
    if form.division == "rows":
        division = MasterAndWorkers(job.processors)
        blocks = [division.block_of(rank, job.grid) for rank in ranks]
        return blocks, {rank: division.neighbours(rank) for rank in division.worker_ranks}
    process_grid = ProcessGrid.of_processes(job.processors)
    blocks = [block_of(rank, job.grid, process_grid) for rank in ranks]
    return blocks, {rank: process_grid.neighbours(rank) for rank in ranks}


def _border_steps(job: ModelJob, form: IterationForm) -> list[list[Sent]]:
    """Return the messages of a border exchange, step by step."""
    steps = _STEPS.get(str(job.arguments.get("exchange", form.exchange)), _STEPS["steps"])
    blocks, beside = divided_grid(job, form)
    return [
        [sent for direction in directions for rank in beside for sent in _border(rank, direction, beside, blocks)]
        for directions in steps
    ]


def _border(rank: int, direction: str, beside: Mapping[int, Neighbours], blocks: Sequence[Block | None]) -> list[Sent]:
    receiver: int | None = getattr(beside[rank], direction)
    block = blocks[rank]
    if receiver is None or block is None:
        return []
    points = block.columns if direction in ("top", "bottom") else block.rows
    return [(rank, receiver, points * BYTES_PER_POINT)]


@lru_cache(maxsize=256)
def _meeting_rounds(cluster_of: tuple[int, ...], pattern: Pattern) -> tuple[list[list[Sent]], list[list[Sent]]]:
    """Return the messages that collect at the first rank, and those that distribute from it, level by level."""
    places = [place_in_tree(rank, cluster_of, pattern=pattern) for rank in range(len(cluster_of))]
    depths = [_depth(rank, places) for rank in range(len(places))]
    up: list[list[Sent]] = [[] for _ in range(max(depths))]
    down: list[list[Sent]] = [[] for _ in range(max(depths))]
    for rank, place in enumerate(places):
        if place.parent is not None:
            up[len(up) - depths[rank]].append((rank, place.parent, REDUCED_BYTES))
        for child in place.children:
            down[depths[rank]].append((rank, child, REDUCED_BYTES))
    return up, down


def _depth(rank: int, places: Sequence[TreePlace]) -> int:
    parent = places[rank].parent
    return 0 if parent is None else 1 + _depth(parent, places)
