"""The shared memory in which the ranks of one node leave their marks and ring one another's doorbells.

The memory is a file in the node's /dev/shm with a line for each rank of the job. Ranks of other nodes (containers) see
another file, so the marks show a rank which ranks share its memory. The file's name is removed once all ranks have
opened it, so a job leaves nothing behind.
"""

from __future__ import annotations

import mmap
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from apps.start.mpi import meet, wait_asleep

if TYPE_CHECKING:
    from mpi4py import MPI

_FOLDER = Path("/dev/shm")
_LINE_BYTES = 64
_TOKEN_BYTES = 8
_MARK_AT = 12
_MARK = (1).to_bytes(4, "little")


def open_doorbells(communicator: MPI.Comm) -> mmap.mmap:
    """Open the doorbells of this rank's node, marked by all its ranks. Every rank must call this.

    Raises:
        OSError: at this rank alone, perhaps, if its node has no shared memory left.
    """
    token = bytearray(secrets.token_bytes(_TOKEN_BYTES))
    wait_asleep(communicator.Ibcast(token, root=0))
    path = _FOLDER / f"doorbells-{token.hex()}"
    try:
        memory = _shared(path, communicator.size * _LINE_BYTES)
    except OSError as error:
        path.unlink(missing_ok=True)
        # No `TestbedError`, which all ranks would have to raise: the others wait for this one, so it ends the job.
        raise OSError(f"The ranks of a node cannot share memory in {_FOLDER}: {error.strerror}.") from error
    mark_at = communicator.rank * _LINE_BYTES + _MARK_AT
    memory[mark_at : mark_at + len(_MARK)] = _MARK
    meet(communicator)
    path.unlink(missing_ok=True)
    return memory


def shares_memory(doorbells: bytes | mmap.mmap, rank: int) -> bool:
    """Return whether `rank` has left its mark in the opened `doorbells`: whether it is on this machine and node."""
    mark_at = rank * _LINE_BYTES + _MARK_AT
    return doorbells[mark_at : mark_at + len(_MARK)] == _MARK


def _shared(path: Path, size_bytes: int) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Not only sized: where the memory is full, a rank would be killed as it writes.
        os.posix_fallocate(descriptor, 0, size_bytes)
        return mmap.mmap(descriptor, size_bytes)
    finally:
        os.close(descriptor)
