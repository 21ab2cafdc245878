"""One rank's messages to the other ranks of its job: arrays of float64, real MPI messages all of them.

Between ranks of one cluster a message is paced to the cluster's interconnect, if one is stated; between clusters it
takes what the wide area takes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mpi4py import MPI

    from apps.record import JobSetting

Values = npt.NDArray[np.float64]
Outgoing = tuple[Values, int, int]
"""A view to send, the receiver's rank, a tag."""
Incoming = tuple[Values, int, int]
"""A view to fill, the sender's rank, a tag."""


def flat(values: Values) -> Values:
    """The same memory as one dimension.

    Raises:
        ValueError: if the array is not contiguous.
    """
    if not values.flags.c_contiguous:
        raise ValueError("Only a contiguous array can be sent or filled as a whole.")
    return values.reshape(-1)


class Messages:
    """A fixed set of messages that is exchanged again and again: all sent and received at once."""

    def __init__(self, messenger: Messenger, sends: Sequence[Outgoing], receives: Sequence[Incoming]) -> None:
        from mpi4py import MPI

        self._messenger = messenger
        self._start_all, self._wait_all = MPI.Prequest.Startall, MPI.Request.Waitall
        self._sends = [(view, np.empty(view.size)) for view, _, _ in sends]
        self._receives = [(view, np.empty(view.size)) for view, _, _ in receives]
        communicator = messenger.communicator
        self._requests: list[Any] = [
            communicator.Recv_init(buffer, sender, tag)
            for (_, buffer), (_, sender, tag) in zip(self._receives, receives, strict=True)
        ]
        self._requests += [
            communicator.Send_init(buffer, receiver, tag)
            for (_, buffer), (_, receiver, tag) in zip(self._sends, sends, strict=True)
        ]

    def start(self) -> None:
        """Sends what the views hold now and makes ready to receive."""
        for view, buffer in self._sends:
            np.copyto(buffer, view)
        self._start_all(self._requests)

    def wait(self) -> None:
        """Waits until all messages of this set are sent and received; then the views hold what came."""
        self._wait_all(self._requests)
        for view, buffer in self._receives:
            np.copyto(view, buffer)
        self._messenger.moment_ns = time.monotonic_ns()

    def run(self) -> None:
        """Starts and waits."""
        self.start()
        self.wait()

    def free(self) -> None:
        """Gives the set back to MPI."""
        for request in self._requests:
            request.Free()
        self._requests = []


class Messenger:
    """Sends and receives for one rank, and knows which moment its emulated processor is at.

    `moment_ns` is a moment of the host's monotonic clock: each wait ends at it, and the next phase begins there.
    """

    def __init__(self, communicator: MPI.Comm, setting: JobSetting) -> None:
        self.communicator = communicator
        self.rank: int = communicator.rank
        self.size: int = communicator.size
        self.cluster_of = setting.cluster_of_ranks()
        self.moment_ns = time.monotonic_ns()

    def send(self, values: Values, receiver: int, tag: int = 0) -> None:
        """Sends a contiguous array; returns when it may be overwritten."""
        self.exchange(sends=[(flat(values), receiver, tag)])

    def receive(self, values: Values, sender: int, tag: int = 0) -> None:
        """Fills a contiguous array with a message; returns when the message is there."""
        self.exchange(receives=[(flat(values), sender, tag)])

    def persistent(self, sends: Sequence[Outgoing] = (), receives: Sequence[Incoming] = ()) -> Messages:
        """A set of messages to be exchanged often; views are one-dimensional and may be strided."""
        return Messages(self, sends, receives)

    def exchange(self, sends: Sequence[Outgoing] = (), receives: Sequence[Incoming] = ()) -> None:
        """Exchanges a set of messages once."""
        messages = Messages(self, sends, receives)
        messages.run()
        messages.free()
