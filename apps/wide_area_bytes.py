"""The bytes of frames that a job's ranks sent and received over the wide area, as the kernel counts them.

The testbed compares them with the bytes that crossed the access links: the rest is traffic of others. So frames are
counted instead of values: headers, acknowledgements and retransmissions of TCP included (``TCP_INFO`` of tcp(7)).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from apps.messaging import message_sockets

if TYPE_CHECKING:
    from mpi4py import MPI

    from apps.setting import JobSetting

FRAME_HEADERS_BYTES: Final = 14 + 20 + 32
"""The headers of a segment in a frame: Ethernet's, IP's, and TCP's with a timestamp."""

# Fields of struct tcp_info of linux/tcp.h, to which new ones are only appended: all bytes and segments so far.
_BYTES_RECEIVED: Final = struct.Struct("=128xQ")
_SEGMENTS: Final = struct.Struct("=136xII")
_BYTES_SENT: Final = struct.Struct("=200xQ")


def frame_bytes(information: bytes) -> tuple[int, int] | None:
    """Return the bytes of frames that a connection sent and received; None if the kernel does not count them.

    `information` is the kernel's on the connection.
    """
    if len(information) < _BYTES_SENT.size:
        return None
    (sent_bytes,), (received_bytes,) = _BYTES_SENT.unpack_from(information), _BYTES_RECEIVED.unpack_from(information)
    sent_segments, received_segments = _SEGMENTS.unpack_from(information)
    return sent_bytes + FRAME_HEADERS_BYTES * sent_segments, received_bytes + FRAME_HEADERS_BYTES * received_segments


def gather_wide_area_bytes(communicator: MPI.Comm, setting: JobSetting) -> list[list[int]] | None:
    """Return at rank 0 what each part of the job sent and received; None if it has one part or a kernel does not count.

    Every rank must call this, after all else that it sends.
    """
    if setting.clusters < 2:
        return None
    counted = np.zeros((setting.clusters, 2))
    found = _counted(message_sockets())
    own = setting.cluster_of_ranks()[communicator.rank]
    counted[own] = np.nan if found is None else found
    gathered = communicator.gather(counted, root=0)
    if gathered is None:
        return None
    total = np.sum(gathered, axis=0)
    return None if np.isnan(total).any() else [[int(sent), int(received)] for sent, received in total]


def _counted(sockets: Iterable[int]) -> tuple[int, int] | None:
    sent = received = 0
    for number in sockets:
        with socket.socket(fileno=number) as opened:
            try:
                found = frame_bytes(opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256))
            except OSError:
                # Closed since: it has carried its part of a message's end at most.
                continue
            finally:
                # It is MPI's, not ours to close.
                opened.detach()
        if found is None:
            return None
        sent, received = sent + found[0], received + found[1]
    return sent, received
