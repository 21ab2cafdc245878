"""The phase clock: what an iteration is, and the lateness from one reduction to the next."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from apps.counters import HostTimes, together_ns
from apps.numerics import FIRST_ITERATIONS
from apps.pacing import Phase, PhaseCount
from apps.phase_clock import PhaseClock

PHASE = Phase(host_duration_ns=1000, host_tolerance_ns=10)


class PunctualPacer:
    """Ends each phase in time by the emulated clock."""

    def __init__(self) -> None:
        self.count = PhaseCount()
        self.host_lead_ns = 0

    def phase(self, emulated_s: float) -> Phase:
        return PHASE

    def begin(self, phase: Phase, host_started_ns: int) -> None:
        pass

    def finish(self, phase: Phase, host_started_ns: int) -> int:
        return host_started_ns + phase.host_duration_ns


class Processor:
    """An emulated processor whose messages into the host's time leave as late as it is told, one for each question."""

    host_lead_ns = 0
    to_first_clock_ns = 0

    def __init__(self, *host_send_lateness_s: float) -> None:
        self.timestamp_ns = time.monotonic_ns() + 1_000_000_000
        # The first question is asked before the loop, and what happened there does not count.
        self._lateness_s: Iterator[float] = iter((9.0, *host_send_lateness_s))
        self._standstills_ns = iter([(1_000, 3_000)])

    def take_passed_lateness_ns(self) -> int:
        return int(next(self._lateness_s, 0.0) * 1e9)

    def take_standstills_ns(self) -> list[tuple[int, int]]:
        return [next(self._standstills_ns)]

    def wait_until_timestamp(self) -> None:
        pass


class ProcessorBehind(Processor):
    """An emulated processor that its rank is behind at the end of the loop."""

    def wait_until_timestamp(self) -> None:
        self.timestamp_ns -= 500_000_000


class Reduction:
    """Reductions in which another rank is the latest, if it is later than this one."""

    def __init__(self) -> None:
        self.carried = np.zeros(3)

    def meet(self, other_lateness_s: float) -> None:
        self.carried[0] = max(self.carried[0], other_lateness_s)


def clock_of(times: HostTimes, processor: Processor, reduction: Any = None) -> PhaseClock:
    clock = PhaseClock(times, PunctualPacer(), processor, reduction)
    clock.begin()
    return clock


def test_lateness_adds_up_from_one_reduction_to_the_next() -> None:
    times, reduction = HostTimes(), Reduction()
    clock = clock_of(times, Processor(0.1, 0.2, 0.3, 0.5), reduction)
    clock.compute(lambda: None, PHASE)
    clock.end_exchange()
    clock.end_exchange()
    reduction.meet(other_lateness_s=0.4)
    clock.end_reduction()
    assert times.host_critical_lateness_s == pytest.approx(0.6)
    clock.compute(lambda: None, PHASE)
    reduction.meet(other_lateness_s=0.7)
    clock.end_reduction()
    assert times.host_critical_lateness_s == pytest.approx(0.6 + 0.7)


def test_lateness_after_the_last_reduction_or_without_any_is_this_ranks_own() -> None:
    times, processor = HostTimes(), Processor(0.1, 0.0, 0.2)
    clock = clock_of(times, processor)
    clock.compute(lambda: None, PHASE)
    clock.compute(lambda: None, PHASE)
    clock.end_exchange()
    processor.timestamp_ns += 10_000_000_000
    clock.end()
    assert times.host_critical_lateness_s == pytest.approx(0.3)


def test_what_a_rank_is_behind_by_at_the_end_lengthens_the_runtime() -> None:
    times = HostTimes()
    clock = clock_of(times, ProcessorBehind(0.1))
    clock.compute(lambda: None, PHASE)
    clock.end()
    assert times.host_critical_lateness_s >= 0.1 + 0.5


def test_with_sampled_numerics_only_some_iterations_compute_and_all_are_paced() -> None:
    times, computed = HostTimes(), []
    clock = PhaseClock(times, PunctualPacer(), Processor(), sampled=True)
    clock.begin()
    results = []

    def update() -> int:
        computed.append(len(times.iterations_ns))
        return len(computed)

    for _ in range(65):
        results.append(clock.compute(update, PHASE))
        clock.end_iteration()
    clock.end()
    assert computed == [*range(FIRST_ITERATIONS), 20, 40, 60]
    assert results[:12] == [*range(1, 11), 10, 10]
    assert results[-1] == len(computed)
    assert list(times.iterations_ns) == [1000] * 65


def test_a_kernel_that_has_not_computed_yet_computes_in_any_iteration() -> None:
    times, computed = HostTimes(), []
    clock = PhaseClock(times, PunctualPacer(), Processor(), sampled=True)
    clock.begin()
    for iteration in range(18):
        clock.compute(lambda: None, PHASE)
        if iteration == 15:
            clock.compute(lambda: computed.append("seldom"), PHASE)
        clock.end_iteration()
    assert computed == ["seldom"]


def test_an_iteration_may_begin_after_what_prepares_the_loop() -> None:
    times, processor = HostTimes(), Processor()
    clock = clock_of(times, processor)
    processor.timestamp_ns += 5_000_000
    clock.end_exchange()
    clock.begin_iteration()
    for _ in range(2):
        clock.compute(lambda: None, PHASE)
        clock.end_iteration()
    clock.end()
    assert list(times.iterations_ns) == [1000, 1000]
    assert (times.exchange_ns, times.compute_ns) == (5_000_000, 2000)


def test_a_rank_that_leaves_the_start_barrier_late_says_so() -> None:
    times, processor = HostTimes(), Processor()
    processor.timestamp_ns = time.monotonic_ns() - 1_500_000_000
    clock_of(times, processor).end()
    assert times.host_critical_lateness_s >= 1.5


def test_standstills_since_the_start_barrier_count() -> None:
    times = HostTimes()
    clock_of(times, Processor()).end()
    assert times.standstills_ns == [(1_000, 3_000)]


def test_timestamps_that_ranks_compare_are_of_the_first_ranks_clock() -> None:
    """The other rank's machine has run an hour longer: what ended there first did not end last."""
    hour_ns = 3600 * 10**9
    times, reduction, processor = HostTimes(), Reduction(), Processor()
    processor.timestamp_ns, processor.to_first_clock_ns = processor.timestamp_ns + hour_ns, -hour_ns
    clock = clock_of(times, processor, reduction)
    loop_began_ns = processor.timestamp_ns
    clock.compute(lambda: None, PHASE)
    processor.timestamp_ns += 5_000
    clock.end_exchange()
    began_ns = loop_began_ns - hour_ns
    assert list(reduction.carried[1:]) == [began_ns + 1_000, began_ns + 6_000]
    reduction.carried[1:] = np.maximum(reduction.carried[1:], [began_ns + 4_000, began_ns + 5_000])
    clock.end_reduction()
    clock.end()
    assert times.communication_ns == 2_000
    assert times.standstills_ns == [(1_000 - hour_ns, 3_000 - hour_ns)]


@pytest.mark.parametrize(
    ("intervals_ns", "covered_ns"),
    [
        ([], 0),
        ([(5, 9)], 4),
        ([(5, 9), (5, 9), (6, 8)], 4),
        ([(20, 25), (5, 9), (8, 12)], 12),
        ([(0, 10), (2, 3), (9, 11)], 11),
    ],
)
def test_ranks_that_stand_still_at_the_same_time_lengthen_a_run_once(
    intervals_ns: list[tuple[int, int]], covered_ns: int
) -> None:
    assert together_ns(intervals_ns) == covered_ns
