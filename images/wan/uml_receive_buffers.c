/* A replacement of socket that gives a User-Mode Linux guest larger buffers for the frames that it receives.
 *
 * The guest reads each interface of the router through a packet socket. The kernel's default buffer holds some ninety
 * full frames. On a busy host the guest waits for a processor for longer than they take to come, and what does not fit
 * is lost, uncounted by any queue of the wide area; TCP then waits for a retransmission. This library (LD_PRELOAD) lets
 * such a socket hold frames for about a second. The socket that only sends (protocol 0) receives nothing to keep.
 */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel doubles this, and counts a full frame as some 2300 bytes. */
static const int buffer_bytes = 2 << 20;

int socket(int domain, int type, int protocol)
{
    int made = syscall(SYS_socket, domain, type, protocol);

    if (made >= 0 && domain == AF_PACKET && protocol != 0
        && setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof buffer_bytes) < 0)
        setsockopt(made, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    return made;
}
