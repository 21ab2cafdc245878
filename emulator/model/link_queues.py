"""The queues of access links, and TCP's timeout after a full one dropped a packet.

A queue holds at least twice the bandwidth-delay product, which no dilation changes: rates shrink as delays grow.
"""

from __future__ import annotations

import math
from typing import Final

from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s

FRAME_BYTES: Final = 1514
"""The largest Ethernet frame as a token bucket counts it: 1500 bytes and the header."""

LEAST_TIMEOUT_S: Final = 0.2
"""TCP sends a packet again that was not acknowledged within a round trip plus this time, in emulated seconds.

It is the minimum of Linux, and dilates as the network does.
"""

_LEAST_FRAMES: Final = 64
"""An access link's queue holds at least this many full frames, however short its delays."""


def queue_bytes(topology: Topology, cluster: str, rate_mbit: float) -> int:
    """Return what waits at most before the access link of `cluster`, in a direction with that rate.

    Raises:
        UnknownName: if there is no such cluster, or it is real.
    """
    others = [name for name in topology.cluster_names if name != cluster]
    longest_s = max((round_trip_s(topology, cluster, other) for other in others), default=0.0)
    product_bytes = rate_bytes_per_s(rate_mbit) * longest_s
    return max(_LEAST_FRAMES * FRAME_BYTES, math.ceil(2 * product_bytes))


def round_trip_s(topology: Topology, one: str, other: str) -> float:
    """Return the emulated seconds there and back, with the jitter of both ways."""
    there, back = topology.path(one, other), topology.path(other, one)
    return there.delay_s + there.jitter_s + back.delay_s + back.jitter_s
