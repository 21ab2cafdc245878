"""Pacing: phases last as long as the emulated processor needs, waiting costs no CPU, late phases are counted."""

import time

import pytest

from apps.pacing import OVERSHOOT_EDGES_HOST_S, DilatedPacer, NativePacer, ProcessorProfile
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput
from emulator.model.point_costs import WorkingSet

PROFILE = ProcessorProfile(in_cache_ns_per_point=100.0, out_of_cache_ns_per_point=250.0, cache_bytes=8000)


def work_on_the_host(host_s: float) -> None:
    end = time.monotonic() + host_s
    while time.monotonic() < end:
        pass


def test_the_cost_of_a_point_depends_on_whether_the_points_fit_the_cache() -> None:
    assert PROFILE.costs.duration_s(WorkingSet(1000)) == pytest.approx(100e-6)
    assert PROFILE.costs.duration_s(WorkingSet(1001)) == pytest.approx(250.25e-6)


@pytest.mark.parametrize(
    ("in_cache", "out_of_cache", "cache_bytes"),
    [(0.0, 1.0, 1), (1.0, -1.0, 1), (float("nan"), 1.0, 1), (1.0, float("inf"), 1), (1.0, 1.0, -1)],
)
def test_impossible_processors_are_refused(in_cache: float, out_of_cache: float, cache_bytes: int) -> None:
    with pytest.raises(InvalidInput):
        ProcessorProfile(in_cache, out_of_cache, cache_bytes)


def test_a_phase_is_its_emulated_length_times_the_dilation_with_the_larger_tolerance() -> None:
    pacer = DilatedPacer(Dilation(8.0))
    short, long = pacer.phase(0.001), pacer.phase(0.1)
    assert (short.host_duration_ns, short.host_tolerance_ns) == (8_000_000, 100_000)
    assert (long.host_duration_ns, long.host_tolerance_ns) == (800_000_000, 8_000_000)


@pytest.mark.timed
def test_a_phase_ends_when_the_emulated_processor_would_have_finished() -> None:
    pacer = DilatedPacer(Dilation(4.0))
    phase = pacer.phase(0.005)
    started_ns = time.monotonic_ns()
    work_on_the_host(0.005)
    ended_ns = pacer.finish(phase, started_ns)
    assert 0.020 <= (ended_ns - started_ns) / 1e9 < 0.120
    assert ended_ns <= time.monotonic_ns()
    assert pacer.count.phases == 1


@pytest.mark.timed
def test_waiting_costs_no_cpu() -> None:
    pacer = DilatedPacer(Dilation(1.0))
    phase = pacer.phase(0.2)
    cpu_before_s = time.process_time()
    pacer.finish(phase, time.monotonic_ns())
    assert time.process_time() - cpu_before_s < 0.02


@pytest.mark.timed
def test_a_phase_whose_work_takes_longer_is_late_and_returns_at_once() -> None:
    pacer = DilatedPacer(Dilation(1.0))
    phase = pacer.phase(0.001)
    for overrun_ns in (20_000_000, 50_000_000):
        pacer.finish(phase, time.monotonic_ns() - phase.host_duration_ns - overrun_ns)
    count = pacer.count
    assert (count.phases, count.late_phases) == (2, 2)
    assert count.host_lateness_max_s == pytest.approx(0.050, abs=0.015)
    assert count.host_lateness_sum_s == pytest.approx(0.070, abs=0.030)


def test_lateness_within_the_tolerance_is_not_counted() -> None:
    pacer = DilatedPacer(Dilation(1.0))
    phase = pacer.phase(6_000.0)
    pacer.finish(phase, time.monotonic_ns() - phase.host_duration_ns - phase.host_tolerance_ns // 2)
    assert (pacer.count.phases, pacer.count.late_phases, pacer.count.host_lateness_sum_s) == (1, 0, 0.0)


@pytest.mark.timed
def test_overshoots_are_counted_by_how_far_late_or_not() -> None:
    pacer = DilatedPacer(Dilation(1.0))
    phase = pacer.phase(60.0)
    for overshoot_s in (0.0, 0.050, 0.050, 1.0):
        pacer.finish(phase, time.monotonic_ns() - phase.host_duration_ns - int(overshoot_s * 1e9))
    assert sum(pacer.count.overshoots) == 4
    assert pacer.count.overshoots[-1] == 1
    beyond_10_ms = sum(1 for edge_s in OVERSHOOT_EDGES_HOST_S if edge_s < 0.010)
    assert sum(pacer.count.overshoots[beyond_10_ms:]) == 3


@pytest.mark.timed
def test_pacing_a_phase_costs_microseconds() -> None:
    pacer = DilatedPacer(Dilation(1.0))
    phase = pacer.phase(1e-9)
    cpu_before_s = time.process_time()
    for _ in range(20_000):
        pacer.finish(phase, 0)
    assert (time.process_time() - cpu_before_s) / 20_000 < 20e-6


def test_native_processors_are_never_late() -> None:
    pacer = NativePacer()
    started_ns = time.monotonic_ns()
    assert pacer.finish(pacer.phase(100.0), started_ns) - started_ns < 60e9
    assert (pacer.count.phases, pacer.count.late_phases) == (1, 0)
