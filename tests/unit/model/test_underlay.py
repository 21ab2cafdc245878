"""The network between two hosts and their clocks, from datagrams that go there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.underlay import Exchange, steadier, underlay_of

SECONDS = st.floats(1e-6, 1.0)


def exchange(there_s: float, back_s: float, ahead_s: float, answering_s: float = 0.001) -> Exchange:
    """One by a host whose clock is ahead of the central one's."""
    sent_s = 1000.0 + ahead_s
    arrived_s = 1000.0 + there_s
    answered_s = arrived_s + answering_s
    return Exchange(sent_s, arrived_s, answered_s, answered_s + back_s + ahead_s)


def test_the_delay_is_half_of_the_round_trip_and_the_clock_is_known_exactly_where_both_ways_take_as_long() -> None:
    found = underlay_of([exchange(0.0003, 0.0003, ahead_s=0.25)] * 3, 940.0, 930.0)
    assert found.host_delay_s == pytest.approx(0.0003)
    assert found.host_jitter_s == pytest.approx(0.0, abs=1e-9)
    assert found.host_clock_ahead_s == pytest.approx(0.25)
    assert (found.host_rate_to_central_mbit, found.host_rate_from_central_mbit) == (940.0, 930.0)


def test_the_quickest_exchange_tells_the_clock_and_the_quicker_half_the_delay() -> None:
    disturbed, usual = exchange(0.003, 0.001, ahead_s=-0.5), exchange(0.0002, 0.0002, ahead_s=-0.5)
    found = underlay_of([disturbed, usual, disturbed, exchange(0.0001, 0.0001, ahead_s=-0.5), usual])
    assert found.host_delay_s == pytest.approx(0.0002)
    assert found.host_jitter_s == pytest.approx(0.0018)
    assert found.host_clock_ahead_s == pytest.approx(-0.5)
    assert found.host_clock_bound_s == pytest.approx(0.0001)
    assert found.host_rate_to_central_mbit is None


def test_of_two_measurements_of_a_host_the_steadier_one_counts() -> None:
    steady = underlay_of([exchange(0.0003, 0.0003, ahead_s=0.0)] * 3)
    unsteady = steady.model_copy(update={"host_jitter_s": 0.001})
    found = steadier({"one": unsteady, "two": steady, "three": unsteady}, {"one": steady, "two": unsteady})
    assert found == {"one": steady, "two": steady, "three": unsteady}


@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=30), st.floats(-10.0, 10.0))
def test_the_clock_is_never_further_off_than_the_bound_says(ways: list[tuple[float, float]], ahead_s: float) -> None:
    found = underlay_of([exchange(there_s, back_s, ahead_s) for there_s, back_s in ways])
    assert abs(found.host_clock_ahead_s - ahead_s) <= found.host_clock_bound_s + 1e-9
    assert found.host_jitter_s >= 0.0
