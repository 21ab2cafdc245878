"""What a job passes on once: the first rank distributes data to all others, and collects them at the end.

Ranks begin when they have their data, and end their last iteration at different times, so that a part of this happens
while others compute. Hence it depends on the number of iterations: the job is followed from the first message on. After
as many iterations as there are ranks nothing is left of the different beginnings.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Final

from apps.descriptor import Arguments
from apps.registry import application_named
from emulator.fidelity.iteration.connections import arrivals_s
from emulator.fidelity.iteration.predicted import Following, ModelJob
from emulator.fidelity.iteration.ranks import Carry
from emulator.fidelity.iteration.wide_area import FarMessage, WideArea
from emulator.model.topology import Topology

_SETTLING: Final = 4
_MEASURED: Final = 8
"""Iterations after which all are alike, and those whose time is taken."""


class PassedOnce:
    """What `job` on `topology` distributes and collects once; all other ranks have equal parts.

    Inside its cluster the first rank sends and receives one part after another; meanwhile the parts of other clusters
    cross the wide area, each over a connection of its own.

    Raises:
        UnknownName: if there is no such application or cluster.
        InvalidInput: if the links of a cluster are unknown.
    """

    def __init__(self, topology: Topology, job: ModelJob) -> None:
        self._topology, self._job = topology, job
        self._part_bytes = _part_bytes(job)
        self._known_s: dict[int, float] = {}
        self._borders_s: dict[tuple[int, int, int], float] = {}

    @property
    def settled_after(self) -> int:
        """The number of iterations from which on it takes the same time."""
        return self._job.processors if self._part_bytes else 1

    def takes_s(self, iterations: float) -> float:
        """Return the emulated seconds that it adds to that number of iterations; 0 if nothing is passed on."""
        if self._part_bytes == 0:
            return 0.0
        followed = min(max(1, round(iterations)), self.settled_after)
        if followed not in self._known_s:
            self._known_s[followed] = max(0.0, self._collected_s(followed) - followed * self._iteration_s)
        return self._known_s[followed]

    def _collected_s(self, iterations: int) -> float:
        """Return when the first rank has collected the data after that number of iterations."""
        following = Following(self._topology, self._job)
        ranks, others = following.ranks, range(1, self._job.processors)
        ranks.exchange([(0, other, self._part_bytes) for other in others], self._carry(opened=False))
        self._iterate(following, iterations)
        ranks.exchange([(other, 0, self._part_bytes) for other in others], self._carry(opened=True))
        return ranks.timestamps_s[0]

    @cached_property
    def _iteration_s(self) -> float:
        """What an iteration takes once all are alike, followed as those between distribution and collection."""
        following = Following(self._topology, self._job)
        self._iterate(following, _SETTLING)
        begin_s = max(following.ranks.timestamps_s)
        self._iterate(following, _MEASURED)
        return (max(following.ranks.timestamps_s) - begin_s) / _MEASURED

    def _iterate(self, following: Following, iterations: int) -> None:
        for _ in range(iterations * following.form.phases):
            following.exchange_borders(self._carry_borders)
            following.compute()

    def _carry_borders(self, messages: Sequence[FarMessage]) -> list[float]:
        """Carry borders over idle links: ranks are too far apart in time to share them as in the order followed."""
        alone = len({each.source for each in messages}) == len({each.target for each in messages}) == len(messages)
        if alone:
            return [each.sent_s + self._border_s(each.source, each.target, each.size_bytes) for each in messages]
        return WideArea(self._topology, self._job.clusters).arrivals_s(messages)

    def _border_s(self, source: int, target: int, size_bytes: int) -> float:
        """Return what a border takes between two clusters by index."""
        key = source, target, size_bytes
        if key not in self._borders_s:
            wide_area = WideArea(self._topology, self._job.clusters)
            (self._borders_s[key],) = wide_area.arrivals_s([FarMessage(0.0, *key)])
        return self._borders_s[key]

    def _carry(self, *, opened: bool) -> Carry:
        return partial(arrivals_s, self._topology, self._job.clusters, opened=opened)


def _part_bytes(job: ModelJob) -> int:
    """Return what each other rank gets, and gives back."""
    descriptor = application_named(job.application)
    others = job.processors - 1
    if descriptor.once_bytes is None or others == 0:
        return 0
    both_ways_bytes = descriptor.once_bytes(job.grid) * _share(job.arguments, descriptor.once_share)
    return round(both_ways_bytes / 2 / others)


def _share(arguments: Arguments, name: str | None) -> float:
    share = arguments.get(name or "", 1.0)
    return share if isinstance(share, int | float) else 1.0
