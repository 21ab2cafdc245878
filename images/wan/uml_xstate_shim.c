/* A replacement of ptrace that lets a User-Mode Linux guest set registers on processors with a large register state.
 *
 * A User-Mode Linux guest saves and restores the floating-point state of its processes with ptrace, in a buffer of a
 * fixed size. Linux accepts only a complete state. On processors with AMX (11 KB of state) the guest's buffer is too
 * small, so its first process dies and the guest ends. This library replaces ptrace (LD_PRELOAD). It reads the complete
 * current state, overwrites its beginning with the guest's buffer, and sets the result. All other requests are passed
 * on unchanged.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Not on the stack, because the guest's kernel stacks are small. One buffer is enough: only one thread traces. */
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
