/* Lets the guest's kernel set the registers of its processes on processors whose register state is larger than it knows.
 *
 * A User-Mode Linux guest saves and restores the floating-point state of its processes with ptrace, in a buffer of a
 * fixed size. Linux takes such a state only if it is whole, and on processors with AMX (11 KB of state) the guest's is
 * not: its first process dies, and the guest with it. This library stands in for ptrace (LD_PRELOAD): it lays what the
 * guest wants to set over the whole present state and sets that. Everything else passes through unchanged.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Not on the stack: the guest's kernel stacks are small, and only one thread of it traces. */
static char whole_state[65536];

static long set_over_whole_state(long process, const struct iovec *asked)
{
    struct iovec whole = {whole_state, sizeof whole_state};

    if (syscall(SYS_ptrace, PTRACE_GETREGSET, process, NT_X86_XSTATE, &whole) < 0)
        return -1;
    memcpy(whole_state, asked->iov_base, asked->iov_len < whole.iov_len ? asked->iov_len : whole.iov_len);
    return syscall(SYS_ptrace, PTRACE_SETREGSET, process, NT_X86_XSTATE, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list arguments;
    long process, address, data, peeked, result;

    va_start(arguments, request);
    process = va_arg(arguments, pid_t);
    address = va_arg(arguments, long);
    data = va_arg(arguments, long);
    va_end(arguments);

    if (request == PTRACE_SETREGSET && address == NT_X86_XSTATE)
        return set_over_whole_state(process, (const struct iovec *)data);
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        result = syscall(SYS_ptrace, request, process, address, &peeked);
        return result < 0 ? result : peeked;
    }
    return syscall(SYS_ptrace, request, process, address, data);
}
