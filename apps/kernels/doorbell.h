/* How the ranks of one node wake one another: for each rank a line of shared memory, and futex(2).
 *
 * A sender rings its receiver's doorbell. A sleeping receiver states how many rings are to wake it, so that a rank that
 * waits for four borders is woken once. The counts only save time: messages are received through MPI, and a sleeper
 * that is woken too early looks and sleeps again.
 */
#ifndef TESTBED_DOORBELL_H
#define TESTBED_DOORBELL_H

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS_PER_SECOND 1000000000LL

typedef struct {
    uint32_t rings;   /* how often this bell was rung: once for each message */
    uint32_t wanted;  /* the count of rings that its owner sleeps for */
    uint32_t asleep;  /* 1 while the owner sleeps: what it sleeps on */
    uint32_t present; /* the owner's mark: that it shares this memory */
    char whole_cache_line[48];
} doorbell;

static inline long long host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

/* The wall clock: the one that ranks on several hosts have in common. */
static inline long long host_wall_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

static inline void host_sleep_until_ns(long long timestamp_ns)
{
    struct timespec timestamp = {timestamp_ns / NANOSECONDS_PER_SECOND, timestamp_ns % NANOSECONDS_PER_SECOND};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &timestamp, NULL) == EINTR)
        ;
}

static inline uint32_t doorbell_rings(doorbell *bell)
{
    return __atomic_load_n(&bell->rings, __ATOMIC_SEQ_CST);
}

static inline void doorbell_ring(doorbell *bell)
{
    uint32_t rings = __atomic_add_fetch(&bell->rings, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&bell->asleep, __ATOMIC_SEQ_CST)
        && (int32_t)(rings - __atomic_load_n(&bell->wanted, __ATOMIC_SEQ_CST)) >= 0
        && __atomic_exchange_n(&bell->asleep, 0, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &bell->asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Sleep until `bell` has been rung `missing` times since its count was `seen`, for at most `limit_ns`. */
static inline void doorbell_sleep(doorbell *bell, uint32_t seen, uint32_t missing, long long limit_ns)
{
    struct timespec limit = {limit_ns / NANOSECONDS_PER_SECOND, limit_ns % NANOSECONDS_PER_SECOND};
    __atomic_store_n(&bell->wanted, seen + missing, __ATOMIC_SEQ_CST);
    __atomic_store_n(&bell->asleep, 1, __ATOMIC_SEQ_CST);
    /* A rank that rings from here on sees the sleeper; a ring before this is seen here. */
    if ((int32_t)(doorbell_rings(bell) - (seen + missing)) < 0)
        syscall(SYS_futex, &bell->asleep, FUTEX_WAIT, 1, &limit, NULL, 0);
    __atomic_store_n(&bell->asleep, 0, __ATOMIC_SEQ_CST);
}

#endif
