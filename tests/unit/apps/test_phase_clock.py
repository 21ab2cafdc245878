"""The phase clock: what an iteration is, and the lateness from one reduction to the next."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from apps.pacing import Phase, PhaseCount
from apps.timeline import HostTimes, PhaseClock

PHASE = Phase(host_duration_ns=1000, host_tolerance_ns=10)


class PacerThatIsLate:
    """Ends each phase in time by the emulated clock, and late by the host's as it is told."""

    def __init__(self, *host_overshoots_s: float) -> None:
        self.count = PhaseCount()
        self.host_lead_ns = 0
        self._host_overshoots_s: Iterator[float] = iter(host_overshoots_s)

    def phase(self, emulated_s: float) -> Phase:
        return PHASE

    def finish(self, phase: Phase, host_started_ns: int) -> int:
        self.count.host_overshoot_s = next(self._host_overshoots_s)
        return host_started_ns + phase.host_duration_ns


class Processor:
    """An emulated processor whose lateness nothing makes up for."""

    moment_ns = 0
    host_lead_ns = 0
    lateness_adds_up = True

    def wait_for_moment(self) -> None:
        pass


class Reduction:
    """Reductions in which another rank is the latest, if it is later than this one."""

    def __init__(self) -> None:
        self.carried = np.zeros(3)

    def meet(self, other_overshoot_s: float) -> None:
        self.carried[0] = max(self.carried[0], other_overshoot_s)


def clock_of(times: HostTimes, pacer: PacerThatIsLate, processor: Processor, reduction: Any = None) -> PhaseClock:
    clock = PhaseClock(times, pacer, processor, reduction)
    clock.begin()
    return clock


def test_lateness_adds_up_from_one_reduction_to_the_next() -> None:
    times, reduction = HostTimes(), Reduction()
    clock = clock_of(times, PacerThatIsLate(0.1, 0.2, 0.3, 0.5), Processor(), reduction)
    for _ in range(3):
        clock.compute(lambda: None, PHASE)
    reduction.meet(other_overshoot_s=0.4)
    clock.reduced()
    assert times.host_critical_lateness_s == pytest.approx(0.6)
    clock.compute(lambda: None, PHASE)
    reduction.meet(other_overshoot_s=0.7)
    clock.reduced()
    clock.end()
    assert times.host_critical_lateness_s == pytest.approx(0.6 + 0.7)


def test_lateness_after_the_last_reduction_or_without_any_is_this_ranks_own() -> None:
    times = HostTimes()
    clock = clock_of(times, PacerThatIsLate(0.1, 0.2), Processor())
    clock.compute(lambda: None, PHASE)
    clock.compute(lambda: None, PHASE)
    clock.end()
    assert times.host_critical_lateness_s == pytest.approx(0.3)


def test_an_iteration_may_begin_after_what_prepares_the_loop() -> None:
    times, processor = HostTimes(), Processor()
    clock = clock_of(times, PacerThatIsLate(0.0, 0.0), processor)
    processor.moment_ns += 5_000_000
    clock.exchanged()
    clock.begin_iteration()
    for _ in range(2):
        clock.compute(lambda: None, PHASE)
        clock.end_iteration()
    clock.end()
    assert list(times.iterations_ns) == [1000, 1000]
    assert (times.exchange_ns, times.compute_ns) == (5_000_000, 2000)
