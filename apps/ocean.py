"""The ocean of the ensemble: its basin, the states it may start from, what it conserves, and where it is observed.

One active layer over a deep one at rest (reduced gravity) in a doubly periodic square basin, on a C-grid: the layer's
thickness at the centre of each cell, the eastward velocity on its western face, the northward one on its southern.
Rows count northwards, columns eastwards. A state is an array of these three fields, each with a border of one point
that the flow's kernel keeps periodic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emulator.model.errors import InvalidInput

Values = npt.NDArray[np.float64]

THICKNESS, EASTWARD, NORTHWARD = 0, 1, 2
FIELDS = 3
SECONDS_PER_DAY = 86_400.0

# A mid-latitude upper ocean: internal waves of 3.2 m/s, a deformation radius of 32 km, eddies of hundreds of them.
BASIN_M = 1_000_000.0
DEPTH_M = 500.0
REDUCED_GRAVITY_M_PER_S2 = 0.02
CORIOLIS_PER_S = 1e-4
VISCOSITY_M2_PER_S = 200.0
# So few kinds of eddies that 60 members can tell them apart: the analysis needs no localization.
LARGEST_EDDY_WAVENUMBER = 3

OBSERVED_PER_SIDE = 8
OBSERVATIONS = OBSERVED_PER_SIDE**2
OBSERVATION_DEVIATION_M = 10.0

# The third-order Runge-Kutta step is stable for frequencies up to sqrt(3) over the step; the waves it must carry are
# counted on a layer half as thick again and on currents of 1.5 m/s, and the limit is left a quarter unused.
_STABLE_FREQUENCY_STEP = 0.75 * math.sqrt(3.0)
_THICKEST_M = 1.5 * DEPTH_M
_FASTEST_CURRENT_M_PER_S = 1.5


@dataclass(frozen=True, slots=True)
class Basin:
    """The basin with `side_points` x `side_points` cells.

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
        """How many cells the basin has."""
        return self.side_points**2

    @property
    def spacing_m(self) -> float:
        """The side of a cell."""
        return BASIN_M / self.side_points

    @property
    def steps_per_day(self) -> int:
        """How many time steps a day of the ocean is made of: as few as are stable."""
        wave_m_per_s = math.sqrt(REDUCED_GRAVITY_M_PER_S2 * _THICKEST_M) + _FASTEST_CURRENT_M_PER_S
        frequency_per_s = math.hypot(CORIOLIS_PER_S, math.sqrt(8.0) * wave_m_per_s / self.spacing_m)
        return math.ceil(SECONDS_PER_DAY * frequency_per_s / _STABLE_FREQUENCY_STEP)

    @property
    def step_s(self) -> float:
        """The time step, in seconds of the ocean."""
        return SECONDS_PER_DAY / self.steps_per_day

    def state(self, generator: np.random.Generator, currents_m_per_s: float) -> Values:
        """A state to start from: two opposite jets and random eddies of the same speed, in geostrophic balance.

        The jets' speed is that of their middle, the eddies' the root mean square that is to be expected.
        """
        unit = BASIN_M / (2.0 * math.pi)
        return self.balanced_state(currents_m_per_s * unit * (self._jets() + self._eddies(generator)))

    def balanced_state(self, streamfunction: Values) -> Values:
        """The state whose currents follow `streamfunction` (m2/s, at the cells' south-western corners), in balance."""
        north = np.roll(streamfunction, -1, axis=0)
        east = np.roll(streamfunction, -1, axis=1)
        north_east = np.roll(north, -1, axis=1)
        state = np.zeros((FIELDS, self.side_points + 2, self.side_points + 2))
        inner = state[:, 1:-1, 1:-1]
        at_centre = 0.25 * (streamfunction + north + east + north_east)
        inner[THICKNESS] = DEPTH_M + CORIOLIS_PER_S / REDUCED_GRAVITY_M_PER_S2 * at_centre
        inner[EASTWARD] = (streamfunction - north) / self.spacing_m
        inner[NORTHWARD] = (east - streamfunction) / self.spacing_m
        return state

    def observe(self, states: Values) -> Values:
        """The thickness at the observed cells, a row for each of the states that `states` holds."""
        cells = (2 * np.arange(OBSERVED_PER_SIDE) + 1) * self.side_points // (2 * OBSERVED_PER_SIDE) + 1
        observed = states[:, THICKNESS, cells[:, None], cells[None, :]]
        return np.ascontiguousarray(observed.reshape(len(states), -1))

    def _jets(self) -> Values:
        northward = 2.0 * math.pi * np.arange(self.side_points) / self.side_points
        return np.repeat(np.cos(northward)[:, None], self.side_points, axis=1)

    def _eddies(self, generator: np.random.Generator) -> Values:
        largest = LARGEST_EDDY_WAVENUMBER
        modes = [
            (north, east)
            for north in range(largest + 1)
            for east in range(-largest, largest + 1)
            if (north > 0 or east > 0) and north**2 + east**2 <= largest**2
        ]
        # All modes have the same kinetic energy to be expected.
        scale = 1.0 / math.sqrt(len(modes))
        amplitudes = np.zeros((largest + 1, 2 * largest + 1), dtype=np.complex128)
        for north, east in modes:
            real, imaginary = generator.standard_normal(2)
            amplitudes[north, east + largest] = scale / math.hypot(north, east) * complex(real, imaginary)
        angle = 2.0 * math.pi * np.arange(self.side_points) / self.side_points
        northward = np.exp(1j * np.outer(angle, np.arange(largest + 1)))
        eastward = np.exp(1j * np.outer(np.arange(-largest, largest + 1), angle))
        eddies: Values = (northward @ amplitudes @ eastward).real
        return eddies


def mean_thickness_m(inner: Values) -> float:
    """The mean thickness of a state without its border: which no flow changes: no water comes or goes."""
    return math.fsum(inner[THICKNESS].flat) / float(inner[THICKNESS].size)


def mean_energy(inner: Values) -> float:
    """The mean energy of a state without its border, for a unit of area and density (m3/s2); viscosity takes it."""
    thickness = inner[THICKNESS]
    on_western_face = 0.5 * (thickness + np.roll(thickness, 1, axis=1))
    on_southern_face = 0.5 * (thickness + np.roll(thickness, 1, axis=0))
    kinetic = 0.5 * (on_western_face * inner[EASTWARD] ** 2 + on_southern_face * inner[NORTHWARD] ** 2)
    return float(np.mean(kinetic + 0.5 * REDUCED_GRAVITY_M_PER_S2 * thickness**2))
