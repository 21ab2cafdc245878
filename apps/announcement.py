"""The announcement of a job's start, for which its ranks wait without use of the processor.

The broker starts the ranks before the start is known, for instance while an input file is under way. It then writes one
line to the standard input of rank 0, the only one that mpirun passes it on to: the start on the wall clock, and the
longest wait for it. Rank 0 tells the first rank of each other cluster, which looks for that message now and then. All
others on the same node wait in the kernel, for a lock that the first rank holds until then.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from apps.failing import end_silently

if TYPE_CHECKING:
    from mpi4py import MPI

    from apps.application import JobContext

STANDARD_INPUT: Final = 0
READ_AT_ONCE_BYTES: Final = 256
LONGEST_NAP_HOST_S: Final = 0.02
_TELL, _READY = 20_011, 20_012


def await_announcement(job: JobContext) -> tuple[float | None, float]:
    """Wait until the start is announced. Every rank must call this, when it is ready.

    Returns the start on the wall clock (None: at once) and the longest wait for it; only those of rank 0 are
    meaningful. If its input ends before, rank 0 ends, and with it the job.

    Raises:
        ValueError: at rank 0, if the line is not two numbers.
    """
    communicator, rank = job.communicator, job.communicator.rank
    cluster_of = job.setting.cluster_of_ranks()
    first = cluster_of.index(cluster_of[rank])
    others = [cluster_of.index(cluster) for cluster in dict.fromkeys(cluster_of)][1:]
    lock = _lock_of_node(cluster_of.count(cluster_of[rank]))
    if lock is not None and rank == first:
        fcntl.flock(lock, fcntl.LOCK_EX)
    _connect_first_ranks(communicator, others)
    # Until all are ready, one may need another's attention, and the first ranks must have their locks.
    job.collectives.barrier()
    announced: tuple[float | None, float] = (None, 0.0)
    if rank == 0:
        announced = read_announcement() or end_silently()
        for other in others:
            communicator.Send(np.zeros(1), other, _TELL)
    elif rank == first:
        _receive_asleep(communicator, 0)
    elif lock is not None:
        fcntl.flock(lock, fcntl.LOCK_SH)
    if lock is not None:
        os.close(lock)
    return announced


def read_announcement(file: int = STANDARD_INPUT) -> tuple[float | None, float] | None:
    """Read the line that announces the start; None if the input ends before.

    Raises:
        ValueError: if the line is not two numbers.
    """
    line = b""
    while not line.endswith(b"\n") and (read := os.read(file, READ_AT_ONCE_BYTES)):
        line += read
    if not line:
        return None
    try:
        host_start_at_s, host_start_within_s = map(float, line.split())
    except ValueError:
        said = line.decode(errors="replace")
        raise ValueError(f"Standard input does not announce the start by two numbers: {said!r}.") from None
    return host_start_at_s or None, host_start_within_s


def _lock_of_node(ranks_of_cluster: int) -> int | None:
    """Open the file that this node's ranks lock; None if they are not all of their cluster's, or have no folder."""
    folder, name = os.environ.get("PMIX_SERVER_TMPDIR"), os.environ.get("PMIX_NAMESPACE", "job")
    if folder is None or int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "0")) != ranks_of_cluster:
        return None
    return os.open(f"{folder}/announced-{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _connect_first_ranks(communicator: MPI.Comm, others: Sequence[int]) -> None:
    """Open the connections from rank 0 to the first ranks of the other clusters, which would cost time at the start."""
    if communicator.rank in others:
        communicator.Send(np.zeros(1), 0, _READY)
    elif communicator.rank == 0:
        for other in others:
            _receive_asleep(communicator, other, _READY)


def _receive_asleep(communicator: MPI.Comm, source: int, tag: int = _TELL) -> None:
    """Receive a message; the pauses between two looks grow with the time waited."""
    request, began_host_s = communicator.Irecv(np.zeros(1), source, tag), time.monotonic()
    while not request.Test():
        time.sleep(min(LONGEST_NAP_HOST_S, 0.001 + (time.monotonic() - began_host_s) / 16))
