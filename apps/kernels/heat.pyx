# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One explicit step of the two-dimensional heat equation on a block with a border of one point.

The block is updated in place: the old values of a row, of the one below and of the one above are kept in three buffers
of one row, so that a block is held once and comes from memory once.
"""

from libc.string cimport memcpy

import numpy as np


cdef class HeatStep:
    """Steps `values`: each point moves towards its four neighbours by `ratio` times its distance from each.

    `ratio` is diffusivity x time step / squared spacing. `values` has the block's rows and columns, bottom row first, and
    one border point on each side. A border of the left and right (`sides`), of the `bottom` or of the `top` that is
    insulated mirrors the points beside it, so that nothing flows through it.
    """

    cdef double[:, ::1] values
    cdef double[:, ::1] old
    cdef Py_ssize_t columns
    cdef double ratio
    cdef bint sides
    cdef bint bottom
    cdef bint top

    def __init__(self, double[:, ::1] values not None, double ratio, bint sides, bint bottom, bint top):
        self.values = values
        self.columns = values.shape[1] - 2
        self.old = np.zeros((3, values.shape[1]))
        self.ratio = ratio
        self.sides, self.bottom, self.top = sides, bottom, top

    def step(self):
        """Step all points once, from their own values and their borders' of the step before."""
        cdef Py_ssize_t rows = self.values.shape[0] - 2
        cdef size_t row_bytes = self.values.shape[1] * sizeof(double)
        cdef double* below = &self.old[0, 0]
        cdef double* here = &self.old[1, 0]
        cdef double* above = &self.old[2, 0]
        cdef Py_ssize_t row
        if self.bottom:
            memcpy(&self.values[0, 0], &self.values[1, 0], row_bytes)
        if self.top:
            memcpy(&self.values[rows + 1, 0], &self.values[rows, 0], row_bytes)
        memcpy(below, &self.values[0, 0], row_bytes)
        memcpy(here, &self.values[1, 0], row_bytes)
        for row in range(1, rows + 1):
            if self.sides:
                here[0], here[self.columns + 1] = here[1], here[self.columns]
            self.step_row(row, below, here, above)
            below, here, above = here, above, below

    cdef void step_row(self, Py_ssize_t row, double* below, double* here, double* above):
        """Update a row from its own old values and those of the row below, and keep those of the row above."""
        cdef Py_ssize_t column
        cdef double ratio = self.ratio
        cdef double* next_row = &self.values[row + 1, 0]
        cdef double* updated = &self.values[row, 0]
        above[0], above[self.columns + 1] = next_row[0], next_row[self.columns + 1]
        for column in range(1, self.columns + 1):
            above[column] = next_row[column]
            updated[column] = here[column] + ratio * (
                below[column] + next_row[column] + here[column - 1] + here[column + 1] - 4.0 * here[column]
            )
