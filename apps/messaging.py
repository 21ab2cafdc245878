"""One rank's messages to the other ranks of its job: arrays of float64, real MPI messages all of them.

Between ranks of one cluster a message is paced to the cluster's interconnect, if one is stated; between clusters it
takes what the wide area takes. The work is done in the compiled `apps.kernels.messages`; this sets it up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from apps.doorbells import open_doorbells
from apps.sockets import message_sockets
from emulator.model.units import NANOSECONDS_PER_SECOND

if TYPE_CHECKING:
    from mpi4py import MPI

    from apps.record import JobSetting

Values = npt.NDArray[np.float64]
Outgoing = tuple[Values, int, int]
"""A view to send, the receiver's rank, a tag."""
Incoming = tuple[Values, int, int]
"""A view to fill, the sender's rank, a tag."""

_CONNECT_TAG = 20_000
# How far a rank may run ahead of the host's clock: longer than the kernels of other jobs keep the cores busy at a time,
# and too short for anybody to notice that a job is over before its last moment has come.
_LEAD_HOST_NS = 100_000_000
# A rank that sends into the host's time wakes so much before a phase's end, and sleeps again, briefly, before it sends:
# a core that has idled wakes late, its caches are cold, and other ranks of its node wake at the same moment.
_SHORT_LEAD_HOST_NS = 4_000_000
# Open MPI's own default; larger messages through shared memory need their receiver's help to be sent.
_EAGER_BYTES = ("OMPI_MCA_btl_vader_eager_limit", 4096)


def flat(values: Values) -> Values:
    """The same memory as one dimension.

    Raises:
        ValueError: if the array is not contiguous.
    """
    if not values.flags.c_contiguous:
        raise ValueError("Only a contiguous array can be sent or filled as a whole.")
    return values.reshape(-1)


class Messages(Protocol):
    """A fixed set of messages that is exchanged again and again: all sent and received at once."""

    def start(self) -> None:
        """Sends what the views hold now and makes ready to receive."""
        ...

    def wait(self) -> None:
        """Waits until all messages of this set have come; then the views hold them, and what was sent may change."""
        ...

    def run(self) -> None:
        """Starts and waits."""
        ...

    def free(self) -> None:
        """Gives the set back to MPI."""
        ...


@dataclass(frozen=True, slots=True)
class MessageCount:
    """How many messages an interconnect was paced for, how many came late to their rank, and the latest by how much."""

    paced_messages: int
    late_messages: int
    host_lateness_max_s: float


class Messenger:
    """Sends and receives for one rank, and knows which moment its emulated processor is at.

    `moment_ns` is a moment of the host's monotonic clock: each wait ends at it, and the next phase begins there. Where
    an interconnect is stated it may lie ahead of the host's clock, or behind it if the rank is late.
    """

    def __init__(self, communicator: MPI.Comm, setting: JobSetting) -> None:
        from mpi4py import MPI

        from apps.kernels.messages import Post

        self.communicator = communicator
        self.rank: int = communicator.rank
        self.size: int = communicator.size
        self.cluster_of = setting.cluster_of_ranks()
        own_cluster = self.cluster_of[self.rank]
        paced = [setting.interconnect is not None and cluster == own_cluster for cluster in self.cluster_of]
        eager_bytes = int(os.environ.get(*map(str, _EAGER_BYTES)))
        self._post: Any = Post(
            MPI._addressof(communicator),
            self.rank,
            open_doorbells(communicator),
            np.array(paced, dtype=np.uint8),
            *_host_costs_ns(setting),
            setting.profile is None,
            eager_bytes,
            self._watch,
        )
        self._far_receivers: set[int] = set()
        self._far_senders: set[int] = set()

    @property
    def moment_ns(self) -> int:
        """The moment of the host's monotonic clock that the emulated processor has come to."""
        return int(self._post.moment_ns)

    @moment_ns.setter
    def moment_ns(self, moment_ns: int) -> None:
        self._post.moment_ns = moment_ns

    @property
    def host_lead_ns(self) -> int:
        """How far this rank may run ahead of the host's clock: not far if something it sends must not leave early."""
        if self._post.any_unpaced_sends:
            return _SHORT_LEAD_HOST_NS
        return _LEAD_HOST_NS if self._post.any_paced else 0

    @property
    def sends_in_host_time(self) -> bool:
        """Whether a message that this rank sends is not paced, and so takes as long as the host makes it take."""
        return bool(self._post.any_unpaced_sends)

    def take_send_lateness_ns(self) -> int:
        """How late the latest message that is not paced left since this was last asked, in host nanoseconds."""
        lateness_ns, self._post.send_lateness_ns = int(self._post.send_lateness_ns), 0
        return lateness_ns

    @property
    def count(self) -> MessageCount:
        """How the pacing of messages went so far."""
        post = self._post
        return MessageCount(post.paced_messages, post.late_messages, post.host_lateness_max_ns / NANOSECONDS_PER_SECOND)

    def send(self, values: Values, receiver: int, tag: int = 0) -> None:
        """Sends a contiguous array; returns when it may be overwritten, which may be only once it is received."""
        self.exchange(sends=[(flat(values), receiver, tag)])

    def receive(self, values: Values, sender: int, tag: int = 0) -> None:
        """Fills a contiguous array with a message; returns when the message is there."""
        self.exchange(receives=[(flat(values), sender, tag)])

    def persistent(self, sends: Sequence[Outgoing] = (), receives: Sequence[Incoming] = ()) -> Messages:
        """A set of messages to be exchanged often; views are one-dimensional and may be strided."""
        from apps.kernels.messages import MessageSet

        self._far_receivers |= {receiver for _, receiver, _ in sends if not self._post.is_near(receiver)}
        self._far_senders |= {sender for _, sender, _ in receives if not self._post.is_near(sender)}
        messages: Messages = MessageSet(self._post, list(sends), list(receives))
        return messages

    def in_turn(self, sets: Sequence[Messages], durations_ns: npt.NDArray[np.int64]) -> Callable[[], None]:
        """What runs sets of persistent messages one after the other, adding to `durations_ns` what each took."""
        from apps.kernels.messages import run_in_turn

        return partial(run_in_turn, self._post, list(sets), durations_ns)

    def exchange(self, sends: Sequence[Outgoing] = (), receives: Sequence[Incoming] = ()) -> None:
        """Exchanges a set of messages once."""
        from apps.kernels.messages import MessageSet

        messages = MessageSet(self._post, list(sends), list(receives))
        messages.run()
        messages.free()

    def connect(self) -> None:
        """Opens the connections that the persistent messages will need; every rank must call this before its loop."""
        nothing = np.empty(0)
        self.exchange(
            sends=[(nothing, receiver, _CONNECT_TAG) for receiver in sorted(self._far_receivers)],
            receives=[(nothing, sender, _CONNECT_TAG) for sender in sorted(self._far_senders)],
        )
        self._watch()

    def wait_for_moment(self) -> None:
        """Sleeps until the host's clock has come to `moment_ns`."""
        self._post.wait_for_moment()

    def _watch(self) -> None:
        self._post.watch(message_sockets())


def _host_costs_ns(setting: JobSetting) -> tuple[float, float, float]:
    """Latency, cost of a message and cost of a byte of the interconnect, in host nanoseconds."""
    interconnect = setting.interconnect
    if interconnect is None:
        return (0.0, 0.0, 0.0)
    emulated_s = (interconnect.latency_s, interconnect.message_s, interconnect.transmission_s(1))
    latency_ns, message_ns, byte_ns = (
        setting.dilation.host_duration_s(duration_s) * NANOSECONDS_PER_SECOND for duration_s in emulated_s
    )
    return latency_ns, message_ns, byte_ns
