"""Ensflow's flow with whole numpy arrays, as a reference for tests and benchmarks of its kernel.

Lengths are in grid spacings and the square is periodic. A state is the layer's thickness, its eastward and its
northward velocity, each at its own place in a cell, as in `apps.ocean`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def tendency(state: Values, gravity: float, coriolis: float, viscosity: float) -> Values:
    """Return the rate of change of the flow: the energy-conserving scheme of Sadourny (1975), and viscosity."""

    def west(values: Values) -> Values:
        return np.roll(values, 1, axis=1)

    def east(values: Values) -> Values:
        return np.roll(values, -1, axis=1)

    def south(values: Values) -> Values:
        return np.roll(values, 1, axis=0)

    def north(values: Values) -> Values:
        return np.roll(values, -1, axis=0)

    def smoothed(values: Values) -> Values:
        return viscosity * (west(values) + east(values) + south(values) + north(values) - 4.0 * values)

    h, u, v = state
    eastwards, northwards = 0.5 * (west(h) + h) * u, 0.5 * (south(h) + h) * v
    q = (coriolis + v - west(v) - u + south(u)) / (0.25 * (h + west(h) + south(h) + south(west(h))))
    bernoulli = gravity * h + 0.25 * (u * u + east(u * u) + v * v + north(v * v))
    turning_north = q * (west(northwards) + northwards)
    turning_east = q * (south(eastwards) + eastwards)
    return np.stack(
        [
            eastwards - east(eastwards) + northwards - north(northwards),
            0.25 * (turning_north + north(turning_north)) - bernoulli + west(bernoulli) + smoothed(u),
            -0.25 * (turning_east + east(turning_east)) - bernoulli + south(bernoulli) + smoothed(v),
        ]
    )


def step(state: Values, duration: float, tendency_of: Callable[[Values], Values]) -> Values:
    """Return the state one time step later, by the three stages of Wicker and Skamarock (2002)."""
    stage = state
    for part in (3.0, 2.0, 1.0):
        stage = state + duration / part * tendency_of(stage)
    return stage
