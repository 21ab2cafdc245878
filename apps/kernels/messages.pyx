# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One rank's messages: persistent MPI messages, their pacing to an interconnect, and waiting at almost no cost.

Each rank has one `Post`: the timestamp of its emulated processor, its interconnect's state, and doorbells to wake other
ranks of its node and to be woken. `MessageSet` is a set of messages that are sent and received together.

Every message is a real MPI message that begins with a stamp: the time at which the sender's interconnect has taken it
in. A receiver's processor has its values no earlier than the interconnect's latency after that. No rank sleeps for
this: the processor's timestamp is moved on, and the pacing of its next phase begins there. So the phases' sleep hides
the host's cost of a message and of waking up a rank, as long as the sleep is long enough. A message that is not paced
(to another cluster, or inside one without a stated interconnect) takes the host's time on both sides.

Waiting: a rank of the same node rings; for messages from other nodes the rank sleeps in poll(2) on the sockets that MPI
uses. Both sleeps end after a while, because MPI may have to continue an operation that it has begun.

A job may have messages between clusters that take longer than the wide area itself. Such a message begins with the wall
clock's time at which it left. Its receiver has it that much later than it came, and no earlier than the wide area's
delay after it left, even if the receiver looked for it only then.

Because every sleep has an end, and what a rank does between two sleeps is short, a rank knows when it stood still: the
clock is then far past that end. If the messages that it sent or waited for take the host's time, the time in which it
stood still lengthens the run, and nothing else shows it.
"""

from libc.stdlib cimport calloc, free
from libc.stdint cimport uint32_t, uintptr_t
from libc.string cimport memcpy


cdef extern from "mpi.h" nogil:
    ctypedef struct _communicator "struct ompi_communicator_t":
        pass
    ctypedef _communicator* MPI_Comm
    ctypedef struct _request "struct ompi_request_t":
        pass
    ctypedef _request* MPI_Request
    ctypedef struct _datatype "struct ompi_datatype_t":
        pass
    ctypedef _datatype* MPI_Datatype
    ctypedef struct MPI_Status:
        pass
    MPI_Datatype MPI_DOUBLE
    MPI_Status* MPI_STATUSES_IGNORE
    int MPI_SUCCESS
    int MPI_Send_init(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
    int MPI_Recv_init(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)
    int MPI_Startall(int, MPI_Request*)
    int MPI_Testsome(int, MPI_Request*, int*, int*, MPI_Status*)
    int MPI_Request_free(MPI_Request*)


cdef extern from "poll.h" nogil:
    struct pollfd:
        int fd
        short events
        short revents
    int POLLIN
    int poll(pollfd*, unsigned long, int)


cdef extern from "doorbell.h" nogil:
    ctypedef struct doorbell:
        uint32_t present
    long long host_now_ns()
    long long host_wall_now_ns()
    void host_sleep_until_ns(long long timestamp_ns)
    uint32_t doorbell_rings(doorbell*)
    void doorbell_ring(doorbell*)
    void doorbell_sleep(doorbell*, uint32_t, uint32_t, long long)


cdef extern from "interface.h" nogil:
    long long interface_take(long long* free_ns, long long ready_ns, long long duration_ns)


cdef enum:
    # Host times. A long sleep for messages that arrive without help, and a short one if MPI may have to help.
    LONG_SLEEP_NS = 100000000
    NAP_NS = 50000
    # A rank that must ask again and again, since no socket tells when to, sleeps for this part of what it has waited.
    LONGEST_NAP_NS = 10000000
    NAPS_IN_A_WAIT = 16
    POLL_MS = 100
    NANOSECONDS_PER_MS = 1000000
    # While a message has yet to be sent, and as long as MPI may still be opening sockets.
    SHORT_POLL_MS = 2
    FIRST_WAITS = 100
    LATE_NS = 100000
    # A rank stood still if it wakes so long after the end of its sleep: no queue for a core is as long.
    STANDSTILL_NS = 100000000
    # How often MPI was asked for messages in vain although something had come.
    IN_VAIN = 8


# A bit pattern that no computation produces: it marks the last value of a message that has not arrived completely.
cdef long long NOTHING = -1


cdef struct Message:
    double* view
    Py_ssize_t stride
    Py_ssize_t values
    double* buffer
    int peer
    bint paced
    bint near


cdef struct Arrival:
    long long stamp_ns
    long long transmission_ns


cdef class Post:
    """A rank's side of all its messages.

    `communicator_address` is that of the MPI handle. `doorbells` is memory shared by the ranks of this node, a line for
    each rank of the job, in which those of this node have made their mark. `find_sockets` calls `watch` again.
    `paced_ranks` has a true byte for each rank that the interconnect reaches, all of them on this machine, since stamps
    are of its monotonic clock; all zeros without an interconnect, whose costs are in host nanoseconds. `interface` is
    the timestamp from which on the interface has nothing to do through which messages leave. `far_delays_ns` holds for
    each rank of another cluster the delay of the wide area from the clock there to the clock here, and `far_extras_ns`
    by how much longer than the delay its messages take, in host nanoseconds; 0 for other ranks.
    """

    cdef public long long timestamp_ns
    cdef public long long paced_messages
    cdef public long long late_messages
    cdef public long long host_lateness_max_ns
    cdef public long long passed_lateness_ns
    cdef readonly int rank
    cdef MPI_Comm communicator
    cdef object shared, find_sockets
    cdef unsigned char[::1] paced_ranks
    cdef doorbell* bells
    cdef double latency_ns, message_ns, byte_ns
    cdef long long[::1] far_delays_ns, far_extras_ns
    cdef long long[::1] interface
    cdef long long sent_ns, in_free_ns
    cdef bint shares_interface
    cdef readonly bint any_paced, any_unpaced_sends
    cdef bint in_host_time
    cdef Py_ssize_t eager_bytes
    cdef pollfd* sockets
    cdef int n_sockets
    cdef unsigned int naps, far_waits
    cdef uint32_t heard
    # When the rank was last known to be awake, in its present exchange.
    cdef long long awake_ns
    # Pairs of host timestamps between which the rank stood still: in its present wait, and while it delayed the rank.
    cdef list standstills_now
    cdef readonly list standstills

    def __init__(
        self, uintptr_t communicator_address, int rank, unsigned char[::1] doorbells not None,
        unsigned char[::1] paced_ranks not None, double latency_ns, double message_ns, double byte_ns,
        long long[::1] interface not None,
        long long[::1] far_delays_ns not None, long long[::1] far_extras_ns not None, bint in_host_time,
        Py_ssize_t eager_bytes, find_sockets,
    ):
        self.communicator = (<MPI_Comm*> communicator_address)[0]
        self.rank = rank
        self.shared = doorbells
        self.bells = <doorbell*> &doorbells[0]
        self.paced_ranks = paced_ranks
        self.latency_ns, self.message_ns, self.byte_ns = latency_ns, message_ns, byte_ns
        self.interface = interface
        self.far_delays_ns, self.far_extras_ns = far_delays_ns, far_extras_ns
        self.any_paced = any(paced_ranks)
        self.in_host_time = in_host_time
        self.eager_bytes = eager_bytes
        self.find_sockets = find_sockets
        self.standstills_now, self.standstills = [], []
        self.timestamp_ns = host_now_ns()

    def __dealloc__(self):
        free(self.sockets)

    def send_through(self, long long[::1] interface not None, bint shared):
        """Let messages leave through another interface from now on, which other jobs use, too, if it is `shared`."""
        self.interface = interface
        self.shares_interface = shared

    def is_near(self, int rank):
        """Return whether that rank shares this node's memory."""
        return self.bells[rank].present == 1

    def watch(self, sockets):
        """Set the sockets, by their numbers, through which messages from other nodes come; all of them are watched."""
        cdef list numbers = list(sockets)
        cdef int index, number
        cdef pollfd* watched = <pollfd*> calloc(max(1, len(numbers)), sizeof(pollfd))
        if watched == NULL:
            raise MemoryError()
        free(self.sockets)
        self.sockets = watched
        self.n_sockets = len(numbers)
        for index, number in enumerate(numbers):
            self.sockets[index].fd = number
            self.sockets[index].events = POLLIN

    cdef int nap(self) except -1:
        cdef long long began_ns = host_now_ns()
        host_sleep_until_ns(began_ns + NAP_NS)
        return self.note_sleep(began_ns, NAP_NS)

    cdef int nap_and_look_for_sockets(self, long long waits_since_ns) except -1:
        """Nap, the longer the longer this wait lasts: a full link may take seconds to let a connection be opened."""
        cdef long long began_ns = host_now_ns(), nap_ns
        self.naps += 1
        if self.naps & (self.naps - 1) == 0:
            self.find_sockets()
        nap_ns = min(max((began_ns - waits_since_ns) / NAPS_IN_A_WAIT, NAP_NS), LONGEST_NAP_NS)
        host_sleep_until_ns(began_ns + nap_ns)
        return self.note_sleep(began_ns, nap_ns)

    cdef int sleep_on_sockets(self, int limit_ms) except -2:
        """Sleep until something has come through a watched socket; return how many have something."""
        cdef long long began_ns = host_now_ns()
        cdef int ready = poll(self.sockets, self.n_sockets, limit_ms)
        self.note_sleep(began_ns, limit_ms * <long long> NANOSECONDS_PER_MS)
        return ready

    cdef int sleep_on_doorbell(self, uint32_t seen, uint32_t missing) except -1:
        """Sleep until this rank's doorbell has been rung `missing` times since it was `seen`."""
        cdef long long began_ns = host_now_ns()
        doorbell_sleep(&self.bells[self.rank], seen, missing, LONG_SLEEP_NS)
        return self.note_sleep(began_ns, LONG_SLEEP_NS)

    cdef int note_sleep(self, long long began_ns, long long limit_ns) except -1:
        """Note a standstill if a sleep of at most `limit_ns`, or what went before it, took much longer."""
        self.note_awake(began_ns)
        self.awake_ns = host_now_ns()
        if self.awake_ns - began_ns > limit_ns + STANDSTILL_NS:
            self.standstills_now.append((began_ns, self.awake_ns))
        return 0

    cdef int note_awake(self, long long now_ns) except -1:
        """Note that the rank is awake now, and a standstill if what it has done since it last was took very long."""
        if now_ns - self.awake_ns > STANDSTILL_NS:
            self.standstills_now.append((self.awake_ns, now_ns))
        self.awake_ns = now_ns
        return 0

    cdef int end_wait(self, bint in_host_time) except -1:
        """Keep the standstills of a wait if what it waited for takes the host's time; else the timestamps stand."""
        if self.standstills_now:
            if in_host_time:
                self.standstills += self.standstills_now
            self.standstills_now = []
        return 0

    def take_standstills(self):
        """Return the standstills since the last call that delayed this rank, and forget them."""
        taken, self.standstills = self.standstills, []
        return taken

    cdef take_turn(self):
        """Wait until the processor's timestamp, so that messages take their turns at a shared interface in that order.

        Taken before, a turn would hold up what other ranks send meanwhile.
        """
        if self.timestamp_ns > host_now_ns():
            host_sleep_until_ns(self.timestamp_ns)

    cdef leave_in_time(self):
        """Wait until an unpaced message may leave, at the processor's timestamp, and note how late it leaves."""
        if self.timestamp_ns > host_now_ns():
            host_sleep_until_ns(self.timestamp_ns)
        self.pass_lateness(host_now_ns() - self.timestamp_ns)

    cdef void pass_lateness(self, long long lateness_ns):
        """Note host time that is no emulated time and goes into what other ranks, or this one, take for it."""
        self.passed_lateness_ns = max(self.passed_lateness_ns, lateness_ns)

    def wait_until_timestamp(self):
        """Sleep until the host's clock reaches the emulated processor's timestamp."""
        if self.timestamp_ns > host_now_ns():
            host_sleep_until_ns(self.timestamp_ns)


def sleep_until(long long timestamp_ns):
    """Sleep until a timestamp of the host's monotonic clock."""
    host_sleep_until_ns(timestamp_ns)


cdef int checked(int code) except -1:
    if code != MPI_SUCCESS:
        raise RuntimeError(f"MPI reports error {code} for a message.")
    return 0


cdef class Requests:
    """Active or inactive persistent requests, receives before sends, and how many of each are still to be completed."""

    cdef MPI_Request* requests
    cdef int* completed
    cdef int receives, sends, missing_receives, missing_sends

    def __cinit__(self, int capacity):
        self.requests = <MPI_Request*> calloc(max(1, capacity), sizeof(MPI_Request))
        self.completed = <int*> calloc(max(1, capacity), sizeof(int))
        if self.requests == NULL or self.completed == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.requests)
        free(self.completed)

    cdef int test(self) except -1:
        """Let MPI progress and note what has completed. Two calls in a row that find nothing mean there is nothing."""
        cdef int found, fruitless = 0
        cdef int index
        while fruitless < 2 and self.missing_receives + self.missing_sends > 0:
            checked(MPI_Testsome(
                self.receives + self.sends, self.requests, &found, self.completed, MPI_STATUSES_IGNORE
            ))
            if found <= 0:
                fruitless += 1
            for index in range(found):
                if self.completed[index] < self.receives:
                    self.missing_receives -= 1
                else:
                    self.missing_sends -= 1
        return self.missing_receives + self.missing_sends

    cdef free(self):
        for index in range(self.receives + self.sends):
            checked(MPI_Request_free(&self.requests[index]))
        self.receives = self.sends = 0


cdef class MessageSet:
    """A set of messages that are sent and received together many times.

    `sends` and `receives` are triples of a one-dimensional float64 view, which may be strided, the other rank, and a tag.
    """

    cdef Post post
    cdef list views
    cdef Message* messages
    cdef Arrival* arrivals
    cdef int n_sends, n_receives
    cdef int* to_ring
    cdef int n_to_ring
    cdef bint paced_receives, unpaced_receives, paced_sends, unpaced_sends, needs_help, waited_to_send, waited_for_far
    cdef bint lengthened_receives
    # Sends to this node are not waited for: MPI completes them only once their receiver has looked.
    cdef Requests near, far, sent

    def __cinit__(self, Post post not None, sends, receives):
        cdef int index
        self.post = post
        self.views = []
        self.n_sends, self.n_receives = len(sends), len(receives)
        self.messages = <Message*> calloc(max(1, self.n_sends + self.n_receives), sizeof(Message))
        self.arrivals = <Arrival*> calloc(max(1, self.n_receives), sizeof(Arrival))
        self.to_ring = <int*> calloc(max(1, self.n_sends), sizeof(int))
        if self.messages == NULL or self.arrivals == NULL or self.to_ring == NULL:
            raise MemoryError()
        for index, (view, peer, _) in enumerate([*receives, *sends]):
            self.prepare(&self.messages[index], view, peer)
        self.near, self.sent = Requests(len(receives)), Requests(len(sends))
        self.far = Requests(len(receives) + len(sends))
        for index, (_, peer, tag) in enumerate(receives):
            self.add_receive(&self.messages[index], tag)
        for index, (_, peer, tag) in enumerate(sends):
            self.add_send(&self.messages[self.n_receives + index], tag)

    def __dealloc__(self):
        for index in range(self.n_sends + self.n_receives):
            free(self.messages[index].buffer)
        free(self.messages)
        free(self.arrivals)
        free(self.to_ring)

    cdef prepare(self, Message* message, double[:] view, int peer):
        self.views.append(view)
        message.view = &view[0] if view.shape[0] > 0 else NULL
        message.stride = view.strides[0] // <Py_ssize_t> sizeof(double)
        message.values = view.shape[0]
        message.peer = peer
        message.paced = self.post.paced_ranks[peer]
        message.near = self.post.is_near(peer)
        message.buffer = <double*> calloc(1 + message.values, sizeof(double))
        if message.buffer == NULL:
            raise MemoryError()
        self.needs_help |= (
            self.post.is_near(peer) and (1 + message.values) * <Py_ssize_t> sizeof(double) > self.post.eager_bytes
        )

    cdef add_receive(self, Message* message, int tag):
        cdef Requests requests = self.near if self.post.is_near(message.peer) else self.far
        checked(MPI_Recv_init(
            message.buffer, 1 + message.values, MPI_DOUBLE, message.peer, tag, self.post.communicator,
            &requests.requests[requests.receives],
        ))
        requests.receives += 1
        self.lengthened_receives |= self.post.far_extras_ns[message.peer] > 0
        if message.paced:
            self.paced_receives = True
        else:
            self.unpaced_receives = True

    cdef add_send(self, Message* message, int tag):
        near = self.post.is_near(message.peer)
        cdef Requests requests = self.sent if near else self.far
        checked(MPI_Send_init(
            message.buffer, 1 + message.values, MPI_DOUBLE, message.peer, tag, self.post.communicator,
            &requests.requests[requests.receives + requests.sends],
        ))
        requests.sends += 1
        if message.paced:
            self.paced_sends = True
        else:
            self.unpaced_sends = self.post.any_unpaced_sends = True
        if near:
            self.to_ring[self.n_to_ring] = message.peer
            self.n_to_ring += 1

    cpdef start(self):
        """Send what the views hold now and make ready to receive."""
        cdef Post post = self.post
        cdef int index
        if self.unpaced_sends and not post.in_host_time:
            post.leave_in_time()
        elif self.paced_sends and post.shares_interface:
            post.take_turn()
        post.awake_ns = host_now_ns()
        while self.sent.test() > 0:
            post.nap()
        for index in range(self.n_receives, self.n_receives + self.n_sends):
            self.pack(&self.messages[index])
        for index in range(self.n_receives):
            memcpy(self.messages[index].buffer + self.messages[index].values, &NOTHING, sizeof(NOTHING))
        start_requests(self.near)
        start_requests(self.sent)
        start_requests(self.far)
        for index in range(self.n_to_ring):
            doorbell_ring(&post.bells[self.to_ring[index]])
        post.note_awake(host_now_ns())
        if self.unpaced_sends:
            post.end_wait(True)

    cpdef wait(self):
        """Wait until all messages of this set have arrived in their views; after that, sent views may change."""
        cdef int index
        self.post.awake_ns = host_now_ns()
        self.wait_near()
        self.wait_far()
        for index in range(self.n_receives):
            unpack(&self.messages[index])
        self.move_on()

    cpdef run(self):
        """Start and wait."""
        self.start()
        self.wait()

    def free(self):
        """Give the messages back to MPI, once the last ones have been received."""
        while self.sent.test() > 0:
            host_sleep_until_ns(host_now_ns() + NAP_NS)
        self.near.free()
        self.sent.free()
        self.far.free()

    cdef int pack(self, Message* message) except -1:
        cdef Post post = self.post
        cdef long long stamp_ns = 0
        cdef Py_ssize_t index
        if message.paced:
            stamp_ns = post.sent_ns = interface_take(
                &post.interface[0], post.timestamp_ns,
                <long long> (post.message_ns + message.values * <Py_ssize_t> sizeof(double) * post.byte_ns),
            )
        elif post.far_extras_ns[message.peer] > 0:
            stamp_ns = host_wall_now_ns()
        memcpy(message.buffer, &stamp_ns, sizeof(stamp_ns))
        if message.stride == 1:
            memcpy(message.buffer + 1, message.view, message.values * sizeof(double))
        else:
            for index in range(message.values):
                message.buffer[1 + index] = message.view[index * message.stride]
        return 0

    cdef int wait_near(self) except -1:
        """Ask MPI only when enough rings show that something has come: asking costs, and yields the core to others."""
        cdef Requests near = self.near
        cdef doorbell* bell = &self.post.bells[self.post.rank]
        cdef uint32_t seen
        self.post.heard += near.receives
        if self.needs_help:
            while near.test() + self.sent.test() > 0:
                self.post.nap()
            return 0
        if near.receives > 0:
            self.post.sleep_on_doorbell(self.post.heard - near.receives, near.receives)
        seen = doorbell_rings(bell)
        while near.test() > 0:
            self.post.sleep_on_doorbell(seen, near.missing_receives)
            seen = doorbell_rings(bell)
        return 0

    cdef int wait_far(self) except -1:
        cdef Post post = self.post
        cdef Requests far = self.far
        cdef int missing = far.missing_receives + far.missing_sends, ready = 1, in_vain = 0
        cdef bint first_waits = post.far_waits < FIRST_WAITS
        cdef long long began_ns = host_now_ns()
        cdef int poll_ms = SHORT_POLL_MS if first_waits or missing > far.missing_receives else POLL_MS
        post.far_waits += missing > 0
        self.waited_to_send = self.waited_for_far = False
        while far.test() > 0:
            # Data that the socket does not take at once (the wide area is slower) delays the emulated processor.
            self.waited_to_send |= far.missing_sends > 0
            self.waited_for_far |= far.missing_receives > 0
            if ready == 0 and far.missing_receives + far.missing_sends < missing:
                # It came through a socket that is not watched yet.
                post.find_sockets()
            missing = far.missing_receives + far.missing_sends
            if self.has_come_unnoticed():
                continue
            if post.n_sockets == 0 or in_vain >= IN_VAIN:
                # No socket is known, or the data that comes through them is not for this set.
                in_vain = 0
                post.nap_and_look_for_sockets(began_ns)
            else:
                ready = post.sleep_on_sockets(poll_ms)
                poll_ms = min(2 * poll_ms, POLL_MS)
                in_vain += 1
        return 0

    cdef bint has_come_unnoticed(self):
        """Return whether a far message came during the last call of MPI, after MPI had looked for it.

        No socket would signal it again. The sockets still signal a message that has only partly arrived.
        """
        cdef int index, come = 0
        cdef long long last
        for index in range(self.n_receives):
            memcpy(&last, self.messages[index].buffer + self.messages[index].values, sizeof(last))
            come += not self.messages[index].near and last != NOTHING
        return come > self.far.receives - self.far.missing_receives

    cdef int move_on(self) except -1:
        """Move the processor's timestamp to the time at which it has sent and received all."""
        cdef Post post = self.post
        cdef long long timestamp_ns = post.timestamp_ns
        cdef long long now_ns = host_now_ns()
        cdef bint in_host_time = self.unpaced_receives or self.waited_to_send or not post.any_paced
        post.note_awake(now_ns)
        post.end_wait(in_host_time)
        if self.n_sends > 0 and post.sent_ns > timestamp_ns:
            timestamp_ns = post.sent_ns
        if self.paced_receives:
            timestamp_ns = max(timestamp_ns, self.taken_in_ns())
        if self.lengthened_receives:
            timestamp_ns = max(timestamp_ns, self.crossed_ns(now_ns))
        if self.unpaced_receives and post.any_paced and not self.waited_for_far:
            # Nothing was waited for from afar, so what is late here was late before, or is this rank itself.
            post.pass_lateness(now_ns - timestamp_ns)
        if in_host_time:
            timestamp_ns = max(timestamp_ns, now_ns)
        elif now_ns - timestamp_ns > LATE_NS:
            post.late_messages += self.n_receives
            post.host_lateness_max_ns = max(post.host_lateness_max_ns, now_ns - timestamp_ns)
        post.timestamp_ns = timestamp_ns
        if post.in_host_time and timestamp_ns > now_ns:
            host_sleep_until_ns(timestamp_ns)
        return 0

    cdef long long crossed_ns(self, long long now_ns):
        """Return when the last of the messages has crossed that take longer than the wide area itself.

        A message that was waited for came just now. Any other one came between the delay after it left and now; the
        earlier one counts, because the rest is what the rank took to look.
        """
        cdef Post post = self.post
        cdef long long wall_to_now_ns = now_ns - host_wall_now_ns()
        cdef long long left_ns, came_ns, extra_ns, last_ns = 0, extra_of_last_ns = 0, crossed_ns = 0
        cdef int index
        for index in range(self.n_receives):
            extra_ns = post.far_extras_ns[self.messages[index].peer]
            if extra_ns == 0:
                continue
            memcpy(&left_ns, self.messages[index].buffer, sizeof(left_ns))
            came_ns = min(now_ns, left_ns + wall_to_now_ns + post.far_delays_ns[self.messages[index].peer])
            crossed_ns = max(crossed_ns, came_ns + extra_ns)
            if came_ns >= last_ns:
                last_ns, extra_of_last_ns = came_ns, extra_ns
        return max(crossed_ns, now_ns + extra_of_last_ns) if self.waited_for_far else crossed_ns

    cdef long long taken_in_ns(self):
        """Return when the receiver's interconnect has delivered the last message: one after another, in stamp order."""
        cdef Post post = self.post
        cdef long long stamp_ns
        cdef Message* message
        cdef int index, position, taken = 0
        for index in range(self.n_receives):
            message = &self.messages[index]
            if not message.paced:
                continue
            memcpy(&stamp_ns, message.buffer, sizeof(stamp_ns))
            position = taken
            while position > 0 and self.arrivals[position - 1].stamp_ns > stamp_ns:
                self.arrivals[position] = self.arrivals[position - 1]
                position -= 1
            self.arrivals[position].stamp_ns = stamp_ns
            self.arrivals[position].transmission_ns = <long long> (
                message.values * <Py_ssize_t> sizeof(double) * post.byte_ns
            )
            taken += 1
        for index in range(taken):
            post.in_free_ns = max(
                self.arrivals[index].stamp_ns + <long long> post.latency_ns,
                post.in_free_ns + self.arrivals[index].transmission_ns,
            )
        post.paced_messages += taken
        return post.in_free_ns


cdef int start_requests(Requests requests) except -1:
    requests.missing_receives, requests.missing_sends = requests.receives, requests.sends
    if requests.receives + requests.sends > 0:
        checked(MPI_Startall(requests.receives + requests.sends, requests.requests))
    return 0


cdef void unpack(Message* message) nogil:
    cdef Py_ssize_t index
    if message.stride == 1:
        memcpy(message.view, message.buffer + 1, message.values * sizeof(double))
    else:
        for index in range(message.values):
            message.view[index * message.stride] = message.buffer[1 + index]


def combine(double[::1] values not None, double[:, ::1] others not None, Py_ssize_t added):
    """Add the first `added` columns of `others` to those of `values`; keep the largest of each column after them."""
    cdef Py_ssize_t row, column
    for row in range(others.shape[0]):
        for column in range(added):
            values[column] += others[row, column]
        for column in range(added, values.shape[0]):
            if not (others[row, column] <= values[column]):
                values[column] = others[row, column]


def run_in_turn(Post post not None, list sets not None, long long[::1] durations_ns not None):
    """Run sets of messages in turn, and add the duration of each, by the rank's timestamp, to `durations_ns`."""
    cdef Py_ssize_t index
    cdef MessageSet messages
    cdef long long started_ns = post.timestamp_ns
    for index in range(len(sets)):
        messages = sets[index]
        messages.start()
        messages.wait()
        durations_ns[index] += post.timestamp_ns - started_ns
        started_ns = post.timestamp_ns
