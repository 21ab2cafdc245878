# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The flow of one layer in a doubly periodic basin: the rotating shallow-water equations on a C-grid.

In space the scheme of Sadourny (Journal of the Atmospheric Sciences 32, 1975) that conserves volume and energy, with a
Laplacian viscosity; in time the three-stage Runge-Kutta scheme of Wicker and Skamarock (Monthly Weather Review 130,
2002), in which every stage adds a multiple of the tendency of the stage before to the state at the step's start.

A stage passes over the rows as a wave and keeps fluxes, potential vorticity and Bernoulli function of two rows only, so
that each row of a state comes from memory once. States are arrays of thickness, eastward and northward velocity, with
a border of one point that is filled here; rows count northwards, columns eastwards. The eastward velocity and flux of a
cell are those of its western face, the northward ones those of its southern face, the vorticity that of its
south-western corner.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

cdef extern from *:
    """
    typedef double *__restrict__ writable_row;
    typedef const double *__restrict__ readable_row;
    """
    ctypedef double* writable_row
    ctypedef const double* readable_row


cdef struct Stage:
    # Two rows of each, the older first; with columns for the whole width of a state.
    double* eastward_flux[2]
    double* northward_flux[2]
    double* vorticity[2]
    double* bernoulli[2]


cdef class ShallowWater:
    """A kernel that advances states of `side_points` x `side_points` cells of `spacing_m` by steps of `step_s`."""

    cdef Py_ssize_t side
    cdef Py_ssize_t width
    cdef double spacing_m, step_s, gravity, coriolis, viscosity
    cdef double* scratch
    cdef double* rows

    def __cinit__(self, Py_ssize_t side_points, double spacing_m, double step_s, double gravity_m_per_s2,
                  double coriolis_per_s, double viscosity_m2_per_s):
        if side_points < 1:
            raise ValueError("A basin needs at least one cell.")
        self.side = side_points
        self.width = side_points + 2
        self.spacing_m, self.step_s = spacing_m, step_s
        self.gravity, self.coriolis, self.viscosity = gravity_m_per_s2, coriolis_per_s, viscosity_m2_per_s
        self.scratch = <double*> calloc(2 * 3 * self.width * self.width, sizeof(double))
        self.rows = <double*> calloc(8 * self.width, sizeof(double))
        if self.scratch == NULL or self.rows == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.scratch)
        free(self.rows)

    def advance(self, double[:, :, ::1] state not None, Py_ssize_t steps):
        """Advance `state` in place by `steps` time steps."""
        if state.shape[0] != 3 or state.shape[1] != self.width or state.shape[2] != self.width:
            raise ValueError("The state is not one of this basin.")
        cdef Py_ssize_t size = 3 * self.width * self.width
        cdef double* start = &state[0, 0, 0]
        cdef double* current = start
        cdef double* other = self.scratch
        cdef double* between = self.scratch + size
        cdef Py_ssize_t step
        with nogil:
            self.fill_border(current)
            for step in range(steps):
                self.run_stage(current, current, other, self.step_s / 3.0)
                self.run_stage(current, other, between, self.step_s / 2.0)
                self.run_stage(current, between, other, self.step_s)
                current, other = other, current
            if current != start:
                memcpy(start, current, size * sizeof(double))

    cdef void fill_border(self, double* state) noexcept nogil:
        cdef Py_ssize_t field, row
        cdef Py_ssize_t width = self.width
        cdef double* values
        for field in range(3):
            values = state + field * width * width
            for row in range(1, width - 1):
                values[row * width] = values[row * width + width - 2]
                values[row * width + width - 1] = values[row * width + 1]
            memcpy(values, values + (width - 2) * width, width * sizeof(double))
            memcpy(values + (width - 1) * width, values + width, width * sizeof(double))

    cdef void run_stage(self, const double* base, const double* state, double* result, double time_s) noexcept nogil:
        """Set `result` to the base plus `time_s` times the tendency of `state`; `result` is neither of the two."""
        cdef Py_ssize_t width = self.width
        cdef Py_ssize_t row
        cdef Stage stage
        cdef double* rows = self.rows
        for row in range(2):
            stage.eastward_flux[row] = rows + row * width
            stage.northward_flux[row] = rows + (2 + row) * width
            stage.vorticity[row] = rows + (4 + row) * width
            stage.bernoulli[row] = rows + (6 + row) * width
        for row in range(1, width):
            self.renew_corners(state, row, &stage)
            self.renew_centres(state, row - 1, &stage)
            if row > 1:
                self.write_row(base, state, result, row - 1, time_s, &stage)
        self.fill_border(result)

    cdef inline void renew_corners(self, const double* state, Py_ssize_t row, Stage* stage) noexcept nogil:
        """Compute the northward flux through, and the vorticity along, the southern edge of a row."""
        cdef Py_ssize_t width = self.width
        cdef const double* thickness = state + row * width
        cdef const double* eastward = thickness + width * width
        cdef const double* northward = eastward + width * width
        stage.northward_flux[0], stage.northward_flux[1] = stage.northward_flux[1], stage.northward_flux[0]
        stage.vorticity[0], stage.vorticity[1] = stage.vorticity[1], stage.vorticity[0]
        northward_flux_of_row(width, thickness, thickness - width, northward, stage.northward_flux[1])
        vorticity_of_row(width, thickness, thickness - width, eastward, eastward - width, northward,
                         self.coriolis, 1.0 / self.spacing_m, stage.vorticity[1])

    cdef inline void renew_centres(self, const double* state, Py_ssize_t row, Stage* stage) noexcept nogil:
        """Compute the eastward flux and the Bernoulli function of a row."""
        cdef Py_ssize_t width = self.width
        cdef const double* thickness = state + row * width
        cdef const double* eastward = thickness + width * width
        cdef const double* northward = eastward + width * width
        stage.eastward_flux[0], stage.eastward_flux[1] = stage.eastward_flux[1], stage.eastward_flux[0]
        stage.bernoulli[0], stage.bernoulli[1] = stage.bernoulli[1], stage.bernoulli[0]
        eastward_flux_of_row(width, thickness, eastward, stage.eastward_flux[1])
        bernoulli_of_row(width, thickness, eastward, northward, northward + width, self.gravity, stage.bernoulli[1])

    cdef inline void write_row(self, const double* base, const double* state, double* result, Py_ssize_t row,
                               double time_s, Stage* stage) noexcept nogil:
        cdef Py_ssize_t width = self.width
        cdef Py_ssize_t field_size = width * width
        cdef Py_ssize_t at = row * width
        cdef double per_m = time_s / self.spacing_m
        cdef double smoothing = time_s * self.viscosity / (self.spacing_m * self.spacing_m)
        write_thickness(width, base + at, stage.eastward_flux[1], stage.northward_flux[0], stage.northward_flux[1],
                        per_m, result + at)
        at += field_size
        write_eastward(width, base + at, state + at - width, state + at, state + at + width,
                       stage.vorticity[0], stage.vorticity[1], stage.northward_flux[0], stage.northward_flux[1],
                       stage.bernoulli[1], 0.25 * time_s, per_m, smoothing, result + at)
        at += field_size
        write_northward(width, base + at, state + at - width, state + at, state + at + width, stage.vorticity[0],
                        stage.eastward_flux[0], stage.eastward_flux[1], stage.bernoulli[0], stage.bernoulli[1],
                        0.25 * time_s, per_m, smoothing, result + at)


cdef void northward_flux_of_row(Py_ssize_t width, readable_row thickness, readable_row southern_thickness,
                                readable_row northward, writable_row flux) noexcept nogil:
    cdef Py_ssize_t column
    for column in range(width):
        flux[column] = 0.5 * (southern_thickness[column] + thickness[column]) * northward[column]


cdef void eastward_flux_of_row(Py_ssize_t width, readable_row thickness, readable_row eastward,
                               writable_row flux) noexcept nogil:
    cdef Py_ssize_t column
    for column in range(1, width):
        flux[column] = 0.5 * (thickness[column - 1] + thickness[column]) * eastward[column]


cdef void vorticity_of_row(Py_ssize_t width, readable_row thickness, readable_row southern_thickness,
                           readable_row eastward, readable_row southern_eastward, readable_row northward,
                           double coriolis, double per_m, writable_row vorticity) noexcept nogil:
    cdef Py_ssize_t column
    for column in range(1, width):
        vorticity[column] = (
            coriolis + per_m * (northward[column] - northward[column - 1] - eastward[column] + southern_eastward[column])
        ) / (0.25 * (thickness[column] + thickness[column - 1] + southern_thickness[column]
                     + southern_thickness[column - 1]))


cdef void bernoulli_of_row(Py_ssize_t width, readable_row thickness, readable_row eastward, readable_row northward,
                           readable_row northern_northward, double gravity, writable_row bernoulli) noexcept nogil:
    cdef Py_ssize_t column
    for column in range(width - 1):
        bernoulli[column] = gravity * thickness[column] + 0.25 * (
            eastward[column] * eastward[column] + eastward[column + 1] * eastward[column + 1]
            + northward[column] * northward[column] + northern_northward[column] * northern_northward[column])


cdef void write_thickness(Py_ssize_t width, readable_row base, readable_row eastward_flux,
                          readable_row northward_flux, readable_row northern_flux, double per_m,
                          writable_row result) noexcept nogil:
    cdef Py_ssize_t column
    for column in range(1, width - 1):
        result[column] = base[column] - per_m * (
            eastward_flux[column + 1] - eastward_flux[column] + northern_flux[column] - northward_flux[column])


cdef void write_eastward(Py_ssize_t width, readable_row base, readable_row south, readable_row here, readable_row north,
                         readable_row vorticity, readable_row northern_vorticity, readable_row flux,
                         readable_row northern_flux, readable_row bernoulli, double quarter_time, double per_m,
                         double smoothing, writable_row result) noexcept nogil:
    cdef Py_ssize_t column
    for column in range(1, width - 1):
        result[column] = base[column] + (
            quarter_time * (vorticity[column] * (flux[column - 1] + flux[column])
                            + northern_vorticity[column] * (northern_flux[column - 1] + northern_flux[column]))
            - per_m * (bernoulli[column] - bernoulli[column - 1])
            + smoothing * (south[column] + north[column] + here[column - 1] + here[column + 1] - 4.0 * here[column]))


cdef void write_northward(Py_ssize_t width, readable_row base, readable_row south, readable_row here,
                          readable_row north, readable_row vorticity, readable_row southern_flux, readable_row flux,
                          readable_row southern_bernoulli, readable_row bernoulli, double quarter_time, double per_m,
                          double smoothing, writable_row result) noexcept nogil:
    cdef Py_ssize_t column
    for column in range(1, width - 1):
        result[column] = base[column] - (
            quarter_time * (vorticity[column] * (southern_flux[column] + flux[column])
                            + vorticity[column + 1] * (southern_flux[column + 1] + flux[column + 1]))
            + per_m * (bernoulli[column] - southern_bernoulli[column])
            - smoothing * (south[column] + north[column] + here[column - 1] + here[column + 1] - 4.0 * here[column]))
