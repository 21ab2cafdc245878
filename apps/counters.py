"""Counters of one rank: its messages, and the time its loop spent in each kind of phase."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MessageCount:
    """The numbers of messages paced to an interconnect and of those that came late, and the largest lateness."""

    paced_messages: int
    late_messages: int
    host_lateness_max_s: float


@dataclass(slots=True)
class HostTimes:
    """The time of one rank's loop by kind of phase, in host nanoseconds; the kernel's CPU time is sampled.

    `communication_ns` is the total communication time of the measurement study on DAS-2: from the time the last process
    ends its computation to the time the last ends its border exchange, summed over the iterations. It is the same at
    every rank, and known only if all of them meet in a reduction in each of `communications` iterations.
    `border_exchange_ns` is this rank's border exchange by direction (one total where directions overlap), in which it
    sends and receives `border_exchange_points` together each time; `barrier_ns` is its waiting at the barrier before
    communication, if there is one.

    `host_critical_lateness_s` bounds by how much the loop is too long because the host was late. A rank that is behind
    its emulated processor makes up for it unless it has to send an unpaced message. So this is the sum of two things.
    The first is how late such messages left the latest of all ranks, added up from one reduction to the next; after the
    last reduction (or without any) only this rank's own count. The second is how far this rank is behind at the end.

    `standstills_ns` are pairs of timestamps, of the monotonic clock of the first rank's machine, between which the rank
    stood still while it waited for messages that are not paced: nothing is late then, but the loop is too long by that
    time.
    """

    iterations_ns: array[int] = field(default_factory=lambda: array("q"))
    compute_ns: int = 0
    exchange_ns: int = 0
    reduction_ns: int = 0
    barrier_ns: int = 0
    communication_ns: float = 0.0
    communications: int = 0
    border_exchange_ns: dict[str, int] = field(default_factory=dict)
    border_exchange_points: int = 0
    loop_ns: int = 0
    cpu_ns: int = 0
    kernel_cpu_ns: float = 0.0
    host_critical_lateness_s: float = 0.0
    standstills_ns: list[tuple[int, int]] = field(default_factory=list)


def together_ns(intervals_ns: Iterable[tuple[int, int]]) -> int:
    """Return the time that intervals of several ranks cover together, in nanoseconds."""
    covered_ns = 0
    ended_ns: int | None = None
    for began_ns, until_ns in sorted(intervals_ns):
        begin_ns = began_ns if ended_ns is None else max(began_ns, ended_ns)
        covered_ns += max(0, until_ns - begin_ns)
        ended_ns = until_ns if ended_ns is None else max(ended_ns, until_ns)
    return covered_ns
