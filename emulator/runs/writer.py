"""Locks of processes on files: one ends with its process, however that ends, so that others notice."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

WRITING: Final = ".writing"
"""The file in a run's directory that is locked by the process that writes there."""


class ProcessLock:
    """The lock of this process on a file that says `text`, until it is released.

    Raises:
        OSError: if the file cannot be written.
    """

    def __init__(self, path: Path, text: str = "") -> None:
        self._path = path
        self._file: TextIO | None = path.open("w", encoding="utf-8")
        with suppress(OSError):  # a file system without locks: `is_locked` finds that out, too
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._file.write(text)
        self._file.flush()

    def release(self) -> None:
        """Remove the file and the lock; nothing happens the second time."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock on `path`, or whether that cannot be told there."""
    try:
        with path.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def is_left(path: Path, text: str) -> bool:
    """Return whether a process that locked `path` and wrote `text` there ended without releasing it."""
    try:
        written = path.read_text(encoding="utf-8")
    except OSError:
        return False
    return written == text and not is_locked(path)
