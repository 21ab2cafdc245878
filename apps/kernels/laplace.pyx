# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The two phases of an over-relaxation sweep of the five-point Laplacian, corner by corner, and its change over time.

A block with a border of one point is cut into four corners. The first phase updates the upper left and the lower right
one, the second the upper right and the lower left one; within a corner points are updated row by row from the bottom and
from left to right, each from the newest values beside it. A point waits for the one on its left, so four rows go forward
together, each one column behind the row below it: the same arithmetic in an order that keeps the processor busy.
"""

from libc.math cimport fabs

cdef enum:
    TOGETHER = 4


cdef class CornerUpdate:
    """Updates `values` in place: a point becomes the mean of its neighbours times `relaxation`, and the rest of itself.

    `values` has the block's rows and columns, bottom row first, and one border point on each side. The lower corners
    have half of the rows and the left ones half of the columns, rounded down.
    """

    cdef double[:, ::1] values
    cdef double[:, ::1] earlier
    cdef double beside
    cdef double kept
    cdef Py_ssize_t rows
    cdef Py_ssize_t columns

    def __init__(self, double[:, ::1] values not None, double[:, ::1] earlier not None, double relaxation):
        if values.shape[0] != earlier.shape[0] or values.shape[1] != earlier.shape[1]:
            raise ValueError("The values of a block and its earlier values must have the same shape.")
        self.values = values
        self.earlier = earlier
        self.beside = 0.25 * relaxation
        self.kept = 1.0 - relaxation
        self.rows = values.shape[0] - 2
        self.columns = values.shape[1] - 2

    def update_first(self):
        """Update the upper left and the lower right corner."""
        self.update_corner(self.rows // 2 + 1, self.rows, 1, self.columns // 2)
        self.update_corner(1, self.rows // 2, self.columns // 2 + 1, self.columns)

    def update_second(self):
        """Update the upper right and the lower left corner."""
        self.update_corner(self.rows // 2 + 1, self.rows, self.columns // 2 + 1, self.columns)
        self.update_corner(1, self.rows // 2, 1, self.columns // 2)

    def summed_change(self):
        """Return the sum of the points' changes since the last call; not a number if a point is not."""
        cdef Py_ssize_t row, column
        cdef double summed = 0.0, summed_odd = 0.0
        cdef double* here
        cdef double* earlier
        for row in range(1, self.rows + 1):
            here = &self.values[row, 0]
            earlier = &self.earlier[row, 0]
            for column in range(1, self.columns, 2):
                summed += fabs(here[column] - earlier[column])
                summed_odd += fabs(here[column + 1] - earlier[column + 1])
            if self.columns & 1:
                summed += fabs(here[self.columns] - earlier[self.columns])
            for column in range(1, self.columns + 1):
                earlier[column] = here[column]
        return summed + summed_odd

    cdef void update_corner(self, Py_ssize_t bottom, Py_ssize_t top, Py_ssize_t left, Py_ssize_t right):
        cdef Py_ssize_t row = bottom
        if right - left + 1 >= TOGETHER:
            while row + TOGETHER - 1 <= top:
                self.update_rows(row, left, right)
                row += TOGETHER
        while row <= top:
            self.update_points(row, left, right)
            row += 1

    cdef void update_rows(self, Py_ssize_t row, Py_ssize_t left, Py_ssize_t right):
        """Update four rows, each one column behind the row below; the uneven beginning and end go row by row."""
        cdef Py_ssize_t column
        cdef double beside = self.beside, kept = self.kept
        cdef double* below = &self.values[row - 1, 0]
        cdef double* first = &self.values[row, 0]
        cdef double* second = &self.values[row + 1, 0]
        cdef double* third = &self.values[row + 2, 0]
        cdef double* fourth = &self.values[row + 3, 0]
        cdef double* above = &self.values[row + 4, 0]
        cdef double first_new, second_new, third_new, fourth_new
        self.update_points(row, left, left + 2)
        self.update_points(row + 1, left, left + 1)
        self.update_points(row + 2, left, left)
        first_new, second_new, third_new, fourth_new = first[left + 2], second[left + 1], third[left], fourth[left - 1]
        for column in range(left + 3, right + 1):
            fourth_new = (
                beside * (third_new + above[column - 3] + fourth[column - 2] + fourth_new) + kept * fourth[column - 3]
            )
            fourth[column - 3] = fourth_new
            third_new = (
                beside * (second_new + fourth[column - 2] + third[column - 1] + third_new) + kept * third[column - 2]
            )
            third[column - 2] = third_new
            second_new = (
                beside * (first_new + third[column - 1] + second[column] + second_new) + kept * second[column - 1]
            )
            second[column - 1] = second_new
            first_new = beside * (below[column] + second[column] + first[column + 1] + first_new) + kept * first[column]
            first[column] = first_new
        self.update_points(row + 1, right, right)
        self.update_points(row + 2, right - 1, right)
        self.update_points(row + 3, right - 2, right)

    cdef void update_points(self, Py_ssize_t row, Py_ssize_t left, Py_ssize_t right):
        cdef Py_ssize_t column
        cdef double beside = self.beside, kept = self.kept
        cdef double* here = &self.values[row, 0]
        cdef double* below = &self.values[row - 1, 0]
        cdef double* above = &self.values[row + 1, 0]
        for column in range(left, right + 1):
            here[column] = (
                beside * (below[column] + above[column] + here[column + 1] + here[column - 1]) + kept * here[column]
            )
