"""The share of phases that will end late, and their effect on a runtime, from the measured lateness of one host.

Before a rank can end a phase it has to be ready for it: it waits for a core, takes in the messages that the phase began
with, and runs its kernel. That does not dilate. A rank that is ready in time sleeps until shortly before the phase's
end, wakes and is on time; so a phase is late if its rank was ready later than it may end, max(1% of it, 100 us) past
its end. Which share of ranks is not ready so long after a phase's beginning was measured for a few numbers of ranks,
after short phases and after long ones, which leave colder caches, and with cores that were busy and that were not; over
a pair of clusters, and over more, whose messages come at more different times. The longer kernels are, the later
those are ready that run theirs last.

In one cluster over a stated interconnect nobody has to be ready (``apps/messaging.py``): ranks run ahead of the host's
clock, and are late only when the host cannot keep up; how often was measured of jobs that left the host more time and
less to wake their ranks. Elsewhere two things are added: where a job's kernels alone need more than a phase, every
phase is late; and where jobs run beside one another, a rank may wake while another job's kernels have all cores.

By how much a runtime is too long follows from how far phases ended past their ends, in phases of the usual length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from emulator.model.clock import host_tolerance_s
from emulator.planning.costs import HostCosts, MessagesOver, Overshoots, Readiness, interpolated

_LEAST_SHARE: Final = 1e-4
"""Shares below this are not told apart: no job that is measured has more phases than its reciprocal."""

_LEAST_HOST_S: Final = 1e-6

_SATURATES_FROM: Final = 0.8
"""The share of all cores that what must be done in time may take before phases begin to end late because of it."""


@dataclass(frozen=True, slots=True)
class Waking:
    """The ranks of a job and their phases: how many they are, what carries their messages, how long their kernels are.

    The job is spread over so many `clusters`. `together` of its ranks wake in one cluster at the same time; `share`
    of all wake so, the others run ahead. While the job runs, `core_share` of all cores is busy. In one cluster over a
    stated interconnect waking the ranks one after another takes `turns_share` of an iteration.
    """

    ranks: int
    clusters: int
    together: int
    share: float
    over: MessagesOver
    host_phase_s: float
    host_kernel_s: float
    core_share: float
    turns_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A job that runs beside for a `share` of the time: its kernels have all cores for a burst in each period.

    `core_share` is what it takes of all cores while it runs.
    """

    host_burst_s: float
    host_period_s: float
    core_share: float
    share: float = 1.0


class Lateness:
    """The lateness of one host, as `costs` show it."""

    def __init__(self, costs: HostCosts) -> None:
        self._series = {over: _Series.of(costs.overshoots, over) for over in MessagesOver}
        self._readying = {over: _by_clusters(costs, over) for over in MessagesOver}
        self._behind = _rising_shares((behind.turns_share, behind.late_phase_share) for behind in costs.falling_behind)

    def late_share(self, waking: Waking, core_share: float, neighbours: Sequence[Neighbour] = ()) -> float:
        """Return the share of phases that end late, where what must be done in time takes `core_share` of all cores."""
        allowed_s = host_tolerance_s(waking.host_phase_s)
        if waking.over is MessagesOver.INTERCONNECT:
            on_time = 1.0 - self._behind_share(waking)
        else:
            on_time = 1.0 - self._unready_share(waking.host_phase_s + allowed_s, waking)
            for other in neighbours:
                on_time *= 1.0 - other.share * min(1.0, max(0.0, other.host_burst_s - allowed_s) / other.host_period_s)
        kept_up = 1.0 - min(1.0, max(0.0, (core_share - _SATURATES_FROM) / (1.0 - _SATURATES_FROM)))
        return 1.0 - kept_up * on_time

    def _behind_share(self, waking: Waking) -> float:
        """Return the share of phases that ranks which run ahead end late all the same."""
        return _zero_if_negligible(_share_at(self._behind, waking.turns_share))

    def _unready_share(self, host_s: float, waking: Waking) -> float:
        """Return the share of ranks that are ready later than `host_s` after their phase began."""
        known = self._readying[waking.over]
        shares = [(clusters, _logarithm(of.share_beyond(host_s, waking))) for clusters, of in known.items()]
        return _zero_if_negligible(_share_at(shares, waking.clusters))

    def meeting_lateness_s(self, waking: Waking, phases: int) -> float:
        """Host seconds by which the latest rank is behind when all meet after so many phases.

        After one phase it is the latest rank's overshoot. Over several, ranks' own overshoots add up before the latest
        counts: what they have in common in full, what differs between them by the square root.
        """
        if waking.share == 0.0:
            return 0.0
        series = self._series[waking.over]
        mean_s = series.overshoot_s(waking, lambda overshoots: overshoots.host_mean_s)
        latest_s = series.overshoot_s(waking, lambda overshoots: overshoots.host_latest_s)
        return phases * mean_s + math.sqrt(phases) * max(0.0, latest_s - mean_s)


@dataclass(frozen=True, slots=True)
class _ReadinessCurves:
    """When ranks are ready: what was measured of jobs of each number of ranks, in ascending order, on so many cores."""

    by_ranks: tuple[tuple[int, tuple[Readiness, ...]], ...]
    cores: int

    @classmethod
    def of(cls, known: Sequence[Readiness], cores: int) -> _ReadinessCurves:
        """What is `known` of some jobs that differ in their ranks and phases only, at least one."""
        numbers = sorted({readiness.ranks for readiness in known})
        return cls(
            tuple((ranks, tuple(readiness for readiness in known if readiness.ranks == ranks)) for ranks in numbers),
            cores,
        )

    @property
    def _host_earliest_s(self) -> float:
        """The shortest time after which it is known of any job who was ready."""
        return min(readiness.host_edges_s[0] for _, known in self.by_ranks for readiness in known)

    def share_beyond(self, host_s: float, waking: Waking) -> float:
        """Return the share of the waking ranks that are ready later than `host_s` after their phase began."""
        (first, of_first), (last, of_last) = self.by_ranks[0], self.by_ranks[-1]
        # As many more or fewer ranks as take their turns on the cores, so much later or sooner is each.
        if waking.ranks <= first:
            return self._of(of_first, host_s * first / waking.ranks, waking)
        if waking.ranks >= last:
            return self._of(of_last, host_s * last / waking.ranks, waking)
        known = [(float(at), self._of(jobs, host_s, waking)) for at, jobs in self.by_ranks]
        return _share_at(_rising_shares(known), waking.ranks)

    def _of(self, known: Sequence[Readiness], host_s: float, waking: Waking) -> float:
        """By what was measured of jobs of one size, interpolated between those that kept the cores more and less busy.

        A job whose phases were longer than that does not tell the share, but what it is at least with cores so busy.
        """
        seen = [(readiness, self._host_left_s(readiness, host_s, waking.host_kernel_s)) for readiness in known]
        measured = [
            (readiness.core_share, self._by(readiness, left_s))
            for readiness, left_s in seen
            if left_s >= readiness.host_edges_s[0]
        ]
        least = [
            (readiness.core_share, self._by(readiness, left_s))
            for readiness, left_s in seen
            if left_s < readiness.host_edges_s[0]
        ]
        if not measured:
            return max(share for _, share in least)
        return _share_at(_raised(_rising_shares(measured), least), waking.core_share)

    def _host_left_s(self, readiness: Readiness, host_s: float, host_kernel_s: float) -> float:
        # On average half of the other ranks run their kernels first.
        return host_s - 0.5 * readiness.ranks * (host_kernel_s - readiness.host_kernel_s) / self.cores

    def _by(self, readiness: Readiness, host_left_s: float) -> float:
        if readiness.host_edges_s[0] == self._host_earliest_s and host_left_s < self._host_earliest_s:
            # Nobody is ready at once, and in between nothing is known.
            return 1.0 - (1.0 - readiness.beyond[0]) * max(0.0, host_left_s) / self._host_earliest_s
        return readiness.share_beyond(host_left_s)


def _by_clusters(costs: HostCosts, over: MessagesOver) -> dict[int, _ReadinessCurves]:
    """What is known of jobs whose messages go `over` that, by how many clusters they were spread over, ascending."""
    own = [readiness for readiness in costs.readiness if readiness.over is over]
    numbers = sorted({readiness.clusters for readiness in own})
    return {
        number: _ReadinessCurves.of([readiness for readiness in own if readiness.clusters == number], costs.cores)
        for number in numbers
    }


def _rising_shares(known: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the logarithms of shares that do not fall with what they are known of."""
    return _rising([(place, _logarithm(share)) for place, share in sorted(known)])


def _raised(logarithms: list[tuple[float, float]], least: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """`logarithms` of shares by place, raised to the shares that they are at `least`, and falling nowhere."""
    bounds = [(place, max(_logarithm(share), interpolated(logarithms, place))) for place, share in least]
    points = sorted([*logarithms, *bounds])
    highest = accumulate((logarithm for _, logarithm in points), max)
    return [(place, most) for (place, _), most in zip(points, highest, strict=True)]


def _logarithm(share: float) -> float:
    return math.log(max(_LEAST_SHARE, share))


def _zero_if_negligible(share: float) -> float:
    """Return the share, or none where so few are not told from none."""
    # Taking logarithms and back leaves the least a little above itself.
    return share if share > 1.001 * _LEAST_SHARE else 0.0


def _share_at(logarithms: Sequence[tuple[float, float]], place: float) -> float:
    """Return the share at a place between those that are known, interpolated on the logarithms of both, ends held."""
    return math.exp(interpolated(logarithms, place))


@dataclass(frozen=True, slots=True)
class _Series:
    """Overshoots of one kind: `by_ranks` with kernels of the usual length, `by_kernel` of as many ranks with several.

    `by_kernel` is known of ranks in one cluster only, and holds for the others in proportion.
    """

    by_ranks: tuple[Overshoots, ...]
    by_kernel: tuple[Overshoots, ...]

    @classmethod
    def of(cls, overshoots: Sequence[Overshoots], over: MessagesOver) -> _Series:
        """Return the two series that `overshoots` contain of jobs whose messages go `over` that."""
        own = [measured for measured in overshoots if measured.over is over]
        varied = [measured for measured in overshoots if measured.over is MessagesOver.SHARED_MEMORY]
        usual_s = _usual_kernel_s(own)
        by_ranks = sorted(
            (measured for measured in own if _alike(measured.host_kernel_s, usual_s)),
            key=lambda measured: measured.together,
        )
        several = [measured.together for measured in varied if not _alike(measured.host_kernel_s, usual_s)]
        by_kernel = sorted(
            (measured for measured in varied if measured.together in several),
            key=lambda measured: measured.host_kernel_s,
        )
        return cls(tuple(by_ranks), tuple(by_kernel))

    def overshoot_s(self, waking: Waking, of: Callable[[Overshoots], float]) -> float:
        """Return the mean or the latest overshoot in host seconds."""
        if not self.by_ranks:
            return 0.0
        values = _rising([(measured.together, of(measured)) for measured in self.by_ranks])
        (first, least_s), (last, most_s) = values[0], values[-1]
        usual_s = interpolated(values, waking.together)
        if waking.together < first:
            usual_s = least_s * waking.together / first
        elif waking.together > last:
            usual_s = most_s * waking.together / last

        def logarithm(measured: Overshoots) -> float:
            return math.log(max(_LEAST_HOST_S, of(measured)))

        return usual_s * math.exp(self._of_kernel(waking.host_kernel_s, logarithm))

    def _of_kernel(self, host_kernel_s: float, logarithm: Callable[[Overshoots], float]) -> float:
        """What the length of the kernels adds to a logarithm: the longer they are, the less."""
        if len(self.by_kernel) < 2:
            return 0.0
        known = _falling([(measured.host_kernel_s, logarithm(measured)) for measured in self.by_kernel])
        return interpolated(known, host_kernel_s) - interpolated(known, _usual_kernel_s(self.by_ranks))


def _rising(known: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """`known` with values that never fall, nearest to those given: noise must not make more ranks less late.

    Isotonic regression by pooling adjacent violators (Ayer et al., 1955).
    """
    pools: list[tuple[float, int]] = []
    for _, value in known:
        mean, count = value, 1
        while pools and pools[-1][0] > mean:
            before, of_before = pools.pop()
            mean, count = (mean * count + before * of_before) / (count + of_before), count + of_before
        pools.append((mean, count))
    values = [mean for mean, count in pools for _ in range(count)]
    return [(place, value) for (place, _), value in zip(known, values, strict=True)]


def _falling(known: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """`known` with each value at most the one before."""
    return [(place, -value) for place, value in _rising([(place, -value) for place, value in known])]


def _alike(first_s: float, second_s: float) -> bool:
    return 0.5 < first_s / second_s < 2.0


def _usual_kernel_s(overshoots: Sequence[Overshoots]) -> float:
    """Return the length of kernel with which most of `overshoots` were measured."""
    counted = [
        (sum(_alike(measured.host_kernel_s, like.host_kernel_s) for like in overshoots), measured.host_kernel_s)
        for measured in overshoots
    ]
    return max(counted, default=(0, 1.0))[1]
