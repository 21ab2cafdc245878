"""The network interfaces of nodes that tasks share: each sends one message after another, of all tasks on the node.

From when on an interface has nothing to do is kept in a file in /dev/shm, which all ranks on the node map into their
memory. It is a timestamp of the host's monotonic clock, so that what earlier jobs left there means nothing to later
ones.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

FOLDER: Final = Path("/dev/shm")
_BYTES: Final = 8

Interface = npt.NDArray[np.int64]
"""One timestamp in host nanoseconds, from which on the interface has nothing to do."""


def own_interface() -> Interface:
    """Return an interface that no other rank uses."""
    return np.zeros(1, dtype=np.int64)


def shared_interface(node: str, folder: Path = FOLDER) -> Interface:
    """Return the interface of `node`, which all ranks there share.

    Raises:
        OSError: at this rank alone, perhaps, if `folder` is full.
    """
    try:
        return _mapped(folder / f"interface-{node}")
    except OSError as error:
        raise OSError(f"The interface of node {node!r} cannot be kept in {folder}: {error.strerror}.") from error


def _mapped(path: Path) -> Interface:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Not only sized: where the memory is full, a rank would be killed as it writes.
        os.posix_fallocate(file, 0, _BYTES)
        return np.frombuffer(mmap.mmap(file, _BYTES), dtype=np.int64)
    finally:
        os.close(file)
