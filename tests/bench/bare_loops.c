/* The applications' updates as plain loops over two-dimensional arrays: what a compiler makes of the textbook's form.
 *
 * Each array has `rows` x `columns` inner points and a border of one point; `WIDTH` is the length of its rows.
 */

#include <math.h>
#include <stddef.h>

#define WIDTH ((size_t)columns + 2)

/* A whole black sweep, then a whole red one; returns the largest change. The first inner point is black. */
double poisson(double *values, const double *source, long rows, long columns)
{
    double largest = 0.0;
    for (long colour = 0; colour < 2; colour++)
        for (long row = 1; row <= rows; row++) {
            double *here = values + row * WIDTH;
            for (long column = 1 + ((row - 1 + colour) & 1); column <= columns; column += 2) {
                double updated = 0.25 * (here[column - WIDTH] + here[column + WIDTH] + here[column - 1]
                                         + here[column + 1] + source[row * WIDTH + column]);
                double change = fabs(updated - here[column]);
                here[column] = updated;
                if (change > largest)
                    largest = change;
            }
        }
    return largest;
}

static void corner(double *values, long bottom, long top, long left, long right, long columns, double relaxation)
{
    for (long row = bottom; row <= top; row++) {
        double *here = values + row * WIDTH;
        for (long column = left; column <= right; column++)
            here[column] = 0.25 * relaxation * (here[column - WIDTH] + here[column + WIDTH] + here[column + 1]
                                                + here[column - 1]) + (1.0 - relaxation) * here[column];
    }
}

/* The upper left and the lower right corner, then the upper right and the lower left one. */
void laplace(double *values, long rows, long columns, double relaxation)
{
    long middle_row = rows / 2, middle_column = columns / 2;
    corner(values, middle_row + 1, rows, 1, middle_column, columns, relaxation);
    corner(values, 1, middle_row, middle_column + 1, columns, columns, relaxation);
    corner(values, middle_row + 1, rows, middle_column + 1, columns, columns, relaxation);
    corner(values, 1, middle_row, 1, middle_column, columns, relaxation);
}

/* One explicit step from `old` to `updated`. */
void heat(const double *old, double *updated, long rows, long columns, double ratio)
{
    for (long row = 1; row <= rows; row++)
        for (long column = 1; column <= columns; column++) {
            const double *here = old + row * WIDTH + column;
            updated[row * WIDTH + column] =
                here[0] + ratio * (*(here - WIDTH) + *(here + WIDTH) + here[-1] + here[1] - 4.0 * here[0]);
        }
}

static void close_border(double *values, long rows, long columns)
{
    for (long row = 1; row <= rows; row++) {
        values[row * WIDTH] = values[row * WIDTH + columns];
        values[row * WIDTH + columns + 1] = values[row * WIDTH + 1];
    }
    for (long column = 0; column <= columns + 1; column++) {
        values[column] = values[rows * WIDTH + column];
        values[(rows + 1) * WIDTH + column] = values[WIDTH + column];
    }
}

/* `result` is `base` plus `time` times the tendency of `state`: thickness, eastward and northward velocity, spacing 1. */
static void stage(const double *base, const double *state, double *result, double *work, long rows, long columns,
                  double time, double gravity, double coriolis, double viscosity)
{
    size_t size = (size_t)(rows + 2) * WIDTH;
    const double *h = state, *u = state + size, *v = u + size;
    double *east = work, *north = work + size, *q = north + size, *bernoulli = q + size;
    for (long row = 0; row <= rows + 1; row++)
        for (long column = 0; column <= columns + 1; column++) {
            size_t at = row * WIDTH + column;
            if (column > 0)
                east[at] = 0.5 * (h[at - 1] + h[at]) * u[at];
            if (row > 0)
                north[at] = 0.5 * (h[at - WIDTH] + h[at]) * v[at];
            if (row > 0 && column > 0)
                q[at] = (coriolis + v[at] - v[at - 1] - u[at] + u[at - WIDTH])
                        / (0.25 * (h[at] + h[at - 1] + h[at - WIDTH] + h[at - WIDTH - 1]));
            if (row <= rows && column <= columns)
                bernoulli[at] = gravity * h[at]
                                + 0.25 * (u[at] * u[at] + u[at + 1] * u[at + 1] + v[at] * v[at]
                                          + v[at + WIDTH] * v[at + WIDTH]);
        }
    for (long row = 1; row <= rows; row++)
        for (long column = 1; column <= columns; column++) {
            size_t at = row * WIDTH + column;
            result[at] = base[at] - time * (east[at + 1] - east[at] + north[at + WIDTH] - north[at]);
            result[size + at] = base[size + at] + time * (
                0.25 * (q[at] * (north[at - 1] + north[at])
                        + q[at + WIDTH] * (north[at + WIDTH - 1] + north[at + WIDTH]))
                - (bernoulli[at] - bernoulli[at - 1])
                + viscosity * (u[at - WIDTH] + u[at + WIDTH] + u[at - 1] + u[at + 1] - 4.0 * u[at]));
            result[2 * size + at] = base[2 * size + at] - time * (
                0.25 * (q[at] * (east[at - WIDTH] + east[at]) + q[at + 1] * (east[at - WIDTH + 1] + east[at + 1]))
                + (bernoulli[at] - bernoulli[at - WIDTH])
                - viscosity * (v[at - WIDTH] + v[at + WIDTH] + v[at - 1] + v[at + 1] - 4.0 * v[at]));
        }
    for (long field = 0; field < 3; field++)
        close_border(result + field * size, rows, columns);
}

/* One time step of the flow, in three stages; `work` holds ten fields. */
void ensflow(double *state, double *work, long rows, long columns, double step, double gravity, double coriolis,
             double viscosity)
{
    size_t size = (size_t)(rows + 2) * WIDTH;
    double *first = work + 4 * size, *second = work + 7 * size;
    for (long field = 0; field < 3; field++)
        close_border(state + field * size, rows, columns);
    stage(state, state, first, work, rows, columns, step / 3.0, gravity, coriolis, viscosity);
    stage(state, first, second, work, rows, columns, step / 2.0, gravity, coriolis, viscosity);
    stage(state, second, state, work, rows, columns, step, gravity, coriolis, viscosity);
}
