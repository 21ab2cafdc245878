"""The basin of the ensemble's ocean: its physical constants, its grid and its time step.

A mid-latitude upper ocean: internal waves of 3.2 m/s, a deformation radius of 32 km, eddies of hundreds of kilometres.
Needs the standard library only; `apps.ocean` adds the states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from emulator.model.errors import InvalidInput

FIELDS = 3
"""Thickness, eastward and northward velocity."""
SECONDS_PER_DAY = 86_400.0

BASIN_M = 1_000_000.0
DEPTH_M = 500.0
REDUCED_GRAVITY_M_PER_S2 = 0.02
CORIOLIS_PER_S = 1e-4
VISCOSITY_M2_PER_S = 200.0

OBSERVED_PER_SIDE = 8
OBSERVATIONS = OBSERVED_PER_SIDE**2

# The third-order Runge-Kutta step is stable for frequencies up to sqrt(3) over the step. The step must carry the waves
# of a layer half as thick again with currents of 1.5 m/s; a quarter of the limit is left unused.
_STABLE_FREQUENCY_STEP = 0.75 * math.sqrt(3.0)
_THICKEST_M = 1.5 * DEPTH_M
_FASTEST_CURRENT_M_PER_S = 1.5


@dataclass(frozen=True, slots=True)
class BasinGrid:
    """A basin of `side_points` x `side_points` cells.

    Raises:
        InvalidInput: if there are fewer cells along a side than are observed.
    """

    side_points: int

    def __post_init__(self) -> None:
        if self.side_points < OBSERVED_PER_SIDE:
            raise InvalidInput(
                f"--grid must be at least {OBSERVED_PER_SIDE} points along a side, one for each row of observations,"
                f" not {self.side_points}."
            )

    @property
    def points(self) -> int:
        """The number of cells."""
        return self.side_points**2

    @property
    def spacing_m(self) -> float:
        """The side of a cell."""
        return BASIN_M / self.side_points

    @property
    def steps_per_day(self) -> int:
        """The number of time steps in a day of the ocean: the smallest that is stable."""
        wave_m_per_s = math.sqrt(REDUCED_GRAVITY_M_PER_S2 * _THICKEST_M) + _FASTEST_CURRENT_M_PER_S
        frequency_per_s = math.hypot(CORIOLIS_PER_S, math.sqrt(8.0) * wave_m_per_s / self.spacing_m)
        return math.ceil(SECONDS_PER_DAY * frequency_per_s / _STABLE_FREQUENCY_STEP)

    @property
    def step_s(self) -> float:
        """The time step, in seconds of the ocean."""
        return SECONDS_PER_DAY / self.steps_per_day
