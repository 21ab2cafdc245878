"""The network interfaces of nodes that tasks share: each sends one message after another, of all tasks on the node.

From when on an interface has nothing to do is kept in a file in /dev/shm, which all ranks on the node map into their
memory. It is a timestamp of the host's monotonic clock, and in the future while there is something to send. A job that
was killed leaves it so, and therefore the arbiter (`apps.arbiter`) frees the interface of a node that has no ranks.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/dev/shm")
_BYTES: Final = 8
_WHOLE_NUMBER: Final = "q"

Interface = memoryview
"""One timestamp in host nanoseconds, from which on the interface has nothing to do."""


def own_interface() -> Interface:
    """Return an interface that no other rank uses."""
    return memoryview(bytearray(_BYTES)).cast(_WHOLE_NUMBER)


def shared_interface(node: str, folder: Path = FOLDER) -> Interface:
    """Return the interface of `node`, which all ranks there share.

    Raises:
        OSError: at this rank alone, perhaps, if `folder` is full.
    """
    try:
        return _mapped(_file(node, folder))
    except OSError as error:
        raise OSError(f"The interface of node {node!r} cannot be kept in {folder}: {error.strerror}.") from error


def free_interface(node: str, folder: Path = FOLDER) -> None:
    """Let the interface of `node` have nothing to do; no rank there may have mapped it."""
    _file(node, folder).unlink(missing_ok=True)


def _file(node: str, folder: Path) -> Path:
    return folder / f"interface-{node}"


def _mapped(path: Path) -> Interface:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Not only sized: where the memory is full, a rank would be killed as it writes.
        os.posix_fallocate(file, 0, _BYTES)
        return memoryview(mmap.mmap(file, _BYTES)).cast(_WHOLE_NUMBER)
    finally:
        os.close(file)
