/* A wall clock that can be set for the processes of one container, without touching the host's.
 *
 * Preloaded into every process. What it adds to the wall clock, in nanoseconds, is read from the file STEP, which all
 * processes map. Other clocks are left alone, as they are when somebody sets a real wall clock. The kernel knows nothing
 * of the step: so a deadline on the wall clock, which is what a value above BEGAN must be, is handed to it without the
 * step. It is read as it was at the call, so a wait that is under way while the clock is set ends as it was meant to.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BEGAN 1000000000
#define SECOND_NS 1000000000LL

static const volatile int64_t *step;

__attribute__((constructor)) static void map_step(void) {
    int file = open(STEP, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        step = mapped;
}

static void add(struct timespec *at, int64_t added_ns) {
    int64_t ns = at->tv_nsec + added_ns % SECOND_NS;
    at->tv_sec += added_ns / SECOND_NS;
    if (ns >= SECOND_NS)
        at->tv_sec++, ns -= SECOND_NS;
    if (ns < 0)
        at->tv_sec--, ns += SECOND_NS;
    at->tv_nsec = ns;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && step && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        add(now, *step);
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now)
        *now = exact.tv_sec;
    return exact.tv_sec;
}

static struct timespec of_kernel(const struct timespec *deadline) {
    struct timespec at = *deadline;
    if (step && at.tv_sec > BEGAN)
        add(&at, -*step);
    return at;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline) {
    int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) = dlsym(RTLD_NEXT, __func__);
    struct timespec at = of_kernel(deadline);
    return next(condition, mutex, &at);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
    int (*next)(pthread_mutex_t *, const struct timespec *) = dlsym(RTLD_NEXT, __func__);
    struct timespec at = of_kernel(deadline);
    return next(mutex, &at);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
    int (*next)(sem_t *, const struct timespec *) = dlsym(RTLD_NEXT, __func__);
    struct timespec at = of_kernel(deadline);
    return next(semaphore, &at);
}
