"""Pacing on a node that tasks share in time: a compute phase lasts until the rank has been given its processor time.

A rank asks the arbiter of its cluster's nodes (`apps.arbiter`) when a phase begins, does the phase's real work, and
waits for the answer: the timestamp at which its emulated processor has done the work. Alone on its node it is paced as
on a processor of its own. A phase that ends later than its tolerance is late, and so is one whose request came so late
that the processor had been given to others meanwhile.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Collection
from typing import Final

from apps.pacing import Phase, PhaseCount, dilated_phase
from emulator.model.clock import Dilation

PLACE: Final = "/run/testbed/arbiter/socket"
"""Where the arbiter listens in a cluster's container."""

REQUEST: Final = struct.Struct("=qq")
"""A request: the host timestamp of its beginning, and the processor time that it asks for, both in nanoseconds."""

ANSWER: Final = struct.Struct("=qq")
"""The answer: the host timestamp at which the work is done, and by how much the request came late, in nanoseconds."""

WATCHES: Final = "watches local users"
"""What one sends to the arbiter who is to be told of every burst of a local user."""

MOST_BYTES: Final = 65536


class SharedPacer:
    """A pacer of a rank on the node called `node`, whose arbiter listens at `place`.

    `nodes` are all nodes of its job in this cluster.

    Raises:
        ConnectionError: if there is no arbiter, or it does not know the node.
    """

    def __init__(self, dilation: Dilation, node: str, nodes: Collection[str], place: str = PLACE) -> None:
        self.count = PhaseCount()
        self.host_lead_ns = 0
        self._dilation = dilation
        self._node = node
        self._has_begun = False
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._connection.connect(place)
            hello = {"node": node, "nodes": sorted(nodes), "dilation": dilation.factor}
            self._connection.send(json.dumps(hello).encode())
            answer = self._connection.recv(MOST_BYTES)
        except OSError as error:
            raise ConnectionError(f"The arbiter of node {node!r} does not answer ({error.strerror}).") from error
        refused = json.loads(answer or b'{"refused": "it has ended"}')["refused"]
        if refused:
            raise ConnectionError(f"The arbiter of node {node!r} refuses a rank: {refused}.")

    def phase(self, emulated_s: float) -> Phase:
        """Make a phase of `emulated_s` of processor time; its tolerance is `host_tolerance_s`."""
        return dilated_phase(self._dilation, emulated_s)

    def begin(self, phase: Phase, host_started_ns: int) -> None:
        """Ask for the phase's processor time from `host_started_ns` on."""
        self._has_begun = True
        try:
            self._connection.send(REQUEST.pack(host_started_ns, phase.host_duration_ns))
        except OSError as error:
            raise self._lost() from error

    def finish(self, phase: Phase, host_started_ns: int) -> int:
        """Wait until the rank has had its processor time, count the phase, and return its end's timestamp.

        Raises:
            ConnectionError: if the arbiter has ended.
        """
        if not self._has_begun:
            self.begin(phase, host_started_ns)
        self._has_begun = False
        try:
            answer = self._connection.recv(MOST_BYTES)
        except OSError as error:
            raise self._lost() from error
        if len(answer) != ANSWER.size:
            raise self._lost()
        host_end_ns, host_late_ns = ANSWER.unpack(answer)
        self.count.host_wait_ns += max(0, host_end_ns - host_started_ns - phase.host_duration_ns)
        self.count.add(phase, max(0, time.monotonic_ns() - host_end_ns) + host_late_ns)
        return int(host_end_ns)

    def close(self) -> None:
        """Leave the node: others have its processor."""
        self._connection.close()

    def _lost(self) -> ConnectionError:
        return ConnectionError(
            f"The arbiter of node {self._node!r} has ended: what the rank still computes is not paced."
        )
