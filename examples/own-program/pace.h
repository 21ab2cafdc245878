/* Pacing for a program of your own: computing takes as long as it would on the emulated processor.
 *
 *     pace_begin();
 *     ... compute ...
 *     pace_until(points * 100e-9);         // emulated seconds since pace_begin
 *
 * An emulated second is TESTBED_DILATION seconds of the host. Without that variable, as outside of the testbed, nothing
 * sleeps. Messages are not paced: between clusters the wide area is as slow as it should be, inside a cluster they take
 * the host's time. pace_late_phases counts what the host could not compute in time; choose a larger dilation then. */

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static struct timespec pace_began;
static long pace_phases, pace_late_phases;

static void pace_begin(void)
{
    clock_gettime(CLOCK_MONOTONIC, &pace_began);
}

static void pace_until(double emulated_s)
{
    const char *dilation = getenv("TESTBED_DILATION");
    if (dilation == NULL) return;
    double host_s = emulated_s * atof(dilation);
    long long end_ns = pace_began.tv_sec * 1000000000LL + pace_began.tv_nsec + (long long)(host_s * 1e9);
    struct timespec now, end = {end_ns / 1000000000LL, end_ns % 1000000000LL};
    clock_gettime(CLOCK_MONOTONIC, &now);
    pace_phases++;
    pace_late_phases += now.tv_sec * 1000000000LL + now.tv_nsec > end_ns;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {}
}
