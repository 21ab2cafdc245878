"""How many phases will end late, and how much that lengthens a runtime: from what one host showed of its lateness.

When the ranks of a cluster wake together the cores return from one after another. By how much a rank is past its
phase's end is therefore a matter of how many wake together and of the host, not of the dilation; what the dilation
changes is how late a phase may be (max(1% of it, 100 us)), and how much of an iteration the lateness is. So the planner
takes the distribution of overshoots that was measured for a few numbers of ranks, and reads it at the tolerance of the
phases to come.

Kernels matter, too: the ranks begin their phases one after another, each when the one before it on its core has done
its kernel, and so the longer the kernels are the less they wake together. Overshoots are measured for several kernels.

A rank all of whose messages are paced runs ahead of the host's clock (``apps/messaging.py``). It is late only when the
host cannot keep up or, in a job over several clusters, when what it learns from the ranks that wake comes later than
its phase's end. Three things are added for those that wake. Over the wide area the job's own messages keep the cores
busy at any moment. Where a job's kernels alone need more than a phase, every phase is late. And where jobs run beside
one another, a rank may wake while another job's kernels have all cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.fidelity.plan_costs import HostCosts, MessagesOver, Overshoots, interpolated

LATE_FRACTION: Final = 0.01
LATE_HOST_S: Final = 100e-6
"""A phase is late from max(1% of it, 100 us) past its end (``apps/pacing.py``)."""

_LEAST_SHARE: Final = 1e-4
"""Shares below this are not told apart: no job that is measured has more phases than its reciprocal."""

_LEAST_HOST_S: Final = 1e-6

_SATURATES_FROM: Final = 0.8
"""The share of all cores that what must be done in time may take before phases begin to end late because of it."""


def tolerance_s(host_phase_s: float) -> float:
    """How far past its end a phase of that length may end without being late; host seconds."""
    return max(LATE_FRACTION * host_phase_s, LATE_HOST_S)


@dataclass(frozen=True, slots=True)
class Waking:
    """The ranks of a cluster that wake together: how many, what carries their messages, their kernels and phases.

    `share` is how many of all the job's ranks wake so; the others run ahead of the host's clock, `ahead` of them in one
    cluster. `busy_share` is what the job's messages take of all cores, all the time.
    """

    together: int
    share: float
    over: MessagesOver
    host_phase_s: float
    host_kernel_s: float
    ahead: int = 0
    busy_share: float = 0.0


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

    def late_share(self, waking: Waking, core_share: float, neighbours: Sequence[Neighbour] = ()) -> float:
        """The share of phases that end late, where what must be done in time takes `core_share` of all cores."""
        series, allowed_s = self._series[waking.over], tolerance_s(waking.host_phase_s)
        on_time = 1.0 - series.share_beyond(allowed_s, waking.together, waking.host_kernel_s)
        ahead_on_time = 1.0
        if waking.over is MessagesOver.WIDE_AREA:
            on_time *= 1.0 - min(1.0, waking.busy_share) * series.relative_share(allowed_s, waking)
            behind_s = waking.host_phase_s + allowed_s
            ahead_on_time -= series.share_beyond(behind_s, waking.ahead, waking.host_kernel_s)
        for other in neighbours:
            on_time *= 1.0 - other.share * min(1.0, max(0.0, other.host_burst_s - allowed_s) / other.host_period_s)
        kept_up = 1.0 - min(1.0, max(0.0, (core_share - _SATURATES_FROM) / (1.0 - _SATURATES_FROM)))
        return 1.0 - kept_up * (waking.share * on_time + (1.0 - waking.share) * ahead_on_time)

    def meeting_lateness_s(self, waking: Waking, phases: int) -> float:
        """Host seconds by which the latest rank is behind when all meet after so many phases.

        After one phase it is the latest rank's overshoot. Over several, ranks' own overshoots add up before the latest
        counts: what they have in common in full, what differs between them by the square root.
        """
        if waking.share == 0.0:
            return 0.0
        series = self._series[waking.over]
        mean_s = series.overshoot_s(waking, lambda it: it.host_mean_s)
        latest_s = series.overshoot_s(waking, lambda it: it.host_latest_s)
        return phases * mean_s + math.sqrt(phases) * max(0.0, latest_s - mean_s)


@dataclass(frozen=True, slots=True)
class _Series:
    """Overshoots of one kind: `by_ranks` with kernels of the usual length, `by_kernel` of as many ranks with several.

    `by_kernel` is known of ranks in one cluster only, and holds for the others in proportion.
    """

    by_ranks: tuple[Overshoots, ...]
    by_kernel: tuple[Overshoots, ...]

    @classmethod
    def of(cls, overshoots: Sequence[Overshoots], over: MessagesOver) -> _Series:
        """The two series that `overshoots` contain of jobs whose messages go `over` that."""
        own = [it for it in overshoots if it.over is over]
        varied = [it for it in overshoots if it.over is MessagesOver.SHARED_MEMORY]
        usual_s = _usual_kernel_s(own)
        by_ranks = sorted((it for it in own if _alike(it.host_kernel_s, usual_s)), key=lambda it: it.together)
        several = [it.together for it in varied if not _alike(it.host_kernel_s, usual_s)]
        by_kernel = sorted((it for it in varied if it.together in several), key=lambda it: it.host_kernel_s)
        return cls(tuple(by_ranks), tuple(by_kernel))

    def share_beyond(self, host_s: float, together: int, host_kernel_s: float) -> float:
        """The share of phases that end more than `host_s` past their ends, where so many ranks wake together."""
        if not self.by_ranks or together == 0:
            return 0.0

        def known(it: Overshoots, ranks: int = 0) -> float:
            # As many more or fewer ranks as there are to wake one after another, so much later or sooner is each.
            scale = it.together / ranks if ranks else 1.0
            return math.log(max(_LEAST_SHARE, it.share_beyond(host_s * scale)))

        first, last = self.by_ranks[0], self.by_ranks[-1]
        if together < first.together:
            logarithm = known(first, together)
        elif together > last.together:
            logarithm = known(last, together)
        else:
            logarithm = interpolated(_rising([(it.together, known(it)) for it in self.by_ranks]), together)
        share = math.exp(logarithm + self._of_kernel(host_kernel_s, known))
        return min(1.0, share) if share > _LEAST_SHARE else 0.0

    def relative_share(self, host_s: float, waking: Waking) -> float:
        """The share beyond `host_s` relative to that beyond the smallest tolerance: how it falls with tolerance."""
        least = self.share_beyond(LATE_HOST_S, waking.together, waking.host_kernel_s)
        return self.share_beyond(host_s, waking.together, waking.host_kernel_s) / least if least else 0.0

    def overshoot_s(self, waking: Waking, of: Callable[[Overshoots], float]) -> float:
        """The mean or the latest overshoot in host seconds."""
        if not self.by_ranks:
            return 0.0
        values = _rising([(it.together, of(it)) for it in self.by_ranks])
        (first, least_s), (last, most_s) = values[0], values[-1]
        usual_s = interpolated(values, waking.together)
        if waking.together < first:
            usual_s = least_s * waking.together / first
        elif waking.together > last:
            usual_s = most_s * waking.together / last

        def logarithm(it: Overshoots) -> float:
            return math.log(max(_LEAST_HOST_S, of(it)))

        return usual_s * math.exp(self._of_kernel(waking.host_kernel_s, logarithm))

    def _of_kernel(self, host_kernel_s: float, logarithm: Callable[[Overshoots], float]) -> float:
        """What the length of the kernels adds to a logarithm: the longer they are, the less."""
        if len(self.by_kernel) < 2:
            return 0.0
        known = _falling([(it.host_kernel_s, logarithm(it)) for it in self.by_kernel])
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
    """The length of kernel with which most of `overshoots` were measured."""
    counted = [
        (sum(_alike(it.host_kernel_s, like.host_kernel_s) for like in overshoots), it.host_kernel_s)
        for it in overshoots
    ]
    return max(counted, default=(0, 1.0))[1]
