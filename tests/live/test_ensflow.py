"""Ensflow in the node image: the flow and its conservation, waves and decay, the analysis, any number of processes.

Needs Docker and the node image, as `tests.live.node_container` says. Jobs run in the resident MPI world.
"""

import math
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from apps.ocean import BASIN_M, EASTWARD, NORTHWARD, THICKNESS, Basin, mean_energy, mean_thickness_m
from tests import shallow_water
from tests.live.resident_world import ResidentWorld

Values = npt.NDArray[np.float64]

GRAVITY_M_PER_S2 = 0.02
DEPTH_M = 500.0
CORIOLIS_PER_S = 1e-4


def advance(
    world: ResidentWorld,
    state: Values,
    *,
    step_s: float,
    steps: int,
    gravity_m_per_s2: float = GRAVITY_M_PER_S2,
    coriolis_per_s: float = CORIOLIS_PER_S,
    viscosity_m2_per_s: float = 0.0,
) -> Values:
    """Return the state after `steps` steps of the compiled kernel; both states are without border."""
    side = state.shape[1]
    np.save(world.node.exchange_directory / "state.npy", np.pad(state, ((0, 0), (1, 1), (1, 1))))
    flow = f"{side}, {BASIN_M / side!r}, {step_s!r}, {gravity_m_per_s2!r}, {coriolis_per_s!r}, {viscosity_m2_per_s!r}"
    return world.array(
        "from apps.kernels.shallow_water import ShallowWater; state = numpy.load('/exchange/state.npy');"
        f" ShallowWater({flow}).advance(state, {steps})",
        "state[:, 1:-1, 1:-1]",
    )


def reference(state: Values, steps: int, basin: Basin, viscosity_m2_per_s: float) -> Values:
    """Return the state after `steps` steps of the scheme in numpy, which uses lengths in grid spacings."""
    in_metres = np.array([1.0, basin.spacing_m, basin.spacing_m])[:, None, None]
    change = partial(
        shallow_water.tendency,
        gravity=GRAVITY_M_PER_S2 / basin.spacing_m**2,
        coriolis=CORIOLIS_PER_S,
        viscosity=viscosity_m2_per_s / basin.spacing_m**2,
    )
    state = state / in_metres
    for _ in range(steps):
        state = shallow_water.step(state, basin.step_s, change)
    return state * in_metres


def first_state(side: int, seed: int = 1) -> Values:
    return Basin(side).state(np.random.default_rng(seed), 0.15)[:, 1:-1, 1:-1]


@pytest.mark.parametrize("side", [8, 9, 31, 64])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_flow_is_the_scheme_on_whole_arrays(world: ResidentWorld, side: int, steps: int) -> None:
    basin, state = Basin(side), first_state(side)
    expected = reference(state, steps, basin, viscosity_m2_per_s=200.0)
    values = advance(world, state, step_s=basin.step_s, steps=steps, viscosity_m2_per_s=200.0)
    assert np.abs(values[THICKNESS] - expected[THICKNESS]).max() < 1e-11
    assert np.abs(values[1:] - expected[1:]).max() < 1e-13


def test_no_steps_change_nothing(world: ResidentWorld) -> None:
    state = first_state(16)
    assert np.array_equal(advance(world, state, step_s=3600.0, steps=0), state)


def test_water_is_conserved_to_the_last_digits(world: ResidentWorld) -> None:
    basin, state = Basin(32), first_state(32)
    values = advance(world, state, step_s=basin.step_s, steps=20 * basin.steps_per_day, viscosity_m2_per_s=200.0)
    assert not np.allclose(values, state)
    assert mean_thickness_m(values) == pytest.approx(mean_thickness_m(state), rel=1e-13)


def test_without_viscosity_energy_is_lost_to_the_time_step_alone(world: ResidentWorld) -> None:
    """The scheme conserves energy in space. The time step loses energy, by third order or better."""
    state, losses = first_state(24), []
    available = mean_energy(state) - 0.5 * GRAVITY_M_PER_S2 * DEPTH_M**2
    for halvings in (0, 1, 2):
        steps = 60 * 2**halvings
        values = advance(world, state, step_s=86_400.0 / steps, steps=steps)
        losses.append(abs(mean_energy(values) - mean_energy(state)) / available)
    assert losses[0] < 1e-5
    assert losses[0] / losses[1] > 6.0
    assert losses[1] / losses[2] > 6.0


def test_viscosity_takes_energy_away(world: ResidentWorld) -> None:
    basin, state = Basin(24), first_state(24)
    energies = [
        mean_energy(advance(world, state, step_s=basin.step_s, steps=200, viscosity_m2_per_s=viscosity_m2_per_s))
        for viscosity_m2_per_s in (0.0, 200.0, 400.0)
    ]
    assert energies[0] > energies[1] > energies[2]


def poincare_wave(side: int, timestamp_s: float) -> Values:
    """Return a long eastward wave at a timestamp: too low to steepen, with the frequency of a rotating shallow sea."""
    spacing_m, amplitude_m = BASIN_M / side, 1e-4
    wavenumber_per_m = 2.0 * math.pi / BASIN_M
    frequency_per_s = math.hypot(CORIOLIS_PER_S, wavenumber_per_m * math.sqrt(GRAVITY_M_PER_S2 * DEPTH_M))
    speed_m_per_s = amplitude_m * frequency_per_s / (wavenumber_per_m * DEPTH_M)
    at_centres, at_faces = (np.arange(side) + 0.5) * spacing_m, np.arange(side) * spacing_m
    state = np.empty((3, side, side))
    state[THICKNESS] = DEPTH_M + amplitude_m * np.cos(wavenumber_per_m * at_centres - frequency_per_s * timestamp_s)
    state[EASTWARD] = speed_m_per_s * np.cos(wavenumber_per_m * at_faces - frequency_per_s * timestamp_s)
    turned_m_per_s = speed_m_per_s * CORIOLIS_PER_S / frequency_per_s
    state[NORTHWARD] = turned_m_per_s * np.sin(wavenumber_per_m * at_centres - frequency_per_s * timestamp_s)
    return state


@pytest.mark.parametrize("turned", [False, True])
def test_a_wave_has_the_known_speed_and_the_flow_converges_at_second_order(world: ResidentWorld, turned: bool) -> None:
    """Waves run eastwards and, with the axes exchanged, northwards, where the sign of the rotation is reversed."""
    errors = []
    for side in (16, 32, 64):
        basin = Basin(side)
        begin, end = poincare_wave(side, 0.0), poincare_wave(side, 86_400.0)
        coriolis_per_s = CORIOLIS_PER_S
        if turned:
            begin, end = (np.swapaxes(state, 1, 2)[[THICKNESS, NORTHWARD, EASTWARD]] for state in (begin, end))
            coriolis_per_s = -CORIOLIS_PER_S
        values = advance(world, begin, step_s=basin.step_s, steps=basin.steps_per_day, coriolis_per_s=coriolis_per_s)
        errors.append(float(np.abs(values - end)[THICKNESS].max()) / 1e-4)
    assert errors[-1] < 0.02
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.1)


def test_a_shear_flow_decays_as_viscosity_has_it(world: ResidentWorld) -> None:
    side, viscosity_m2_per_s, steps = 32, 5000.0, 100
    basin = Basin(side)
    state = np.zeros((3, side, side))
    state[THICKNESS] = DEPTH_M
    state[EASTWARD] = 1e-6 * np.sin(2.0 * math.pi * np.arange(side) / side)[:, None]
    values = advance(
        world, state, step_s=basin.step_s, steps=steps, coriolis_per_s=0.0, viscosity_m2_per_s=viscosity_m2_per_s
    )
    rate_per_s = viscosity_m2_per_s * (2.0 * math.sin(math.pi / side) / basin.spacing_m) ** 2
    expected = math.exp(-rate_per_s * basin.step_s * steps) * state[EASTWARD]
    assert np.abs(values[EASTWARD] - expected).max() < 1e-5 * 1e-6


def test_jets_in_balance_stay_as_they_are(world: ResidentWorld) -> None:
    side = 64
    basin, streamfunction = Basin(side), 3e4 * np.cos(2.0 * math.pi * np.arange(side) / side)
    state = basin.balanced_state(np.repeat(streamfunction[:, None], side, axis=1))[:, 1:-1, 1:-1]
    values = advance(world, state, step_s=basin.step_s, steps=basin.steps_per_day)
    assert np.ptp(state[THICKNESS]) > 200.0
    assert np.abs(values - state)[THICKNESS].max() < 1.0


@pytest.mark.parametrize(("members", "length"), [(2, 1), (7, 63), (60, 64), (12, 1000)])
def test_combinations_have_the_same_bits_however_the_vectors_are_divided(
    world: ResidentWorld, members: int, length: int
) -> None:
    generator = np.random.default_rng(members)
    weights, vectors = generator.normal(size=(members, members)), generator.normal(size=(members, length))
    np.save(world.node.exchange_directory / "weights.npy", weights)
    np.save(world.node.exchange_directory / "vectors.npy", vectors)
    load = (
        "from apps.kernels.combination import combine;"
        " w, v = numpy.load('/exchange/weights.npy'), numpy.load('/exchange/vectors.npy')"
    )
    whole = world.array(f"{load}; c = numpy.empty_like(v); combine(w, v, c)", "c")
    parts = [
        world.array(
            f"{load}; v = numpy.ascontiguousarray(v[:, {part}::3]); c = numpy.empty_like(v); combine(w, v, c)", "c"
        )
        for part in range(3)
    ]
    assert np.abs(whole - weights @ vectors).max() < 1e-12
    for part in range(3):
        assert np.array_equal(parts[part], whole[:, part::3])


def test_the_analyses_bring_the_ensemble_to_the_hidden_ocean(world: ResidentWorld) -> None:
    for seed in (1, 2):
        record = world.run(2, f"ensflow --grid 24 --native --seed {seed}").record
        assert (record["iterations"], [analysis["day"] for analysis in record["analyses"]]) == (20, [10, 20])
        first, second = record["analyses"]
        for analysis in (first, second):
            assert analysis["analysis_error_m"] < analysis["forecast_error_m"]
            assert analysis["analysis_spread_m"] < analysis["forecast_spread_m"]
        assert first["analysis_error_m"] < 0.3 * first["forecast_error_m"]
        # The ensemble estimates its own error: error and spread have the same magnitude.
        assert 0.5 < first["analysis_error_m"] / first["analysis_spread_m"] < 2.0
        assert record["error_l2_norm"] == pytest.approx(second["analysis_error_m"])
        assert record["thickness_change"] < 1e-12


def test_without_analysis_the_ensemble_stays_as_wrong_as_it_was(world: ResidentWorld) -> None:
    line = "ensflow --grid 24 --native --seed 1 --analysis-every-days"
    alone, analysed = (world.run(2, f"{line} {days}").record for days in (21, 10))
    assert alone["analyses"] == []
    assert alone["error_l2_norm"] > 3.0 * analysed["error_l2_norm"]


@pytest.mark.parametrize(("members", "processes"), [(6, 2), (6, 3), (6, 6), (15, 5), (60, 12), (60, 20)])
def test_any_number_of_processes_computes_the_members_of_one(
    world: ResidentWorld, members: int, processes: int
) -> None:
    line = f"ensflow --grid 9 --members {members} --days 4 --analysis-every-days 2 --native"
    alone, serial = world.solution(1, line)
    record, ensemble = world.solution(processes, f"{line} --clusters {1 if processes % 2 else 2}")
    assert ensemble.shape == (members, 3, 9, 9)
    assert np.array_equal(ensemble, serial)
    for ours, theirs in zip(record["analyses"], alone["analyses"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12)


@pytest.mark.timed
def test_a_day_takes_the_emulated_processors_time_and_only_analyses_communicate(world: ResidentWorld) -> None:
    # Each rank has 3 members times the steps, 64 points, 1000 ns and the weight: some tens of milliseconds.
    steps = Basin(8).steps_per_day
    line = "ensflow --grid 8 --members 12 --days 20 --in-cache-ns-per-point 1000 --weight 20 --dilation 4"
    record = world.run(4, f"{line} --analysis-every-days 30").record
    day_s = 3 * steps * 64 * 1000e-9 * 20
    assert record["members_each"] == 3
    assert record["iteration_spread_s"]["min"] == pytest.approx(day_s, rel=1e-6)
    assert record["iteration_spread_s"]["max"] == pytest.approx(day_s, rel=1e-6)
    assert record["exchange_s"]["max"] == 0.0
    assert record["phases"] == 4 * 20
    analysed = world.run(4, f"{line} --analysis-every-days 10").record
    assert analysed["exchange_s"]["max"] > 0.0
    assert analysed["phases"] == 4 * (20 + 2)
