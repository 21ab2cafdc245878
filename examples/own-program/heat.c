/* heat GRID STEPS [NS_PER_POINT]: the heat equation on a square plate, whose upper edge is hot, by Jacobi's steps.
 *
 * The ranks have strips of rows, and exchange border rows in each step. With NS_PER_POINT, what an update of a point costs
 * on the emulated processor, computing is paced by pace.h; without, it takes the time of this host.
 *
 *     mpicc -O2 -o heat heat.c
 *     mpirun --oversubscribe -n 4 ./heat 400 100 */

#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pace.h"

#define HOT 100.0

/* Exchange the border rows of a strip of `rows` rows, each of `width` points, with the ranks above and below. */
static void exchange(double *strip, int rows, int width, int above, int below)
{
    double *first = strip + width, *last = strip + rows * width, *after = last + width;
    MPI_Sendrecv(first, width, MPI_DOUBLE, above, 0, after, width, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(last, width, MPI_DOUBLE, below, 1, strip, width, MPI_DOUBLE, above, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Compute the next state of a strip from `old`; the first and the last column stay as they are. */
static void step(const double *old, double *new, int rows, int width)
{
    for (int row = 1; row <= rows; row++)
        for (int column = 1; column < width - 1; column++) {
            const double *point = old + row * width + column;
            new[row * width + column] = 0.25 * (point[-1] + point[1] + point[-width] + point[width]);
        }
}

static double sum_of(const double *strip, int rows, int width)
{
    double mine = 0.0, all = 0.0;
    for (int i = width; i < (rows + 1) * width; i++) mine += strip[i];
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int grid = argc > 1 ? atoi(argv[1]) : 0, steps = argc > 2 ? atoi(argv[2]) : 0;
    double ns_per_point = argc > 3 ? atof(argv[3]) : 0.0;
    if (grid < ranks || steps < 1) {
        if (rank == 0) fprintf(stderr, "heat GRID STEPS [NS_PER_POINT]: a grid of at least %d, and a step\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int rows = grid / ranks + (rank < grid % ranks), width = grid + 2;
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    size_t bytes = (size_t)(rows + 2) * width * sizeof(double);
    double *old = calloc(1, bytes), *new = calloc(1, bytes);
    if (rank == 0)
        for (int column = 0; column < width; column++) old[column] = new[column] = HOT;

    MPI_Barrier(MPI_COMM_WORLD);
    double began_host_s = MPI_Wtime();
    for (int done = 0; done < steps; done++) {
        exchange(old, rows, width, above, below);
        pace_begin();
        step(old, new, rows, width);
        if (ns_per_point > 0.0) pace_until((double)rows * grid * ns_per_point * 1e-9);
        double *swapped = old;
        old = new, new = swapped;
    }
    double host_s = MPI_Wtime() - began_host_s, heat = sum_of(old, rows, width);
    long late = 0;
    MPI_Reduce(&pace_late_phases, &late, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d steps: %.3f s of the host, heat %.6f, %ld of %ld phases late\n", ranks, steps, host_s, heat,
               late, pace_phases * ranks);
    MPI_Finalize();
    return 0;
}
