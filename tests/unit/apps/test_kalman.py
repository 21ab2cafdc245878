"""The ensemble's analysis is the Kalman filter's: in closed form, and by its definition."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.kalman import analysis_weights
from emulator.model.errors import InvalidInput

Values = npt.NDArray[np.float64]


def test_a_scalar_state_is_analysed_as_two_measurements_of_one_quantity() -> None:
    """The forecast says 1 with variance 4, the observation 6 with variance 1: together 5 with variance 0.8."""
    forecast = np.array([[-1.0], [1.0], [3.0]])
    analysis = analysis_weights(forecast, np.array([6.0]), 1.0) @ forecast
    assert analysis.mean() == pytest.approx(5.0)
    assert analysis.var(ddof=1) == pytest.approx(0.8)


def test_without_news_in_an_observation_only_the_spread_changes() -> None:
    forecast = np.array([[2.0], [4.0]])
    analysis = analysis_weights(forecast, np.array([3.0]), 1.0) @ forecast
    assert analysis.mean() == pytest.approx(3.0)
    assert analysis.var(ddof=1) == pytest.approx(2.0 * 1.0 / (2.0 + 1.0))


@given(
    seed=st.integers(0, 2**32 - 1),
    members=st.integers(2, 40),
    values=st.integers(1, 6),
    observations=st.integers(1, 5),
    deviation=st.floats(0.1, 10.0),
)
def test_mean_and_covariance_are_those_of_the_kalman_filter(
    seed: int, members: int, values: int, observations: int, deviation: float
) -> None:
    generator = np.random.default_rng(seed)
    forecast = generator.normal(size=(members, values)) @ generator.normal(size=(values, values))
    operator = generator.normal(size=(observations, values))
    observed = generator.normal(size=observations)
    covariance = np.cov(forecast, rowvar=False).reshape(values, values)
    innovation_covariance = operator @ covariance @ operator.T + deviation**2 * np.eye(observations)
    gain = covariance @ operator.T @ np.linalg.inv(innovation_covariance)

    analysis = analysis_weights(forecast @ operator.T, observed, deviation) @ forecast

    mean = forecast.mean(axis=0)
    assert analysis.mean(axis=0) == pytest.approx(mean + gain @ (observed - operator @ mean), abs=1e-8)
    expected = (np.eye(values) - gain @ operator) @ covariance
    assert np.cov(analysis, rowvar=False).reshape(values, values) == pytest.approx(expected, abs=1e-8)


def test_weights_add_up_to_one_so_that_what_all_members_share_stays() -> None:
    generator = np.random.default_rng(1)
    weights = analysis_weights(generator.normal(size=(60, 64)), generator.normal(size=64), 0.1)
    assert weights.sum(axis=1) == pytest.approx(np.ones(60))


def test_observations_of_no_worth_leave_the_ensemble_as_it_is() -> None:
    forecast = np.random.default_rng(2).normal(size=(10, 3))
    weights = analysis_weights(forecast, np.full(3, 50.0), 1e9)
    assert weights == pytest.approx(np.eye(10), abs=1e-12)


@pytest.mark.parametrize("deviation", [0.0, -1.0, float("nan"), float("inf")])
def test_a_deviation_that_is_none_is_refused(deviation: float) -> None:
    with pytest.raises(InvalidInput, match="deviation of the observations must be positive"):
        analysis_weights(np.zeros((3, 2)), np.zeros(2), deviation)


def test_one_member_is_no_ensemble() -> None:
    with pytest.raises(InvalidInput, match="at least 2 members, not 1"):
        analysis_weights(np.zeros((1, 2)), np.zeros(2), 1.0)
