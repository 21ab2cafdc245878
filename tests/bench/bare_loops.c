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
