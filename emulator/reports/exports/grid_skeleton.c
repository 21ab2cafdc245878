/* A grid application's skeleton for SMPI: its messages are real MPI messages, its computing is only waited for.
 *
 * Usage: grid_skeleton PARAMETERS.json, as many processes as the parameters say. Rank 0 prints a line of JSON with
 * the seconds of an iteration, the first one not counted.
 *
 * An iteration is that of the application: in each of its phases every process computes, and gives its outer points to
 * its neighbours - in four consecutive steps, or all at once. After some iterations all take part in a reduction along
 * the tree that the parameters state. Between processes of one cluster each message costs its sender a little time of
 * its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4, COLLECT = STEPS, DISTRIBUTE };

/* One step of the border exchange: to whom, from whom (-1: nobody), and how many bytes either way. */
struct step {
    int receiver, sender, bytes;
};

struct skeleton {
    int rank, processes, iterations, overlapped, phases, meets_every, reduction_bytes;
    double compute_flops, message_flops;
    int *cluster, *reports_to;
    struct step steps[STEPS];
    char *sent, *received;
    MPI_Request *requests;
};

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "grid_skeleton: %s %s\n", what, which);
    exit(EXIT_FAILURE);
}

static char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail("cannot read", path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = calloc(size + 1, 1);
    if (fread(text, 1, size, file) != (size_t)size)
        fail("cannot read", path);
    fclose(file);
    return text;
}

/* The number under `key` of a flat JSON object, or the one with this index in the list under it. */
static double number(const char *text, const char *key, int index)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(text, quoted);
    if (at == NULL)
        fail("the parameters lack", key);
    at += strlen(quoted);
    at += strspn(at, " \n[");
    for (; index > 0; index--)
        at = strchr(at, ',') + 1;
    return strtod(at, NULL);
}

static int *whole_numbers(const char *text, const char *key, int count)
{
    int *numbers = malloc(count * sizeof *numbers);
    for (int index = 0; index < count; index++)
        numbers[index] = (int)number(text, key, index);
    return numbers;
}

/* Top, bottom, left, right: each step sends one way and receives from the other side. */
static void read_steps(struct skeleton *self, const char *text)
{
    static const char *towards[STEPS] = {"top", "bottom", "left", "right"};
    static const char *from[STEPS] = {"bottom", "top", "right", "left"};
    for (int index = 0; index < STEPS; index++) {
        const char *length = index < 2 ? "row_bytes" : "column_bytes";
        self->steps[index].receiver = (int)number(text, towards[index], self->rank);
        self->steps[index].sender = (int)number(text, from[index], self->rank);
        self->steps[index].bytes = (int)number(text, length, self->rank);
    }
}

static int largest_message(const struct skeleton *self)
{
    int largest = self->reduction_bytes;
    for (int index = 0; index < STEPS; index++)
        if (self->steps[index].bytes > largest)
            largest = self->steps[index].bytes;
    return largest;
}

static struct skeleton read_skeleton(const char *path)
{
    struct skeleton self = {0};
    char *text = text_of(path);
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.processes);
    if (self.processes != (int)number(text, "processes", 0))
        fail("another number of processes runs than stated in", path);
    self.iterations = (int)number(text, "iterations", 0);
    self.overlapped = (int)number(text, "overlapped", 0);
    self.phases = (int)number(text, "phases", 0);
    self.meets_every = (int)number(text, "meets_every", 0);
    self.reduction_bytes = (int)number(text, "reduction_bytes", 0);
    self.message_flops = number(text, "message_flops", 0);
    self.compute_flops = number(text, "compute_flops", self.rank);
    self.cluster = whole_numbers(text, "cluster", self.processes);
    self.reports_to = whole_numbers(text, "reports_to", self.processes);
    read_steps(&self, text);
    self.sent = calloc(largest_message(&self), 1);
    self.received = calloc(largest_message(&self), 1);
    self.requests = malloc((self.processes + 2 * STEPS) * sizeof *self.requests);
    free(text);
    return self;
}

static void begin_send(struct skeleton *self, int receiver, int bytes, int tag, MPI_Request *request)
{
    if (self->cluster[receiver] == self->cluster[self->rank])
        smpi_execute_flops(self->message_flops);
    MPI_Isend(self->sent, bytes, MPI_CHAR, receiver, tag, MPI_COMM_WORLD, request);
}

static void begin_receive(struct skeleton *self, int sender, int bytes, int tag, MPI_Request *request)
{
    MPI_Irecv(self->received, bytes, MPI_CHAR, sender, tag, MPI_COMM_WORLD, request);
}

/* Steps from `first` to before `end`, all at once. */
static void exchange_at_once(struct skeleton *self, int first, int end)
{
    int begun = 0;
    for (int index = first; index < end; index++)
        if (self->steps[index].sender >= 0)
            begin_receive(self, self->steps[index].sender, self->steps[index].bytes, index, &self->requests[begun++]);
    for (int index = first; index < end; index++)
        if (self->steps[index].receiver >= 0)
            begin_send(self, self->steps[index].receiver, self->steps[index].bytes, index, &self->requests[begun++]);
    MPI_Waitall(begun, self->requests, MPI_STATUSES_IGNORE);
}

static void exchange_borders(struct skeleton *self)
{
    int together = self->overlapped ? STEPS : 1;
    for (int first = 0; first < STEPS; first += together)
        exchange_at_once(self, first, first + together);
}

/* Messages to or from all who report to this process. */
static void with_those_below(struct skeleton *self, int tag,
                             void (*begin)(struct skeleton *, int, int, int, MPI_Request *))
{
    int begun = 0;
    for (int other = 0; other < self->processes; other++)
        if (self->reports_to[other] == self->rank)
            begin(self, other, self->reduction_bytes, tag, &self->requests[begun++]);
    MPI_Waitall(begun, self->requests, MPI_STATUSES_IGNORE);
}

static void reduce(struct skeleton *self)
{
    int parent = self->reports_to[self->rank];
    with_those_below(self, COLLECT, begin_receive);
    if (parent >= 0) {
        begin_receive(self, parent, self->reduction_bytes, DISTRIBUTE, &self->requests[0]);
        begin_send(self, parent, self->reduction_bytes, COLLECT, &self->requests[1]);
        MPI_Waitall(2, self->requests, MPI_STATUSES_IGNORE);
    }
    with_those_below(self, DISTRIBUTE, begin_send);
}

static void iterate(struct skeleton *self, int iteration)
{
    for (int phase = 0; phase < self->phases; phase++) {
        smpi_execute_flops(self->compute_flops / self->phases);
        exchange_borders(self);
    }
    if (self->meets_every > 0 && iteration % self->meets_every == 0)
        reduce(self);
}

/* The latest of a time of all processes: they do not all wait for each other. */
static double last_s(double own_s)
{
    double found_s;
    MPI_Allreduce(&own_s, &found_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return found_s;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 2)
        fail("give one argument:", "PARAMETERS.json");
    struct skeleton self = read_skeleton(argv[1]);
    iterate(&self, 0);
    double begun_s = MPI_Wtime();
    for (int iteration = 1; iteration < self.iterations; iteration++)
        iterate(&self, iteration);
    double ended_s = MPI_Wtime();
    double iteration_s = (last_s(ended_s) - last_s(begun_s)) / (self.iterations - 1);
    if (self.rank == 0)
        printf("{\"processes\": %d, \"iterations\": %d, \"iteration_s\": %.9g}\n", self.processes, self.iterations,
               iteration_s);
    MPI_Finalize();
    return 0;
}
