"""The forecast of bandwidths: what is stated before any transfer, then the median of the last ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.files import BandwidthOrigin
from emulator.policies.bandwidth import (
    ASSUMED_BYTES_PER_S,
    REMEMBERED,
    BandwidthForecast,
    Forecast,
    stated_bytes_per_s,
)

RATES = st.floats(min_value=1e-3, max_value=1e12)


def test_before_any_transfer_it_is_what_the_topology_states_for_the_path():
    """mini: 20 Mbit/s access links, so 2.5 million bytes per second between any two sites, and none to itself."""
    forecast = BandwidthForecast(4, stated_bytes_per_s(topology_named("mini")))
    assert set(forecast.bytes_per_s().values()) == {2_500_000.0}
    assert len(forecast.bytes_per_s()) == 12
    assert forecast.forecast(0, 1) == Forecast(2_500_000.0, BandwidthOrigin.STATED)


def test_where_nothing_is_stated_it_is_an_assumption_and_called_one():
    forecast = BandwidthForecast(2, {(0, 1): 100.0})
    assert forecast.forecast(1, 0) == Forecast(ASSUMED_BYTES_PER_S, BandwidthOrigin.ASSUMED)
    forecast.learn(1, 0, 7.0)
    assert forecast.forecasts()[1, 0] == Forecast(7.0, BandwidthOrigin.MEASURED, 1)


def test_one_transfer_that_met_another_does_not_move_the_forecast():
    forecast = BandwidthForecast(2, {(0, 1): 100.0})
    for rate in (80.0, 20.0, 82.0):
        forecast.learn(0, 1, rate)
    assert forecast.forecast(0, 1) == Forecast(80.0, BandwidthOrigin.MEASURED, 3)


def test_old_transfers_are_forgotten():
    forecast = BandwidthForecast(2, {})
    for rate in [1.0] * 100 + [50.0] * REMEMBERED:
        forecast.learn(0, 1, rate)
    assert forecast.bytes_per_s()[0, 1] == 50.0


@given(st.lists(RATES, min_size=1, max_size=30))
def test_a_forecast_is_never_outside_of_what_was_measured(rates):
    forecast = BandwidthForecast(2, {(0, 1): 1e15})
    for rate in rates:
        forecast.learn(0, 1, rate)
    recent = rates[-REMEMBERED:]
    assert min(recent) <= forecast.bytes_per_s()[0, 1] <= max(recent)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(InvalidInput, match="positive number of bytes per second"):
        BandwidthForecast(2, {}).learn(0, 1, rate)
