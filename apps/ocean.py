"""The ocean of the ensemble: the states it may start from, what it conserves, and where it is observed.

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

from apps.basin import BASIN_M, CORIOLIS_PER_S, DEPTH_M, FIELDS, OBSERVED_PER_SIDE, REDUCED_GRAVITY_M_PER_S2, BasinGrid

Values = npt.NDArray[np.float64]

THICKNESS, EASTWARD, NORTHWARD = range(FIELDS)
# So few kinds of eddies that 60 members can tell them apart: the analysis needs no localization.
LARGEST_EDDY_WAVENUMBER = 3
OBSERVATION_DEVIATION_M = 10.0


@dataclass(frozen=True, slots=True)
class Basin(BasinGrid):
    """A basin and the states of its ocean."""

    def state(self, generator: np.random.Generator, currents_m_per_s: float) -> Values:
        """Draw a state to start from: two opposite jets and random eddies of the same speed, in geostrophic balance.

        The jets' speed is that of their middle, the eddies' is the expected root mean square.
        """
        unit = BASIN_M / (2.0 * math.pi)
        return self.balanced_state(currents_m_per_s * unit * (self._jets() + self._eddies(generator)))

    def balanced_state(self, streamfunction: Values) -> Values:
        """Return the balanced state of a `streamfunction` (m2/s, at the cells' south-western corners)."""
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
        """Return the thickness at the observed cells, a row for each of `states`."""
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
    """Return the mean thickness of a state without its border; the flow conserves it."""
    return math.fsum(inner[THICKNESS].flat) / float(inner[THICKNESS].size)


def mean_energy(inner: Values) -> float:
    """Return the mean energy of a state without its border, per area and density (m3/s2); viscosity reduces it."""
    thickness = inner[THICKNESS]
    on_western_face = 0.5 * (thickness + np.roll(thickness, 1, axis=1))
    on_southern_face = 0.5 * (thickness + np.roll(thickness, 1, axis=0))
    kinetic = 0.5 * (on_western_face * inner[EASTWARD] ** 2 + on_southern_face * inner[NORTHWARD] ** 2)
    return float(np.mean(kinetic + 0.5 * REDUCED_GRAVITY_M_PER_S2 * thickness**2))
