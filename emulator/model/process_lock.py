"""Locks of processes on files: one ends with its process, however that ends, so that others notice."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final, Self, TextIO

_TRIES: Final = 10
_HOST_BETWEEN_TRIES_S: Final = 0.05


class ProcessLock:
    """The lock of this process on a file that says `text`, until it is released.

    A process that holds it already is awaited, unless `waits` is false.

    Raises:
        BlockingIOError: if another process holds the lock and is not awaited.
        OSError: if the file cannot be written.
    """

    def __init__(self, path: Path, text: str = "", *, waits: bool = True) -> None:
        self._path = path
        self._file: TextIO | None = _locked(path, waits=waits)
        self._file.write(text)
        self._file.flush()

    @classmethod
    def taken_over(cls, path: Path, descriptor: int) -> Self:
        """Return the lock on `path` that the process which started this one hands over as the open `descriptor`."""
        os.set_inheritable(descriptor, False)
        lock = cls.__new__(cls)
        lock._path, lock._file = path, os.fdopen(descriptor, "a", encoding="utf-8")
        return lock

    @property
    def descriptor(self) -> int:
        """The open file that a process must be started with to take the lock over; -1 after the release."""
        return -1 if self._file is None else self._file.fileno()

    def hand_over(self, text: str) -> None:
        """Have the file say `text`, and leave the lock to the process that was started with the descriptor."""
        if self._file is not None:
            self._file.write(text)
            self._file.close()
            self._file = None

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


def _locked(path: Path, *, waits: bool) -> TextIO:
    """Open `path`, lock it and empty it; what another process wrote stays as long as that one holds the lock."""
    while True:
        file = path.open("a", encoding="utf-8")
        try:
            _lock(file, waits=waits)
            if _is_at(path, file):
                file.truncate(0)
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # the holder removed the file when it released the lock


def _lock(file: TextIO, *, waits: bool) -> None:
    """Lock `file`; a holder that is not awaited gets a moment, since one that only asks holds the lock that long.

    Raises:
        BlockingIOError: if another process holds the lock and is not awaited.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not tries_left:
                raise
        except OSError:
            return  # a file system without locks: `is_locked` finds that out, too
        time.sleep(_HOST_BETWEEN_TRIES_S)


def _is_at(path: Path, file: TextIO) -> bool:
    """Return whether the open `file` is still the one at `path`."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
