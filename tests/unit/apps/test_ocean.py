"""The ocean's basin and its first states: in balance, as fast as said, the same for all, observed where said."""

import numpy as np
import pytest

from apps.basin import CORIOLIS_PER_S, DEPTH_M, OBSERVATIONS, REDUCED_GRAVITY_M_PER_S2, SECONDS_PER_DAY
from apps.ocean import EASTWARD, NORTHWARD, THICKNESS, Basin, mean_energy, mean_thickness_m
from emulator.model.errors import InvalidInput

CURRENTS_M_PER_S = 0.25


def inner(basin: Basin, seed: int) -> np.ndarray:
    return basin.state(np.random.default_rng(seed), CURRENTS_M_PER_S)[:, 1:-1, 1:-1]


def test_a_day_is_a_whole_number_of_steps_and_a_finer_grid_needs_more_of_them() -> None:
    steps = [Basin(side).steps_per_day for side in (8, 16, 32, 64, 128)]
    assert steps == sorted(set(steps))
    assert Basin(64).step_s * Basin(64).steps_per_day == pytest.approx(SECONDS_PER_DAY)


@pytest.mark.parametrize("side", [8, 64, 200])
def test_the_step_is_stable_for_the_fastest_wave_of_the_grid(side: int) -> None:
    """Wicker and Skamarock's scheme is stable up to a frequency of sqrt(3) over the step."""
    basin = Basin(side)
    wave_m_per_s = np.sqrt(REDUCED_GRAVITY_M_PER_S2 * DEPTH_M)
    frequency_per_s = np.hypot(CORIOLIS_PER_S, np.sqrt(8.0) * wave_m_per_s / basin.spacing_m)
    assert frequency_per_s * basin.step_s < np.sqrt(3.0)


@pytest.mark.parametrize("side", [7, 0, -3])
def test_a_basin_without_a_cell_for_each_observation_is_refused(side: int) -> None:
    with pytest.raises(InvalidInput, match=f"at least 8 points along a side, .* not {side}"):
        Basin(side)


def test_first_states_are_geostrophically_balanced() -> None:
    """f v = g dh/dx, over two cells and with the velocities' averages that the streamfunction gives."""
    basin = Basin(32)
    thickness, _, northward = inner(basin, 3)
    at_centre = 0.5 * (northward + np.roll(northward, -1, axis=0))
    averaged = 0.25 * (np.roll(at_centre, 1, axis=1) + 2.0 * at_centre + np.roll(at_centre, -1, axis=1))
    slope = (np.roll(thickness, -1, axis=1) - np.roll(thickness, 1, axis=1)) / (2.0 * basin.spacing_m)
    assert CORIOLIS_PER_S * averaged == pytest.approx(REDUCED_GRAVITY_M_PER_S2 * slope, abs=1e-12)


def test_first_states_neither_gather_nor_lose_water() -> None:
    basin = Basin(16)
    state = inner(basin, 4)
    outflow = np.roll(state[EASTWARD], -1, axis=1) - state[EASTWARD]
    outflow += np.roll(state[NORTHWARD], -1, axis=0) - state[NORTHWARD]
    assert np.abs(outflow).max() < 1e-12
    assert mean_thickness_m(state) == pytest.approx(DEPTH_M, rel=1e-12)


def test_eddies_and_jets_are_as_fast_as_said() -> None:
    basin = Basin(32)
    states = np.stack([inner(basin, seed) for seed in range(200)])
    mean = states.mean(axis=0)
    eddies = states - mean
    speed = np.sqrt(np.mean(eddies[:, EASTWARD] ** 2 + eddies[:, NORTHWARD] ** 2))
    assert speed == pytest.approx(CURRENTS_M_PER_S, rel=0.05)
    assert np.abs(mean[EASTWARD]).max() == pytest.approx(CURRENTS_M_PER_S, rel=0.15)


def test_a_state_depends_on_its_generator_alone() -> None:
    basin = Basin(16)
    assert np.array_equal(inner(basin, 5), inner(basin, 5))
    assert not np.array_equal(inner(basin, 5), inner(basin, 6))


def test_observations_are_a_regular_array_of_thickness() -> None:
    basin = Basin(24)
    states = np.zeros((2, 3, 26, 26))
    states[1, THICKNESS, 1:-1, 1:-1] = np.arange(24.0 * 24.0).reshape(24, 24)
    observed = basin.observe(states)
    assert observed.shape == (2, OBSERVATIONS)
    assert not observed[0].any()
    rows = observed[1].reshape(8, 8)
    assert np.array_equal(np.diff(rows, axis=1), np.full((8, 7), 3.0))
    assert np.array_equal(np.diff(rows, axis=0), np.full((7, 8), 3.0 * 24.0))


def test_energy_is_that_of_position_and_motion() -> None:
    state = np.zeros((3, 10, 10))
    state[THICKNESS], state[EASTWARD] = 100.0, 2.0
    assert mean_energy(state) == pytest.approx(0.5 * 100.0 * 4.0 + 0.5 * REDUCED_GRAVITY_M_PER_S2 * 100.0**2)
