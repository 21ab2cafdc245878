# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One red-black Gauss-Seidel iteration of the five-point Laplacian on a block with a border of one point.

Rows are updated as a wave: black points of a row, then red points of the row below it. That is the same arithmetic as a
whole black sweep followed by a whole red one (a red point needs the black ones beside, above and below it, a black point
the red ones from before), but each row comes from memory once and not twice.
"""

from libc.math cimport INFINITY, fabs


cdef class RedBlackUpdate:
    """Updates `values` in place from `source`, which holds the right-hand side times the squared grid spacing.

    Both arrays have the block's rows and columns and one border point on each side; `first_is_black` says whether the
    block's first inner point, in row 1 and column 1, is black.
    """

    cdef double[:, ::1] values
    cdef double[:, ::1] source
    cdef Py_ssize_t black_start

    def __init__(self, double[:, ::1] values not None, double[:, ::1] source not None, bint first_is_black):
        if values.shape[0] != source.shape[0] or values.shape[1] != source.shape[1]:
            raise ValueError("The values and the source of a block must have the same shape.")
        self.values = values
        self.source = source
        self.black_start = 0 if first_is_black else 1

    def update(self):
        """Update all black points, then all red ones; return the largest change, infinite if one is not a number."""
        cdef Py_ssize_t rows = self.values.shape[0] - 2
        cdef Py_ssize_t row
        cdef double largest = 0.0
        for row in range(1, rows + 1):
            largest = self.update_row(row, (self.black_start + row - 1) & 1, largest)
            if row > 1:
                largest = self.update_row(row - 1, (self.black_start + row - 1) & 1, largest)
        return self.update_row(rows, (self.black_start + rows) & 1, largest)

    cdef inline double update_row(self, Py_ssize_t row, Py_ssize_t start, double largest):
        cdef Py_ssize_t columns = self.values.shape[1] - 2
        cdef double* here = &self.values[row, 0]
        cdef double* below = &self.values[row - 1, 0]
        cdef double* above = &self.values[row + 1, 0]
        cdef double* source = &self.source[row, 0]
        cdef Py_ssize_t column
        cdef double updated, change
        for column in range(1 + start, columns + 1, 2):
            updated = 0.25 * (below[column] + above[column] + here[column - 1] + here[column + 1] + source[column])
            change = fabs(updated - here[column])
            here[column] = updated
            if not (change <= largest):
                largest = change if change == change else INFINITY
        return largest
