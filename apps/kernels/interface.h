/* A node's network interface: it takes in one message after another, of whichever of the node's ranks. */
#ifndef TESTBED_INTERFACE_H
#define TESTBED_INTERFACE_H

/* Take in a message that is ready at `ready_ns` and takes `duration_ns`, not before those taken in earlier. `free_ns` is
 * the timestamp from which on the interface has nothing to do; return the new one. */
static inline long long interface_take(long long *free_ns, long long ready_ns, long long duration_ns)
{
    long long before_ns = __atomic_load_n(free_ns, __ATOMIC_SEQ_CST), taken_ns;
    do
        taken_ns = (before_ns > ready_ns ? before_ns : ready_ns) + duration_ns;
    while (!__atomic_compare_exchange_n(free_ns, &before_ns, taken_ns, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return taken_ns;
}

#endif
