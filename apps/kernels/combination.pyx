# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Combinations of many long vectors with given weights, as the analysis of an ensemble makes them.

Every value is summed over the vectors in their order, whatever part of the vectors it is called with: so the result has
the same bits however the vectors are divided over processes, which a library's matrix product does not promise.
"""

cdef extern from *:
    """
    typedef double *__restrict__ writable_row;
    typedef const double *__restrict__ readable_row;
    """
    ctypedef double* writable_row
    ctypedef const double* readable_row

# This many columns of all vectors stay in the first-level cache.
cdef enum:
    CHUNK = 64


def combine(double[:, ::1] weights not None, double[:, ::1] vectors not None, double[:, ::1] combined not None):
    """Set row i of `combined` to the sum over j of `weights[i, j]` times row j of `vectors`."""
    cdef Py_ssize_t rows = weights.shape[0]
    cdef Py_ssize_t terms = weights.shape[1]
    cdef Py_ssize_t columns = vectors.shape[1]
    if vectors.shape[0] != terms or combined.shape[0] != rows or combined.shape[1] != columns:
        raise ValueError("The weights, the vectors and their combinations do not fit each other.")
    cdef Py_ssize_t row, term, width
    cdef Py_ssize_t first = 0
    while first < columns:
        width = min(CHUNK, columns - first)
        for row in range(rows):
            clear(width, &combined[row, first])
            for term in range(terms):
                add(width, weights[row, term], &vectors[term, first], &combined[row, first])
        first += width


cdef inline void clear(Py_ssize_t width, writable_row total) noexcept nogil:
    cdef Py_ssize_t column
    for column in range(width):
        total[column] = 0.0


cdef inline void add(Py_ssize_t width, double weight, readable_row vector, writable_row total) noexcept nogil:
    cdef Py_ssize_t column
    for column in range(width):
        total[column] += weight * vector[column]
