"""One rank's messages to the other ranks of its job: arrays of float64, real MPI messages all of them.

Between ranks of one cluster on one machine a message is paced to the cluster's interconnect, if one is stated; between
machines it takes what the network takes, and between clusters what the wide area takes. The work is done in the
compiled `apps.kernels.messages`; this sets it up.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from apps.counters import MessageCount
from apps.doorbells import open_doorbells, shares_memory
from apps.interfaces import own_interface, shared_interface
from emulator.model.units import NANOSECONDS_PER_SECOND, nanoseconds

if TYPE_CHECKING:
    import mmap

    from mpi4py import MPI

    from apps.setting import JobSetting

Values = npt.NDArray[np.float64]
Nanoseconds = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Outgoing = tuple[Values, int, int]
"""A view to send, the receiver's rank, a tag."""
Incoming = tuple[Values, int, int]
"""A view to fill, the sender's rank, a tag."""

_OPEN_FILES = Path("/proc/self/fd")
_CONNECT_TAG = 20_000
# How far a rank may run ahead of the host's clock: longer than the kernels of other jobs keep the cores busy at a time,
# and too short for anybody to notice that a job is over before its last timestamp.
_LEAD_HOST_NS = 100_000_000
# A rank that sends unpaced messages wakes this much before a phase's end, and sleeps again, briefly, before it sends:
# a core that has idled wakes late, its caches are cold, and other ranks of its node wake at the same time.
_SHORT_LEAD_HOST_NS = 4_000_000
# Open MPI's own default; larger messages through shared memory need their receiver's help to be sent.
_EAGER_LIMIT_BYTES = ("OMPI_MCA_btl_vader_eager_limit", 4096)
# Open MPI's header of a message counts towards the limit. It is smaller than this; asking MPI once more costs little.
_EAGER_HEADER_BYTES = 128


def flat(values: Values) -> Values:
    """Return a one-dimensional view of the same memory.

    Raises:
        ValueError: if the array is not contiguous.
    """
    if not values.flags.c_contiguous:
        raise ValueError("Only a contiguous array can be sent or filled as a whole.")
    return values.reshape(-1)


class Messages(Protocol):
    """A fixed set of messages that is exchanged many times: all are sent and received at once."""

    def start(self) -> None:
        """Send what the views hold now and make ready to receive."""
        ...

    def wait(self) -> None:
        """Wait until all messages of this set have arrived in their views; after that, sent views may change."""
        ...

    def run(self) -> None:
        """Start and wait."""
        ...

    def free(self) -> None:
        """Give the set back to MPI."""
        ...


class Messenger:
    """The messages of one rank, and the timestamp of its emulated processor.

    `timestamp_ns` is on the host's monotonic clock: each wait ends at it, and the next phase begins there. With a
    stated interconnect it may be ahead of the host's clock, or behind it if the rank is late. `to_first_clock_ns` is to
    be added to have a timestamp on the clock of the first rank's machine, once the start barrier has found it out.
    """

    def __init__(self, communicator: MPI.Comm, setting: JobSetting) -> None:
        from mpi4py import MPI

        from apps.kernels.messages import Post

        self.communicator = communicator
        self.rank: int = communicator.rank
        self.size: int = communicator.size
        self.cluster_of = setting.cluster_of_ranks()
        self.pattern = setting.pattern
        own_cluster = self.cluster_of[self.rank]
        doorbells = open_doorbells(communicator)
        self._post: Any = Post(
            MPI._addressof(communicator),
            self.rank,
            doorbells,
            paced_ranks(setting, self.rank, doorbells),
            *_host_costs_ns(setting),
            own_interface(),
            *_far_ns(setting, own_cluster, self.cluster_of),
            setting.profile is None,
            eager_bytes(os.environ),
            self._watch,
        )
        self._node_interface = shared_interface(setting.shared_nodes[self.rank]) if setting.shared_nodes else None
        self.to_first_clock_ns = 0
        self._far_receivers: set[int] = set()
        self._far_senders: set[int] = set()

    @property
    def timestamp_ns(self) -> int:
        """The emulated processor's timestamp on the host's monotonic clock."""
        return int(self._post.timestamp_ns)

    @timestamp_ns.setter
    def timestamp_ns(self, timestamp_ns: int) -> None:
        self._post.timestamp_ns = timestamp_ns

    @property
    def host_lead_ns(self) -> int:
        """How far this rank may run ahead of the host's clock: only briefly if it sends unpaced messages."""
        if self._post.any_unpaced_sends:
            return _SHORT_LEAD_HOST_NS
        return _LEAD_HOST_NS if self._post.any_paced else 0

    @property
    def sends_in_host_time(self) -> bool:
        """Whether this rank sends messages that are not paced, and so take as long as they take on the host."""
        return bool(self._post.any_unpaced_sends)

    def begin_now(self) -> None:
        """Let the emulated processor begin at the host's present time, with no lateness or standstill so far."""
        self._post.timestamp_ns = time.monotonic_ns()
        self.take_passed_lateness_ns()
        self.take_standstills_ns()

    def enter_network(self) -> None:
        """Send through the interface of this rank's node from now on, if ranks of other jobs share that.

        What ranks tell each other before and after the loop is no part of the emulated run: it may not wait for other
        jobs' messages, nor they for it.
        """
        if self._node_interface is not None:
            self._post.send_through(self._node_interface, True)

    def leave_network(self) -> None:
        """Send through an interface that no other rank uses from now on."""
        if self._node_interface is not None:
            self._post.send_through(own_interface(), False)

    def take_passed_lateness_ns(self) -> int:
        """Return the largest lateness that real messages took along since the last call, in host nanoseconds."""
        lateness_ns, self._post.passed_lateness_ns = int(self._post.passed_lateness_ns), 0
        return lateness_ns

    def take_standstills_ns(self) -> list[tuple[int, int]]:
        """Return the host timestamps between which this rank stood still, and was delayed by it, since the last call.

        A standstill is a wait that ended long after its end; the beginning is that of the wait.
        """
        standstills_ns: list[tuple[int, int]] = self._post.take_standstills()
        return standstills_ns

    @property
    def count(self) -> MessageCount:
        """The counts of paced and late messages so far."""
        post = self._post
        return MessageCount(post.paced_messages, post.late_messages, post.host_lateness_max_ns / NANOSECONDS_PER_SECOND)

    def send(self, values: Values, receiver: int, tag: int = 0) -> None:
        """Send a contiguous array; return when it may be overwritten, perhaps only once it is received."""
        self.exchange(sends=[(flat(values), receiver, tag)])

    def receive(self, values: Values, sender: int, tag: int = 0) -> None:
        """Receive a message into a contiguous array."""
        self.exchange(receives=[(flat(values), sender, tag)])

    def persistent(self, sends: Sequence[Outgoing] = (), receives: Sequence[Incoming] = ()) -> Messages:
        """Make a set of messages to be exchanged often; views are one-dimensional and may be strided."""
        from apps.kernels.messages import MessageSet

        self._far_receivers |= {receiver for _, receiver, _ in sends if not self._post.is_near(receiver)}
        self._far_senders |= {sender for _, sender, _ in receives if not self._post.is_near(sender)}
        messages: Messages = MessageSet(self._post, list(sends), list(receives))
        return messages

    def in_turn(self, sets: Sequence[Messages], durations_ns: npt.NDArray[np.int64]) -> Callable[[], None]:
        """Return a function that runs sets of messages in turn and adds the duration of each to `durations_ns`."""
        from apps.kernels.messages import run_in_turn

        return partial(run_in_turn, self._post, list(sets), durations_ns)

    def exchange(self, sends: Sequence[Outgoing] = (), receives: Sequence[Incoming] = ()) -> None:
        """Exchange a set of messages once."""
        from apps.kernels.messages import MessageSet

        messages = MessageSet(self._post, list(sends), list(receives))
        messages.run()
        messages.free()

    def connect(self) -> None:
        """Open the connections that the persistent messages will need. Every rank must call this before its loop."""
        nothing = np.empty(0)
        self.exchange(
            sends=[(nothing, receiver, _CONNECT_TAG) for receiver in sorted(self._far_receivers)],
            receives=[(nothing, sender, _CONNECT_TAG) for sender in sorted(self._far_senders)],
        )
        self._watch()

    def wait_until_timestamp(self) -> None:
        """Sleep until the host's clock reaches `timestamp_ns`."""
        self._post.wait_until_timestamp()

    def _watch(self) -> None:
        self._post.watch(message_sockets())


def eager_bytes(environment: Mapping[str, str]) -> int:
    """Return the size of the largest message through shared memory that needs no help of its receiver to be sent."""
    name, usual_bytes = _EAGER_LIMIT_BYTES
    return int(environment.get(name, usual_bytes)) - _EAGER_HEADER_BYTES


def paced_ranks(setting: JobSetting, rank: int, doorbells: bytes | mmap.mmap) -> Bytes:
    """Return for each rank whether the interconnect paces messages between it and `rank`: 1 or 0.

    It does inside a cluster, if one is stated, and on one machine only: stamps are of that machine's monotonic clock,
    which says nothing on another. The nodes of an emulated cluster are all on one machine.
    """
    cluster_of = setting.cluster_of_ranks()
    inside = [setting.interconnect is not None and cluster == cluster_of[rank] for cluster in cluster_of]
    return np.array([paced and shares_memory(doorbells, other) for other, paced in enumerate(inside)], dtype=np.uint8)


def _host_costs_ns(setting: JobSetting) -> tuple[float, float, float]:
    """Return the interconnect's latency, cost of a message and cost of a byte, in host nanoseconds."""
    interconnect = setting.interconnect
    if interconnect is None:
        return (0.0, 0.0, 0.0)
    emulated_s = (interconnect.latency_s, interconnect.message_s, interconnect.transmission_s(1))
    latency_ns, message_ns, byte_ns = (
        setting.dilation.host_duration_s(duration_s) * NANOSECONDS_PER_SECOND for duration_s in emulated_s
    )
    return latency_ns, message_ns, byte_ns


def _far_ns(setting: JobSetting, own_cluster: int, cluster_of: Sequence[int]) -> tuple[Nanoseconds, Nanoseconds]:
    """Return for each rank the wide area's delay from there, and what its messages take beyond it, in host time.

    The delay is that from the clock there to the clock here: less by as much as the one there is ahead.
    """
    delays_s = [setting.far_delay_s(cluster, own_cluster) for cluster in cluster_of]
    host_ns = [nanoseconds(setting.dilation.host_duration_s(delay_s)) for delay_s in delays_s]
    delays_ns = np.array(host_ns, dtype=np.int64)
    ahead_s = setting.clocks_ahead_s or (0.0,) * setting.clusters
    ahead_ns = [nanoseconds(ahead_s[cluster] - ahead_s[own_cluster]) for cluster in cluster_of]
    return delays_ns - np.array(ahead_ns, dtype=np.int64), np.rint(delays_ns * (setting.far_stretch - 1.0)).astype(
        np.int64
    )


def message_sockets() -> list[int]:
    """Return the open files of this process that are TCP sockets connected to another address than the loopback's.

    MPI opens them when two ranks first exchange a message and offers no way to ask for them; a rank that waits for
    another cluster sleeps on them. Connections to Open MPI's own daemon on this node use the loopback or no TCP.
    """
    return [number for number in map(int, (path.name for path in _OPEN_FILES.iterdir())) if _leads_elsewhere(number)]


def _leads_elsewhere(number: int) -> bool:
    try:
        with socket.socket(fileno=number) as opened:
            try:
                if opened.type != socket.SOCK_STREAM or opened.family not in (socket.AF_INET, socket.AF_INET6):
                    return False
                return not ipaddress.ip_address(opened.getpeername()[0]).is_loopback
            finally:
                # It is MPI's, not ours to close.
                opened.detach()
    except OSError:
        # Not a socket, closed since, or not connected.
        return False
