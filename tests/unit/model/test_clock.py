"""Emulated time: what K does to durations, rates and timestamps."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model import clock as clock_module
from emulator.model.clock import Dilation, EmulatedClock, host_clock_step_s
from emulator.model.errors import InvalidInput

factors = st.floats(min_value=0.01, max_value=1000)
durations = st.floats(min_value=0, max_value=1e7)


def test_at_dilation_eight_a_second_takes_eight_and_a_link_is_an_eighth_as_fast():
    dilation = Dilation(8)
    assert dilation.host_duration_s(1.0) == 8.0
    assert dilation.host_rate_mbit(20.0) == 2.5


@given(factors, durations)
def test_emulated_durations_survive_the_way_to_the_host_and_back(factor, duration_s):
    dilation = Dilation(factor)
    assert dilation.emulated_duration_s(dilation.host_duration_s(duration_s)) == pytest.approx(duration_s)


@given(factors, durations)
def test_a_transfer_takes_the_same_emulated_time_at_every_dilation(factor, size_mbit):
    dilation = Dilation(factor)
    host_s = size_mbit / dilation.host_rate_mbit(100.0)
    assert dilation.emulated_duration_s(host_s) == pytest.approx(size_mbit / 100.0)


@given(factors, st.floats(min_value=0, max_value=1e6))
def test_moments_survive_the_way_to_the_wall_clock_and_back(factor, timestamp_s):
    clock = EmulatedClock(Dilation(factor), host_origin_s=1_000.0)
    assert clock.emulated_timestamp_s(clock.host_timestamp_s(timestamp_s)) == pytest.approx(timestamp_s, abs=1e-6)


def test_a_clock_starts_at_zero_and_a_past_moment_needs_no_waiting():
    clock = EmulatedClock.starting_now(Dilation(0.5))
    time.sleep(0.02)
    assert 0.02 / 0.5 <= clock.now_s() < 60
    assert clock.host_remaining_s(0.0) == 0.0
    assert 0 < clock.host_remaining_s(1_000.0) <= 500.0


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf")])
def test_a_dilation_is_a_positive_finite_number(factor):
    with pytest.raises(InvalidInput, match="dilation"):
        Dilation(factor)


class Clocks:
    """The host's clocks as the test sets them; before each of the next `pauses` the process stands still."""

    def __init__(self) -> None:
        self.wall_s, self.monotonic_s = 1_700_000_000.0, 5_000.0
        self.pauses: list[float] = []

    def time(self) -> float:
        self.go_on(self.pauses.pop(0) if self.pauses else 0.0)
        return self.wall_s

    def monotonic(self) -> float:
        return self.monotonic_s

    def go_on(self, host_s: float) -> None:
        self.wall_s += host_s
        self.monotonic_s += host_s

    def set_wall_by(self, step_s: float) -> None:
        self.wall_s += step_s


@pytest.fixture
def clocks(monkeypatch) -> Clocks:
    """Return the clocks that the process reads."""
    clocks = Clocks()
    monkeypatch.setattr(clock_module, "time", clocks)
    monkeypatch.setattr(clock_module, "_STEADY", clock_module._SteadyClock())
    return clocks


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_wall_clock_that_is_set_changes_no_interval_and_no_deadline(clocks, step_s):
    clock = EmulatedClock.starting_now(Dilation(2))
    clocks.set_wall_by(step_s)
    clocks.go_on(4.0)
    assert clock.now_s() == pytest.approx(2.0)
    assert clock.host_remaining_s(100.0) == pytest.approx(196.0)
    assert host_clock_step_s() == pytest.approx(step_s)


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_timestamps_that_come_and_go_are_those_of_the_wall_clock_as_it_is_set_now(clocks, step_s):
    clock = EmulatedClock.starting_now(Dilation(2))
    clocks.set_wall_by(step_s)
    clocks.go_on(4.0)
    assert clock.emulated_timestamp_s(clocks.time()) == pytest.approx(clock.now_s()) == pytest.approx(2.0)
    assert clock.host_timestamp_s(clock.now_s()) == pytest.approx(clocks.time(), abs=1e-6, rel=0)


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_clock_is_resumed_where_it_was_though_the_wall_clock_was_set(clocks, monkeypatch, step_s):
    before = EmulatedClock.starting_now(Dilation(1))
    stored = (before.host_wall_origin_s, before.host_monotonic_origin_s)
    clocks.set_wall_by(step_s)
    clocks.go_on(4.0)
    monkeypatch.setattr(clock_module, "_STEADY", clock_module._SteadyClock())
    assert EmulatedClock.resumed(Dilation(1), *stored).now_s() == pytest.approx(4.0)


def test_the_wall_clock_s_small_corrections_are_no_steps(clocks):
    clocks.set_wall_by(0.1)
    assert host_clock_step_s() == 0.0


def test_a_process_that_stood_still_while_it_read_the_clocks_sees_no_step(clocks, monkeypatch):
    clocks.pauses = [5.0, 0.5]
    assert host_clock_step_s() == 0.0
    clocks.pauses = [5.0]
    monkeypatch.setattr(clock_module, "_STEADY", clock_module._SteadyClock())
    assert host_clock_step_s() == 0.0
    clocks.set_wall_by(60.0)
    clocks.pauses = [5.0] * 1_000  # as long as that, nothing better is known
    assert host_clock_step_s() == pytest.approx(60.0, abs=5.0)
