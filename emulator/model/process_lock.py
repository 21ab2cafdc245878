"""Locks of processes on files: one ends with its process, however that ends, so that others notice.

The file of a lock may name its process, by `process_text`. Where the file system refuses locks, another process may
have that number by now, so none is ended unless it is the same one. Programs of before wrote the number alone, which
is the holder's only where the lock is held for certain.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from pathlib import Path
from typing import Final, Self, TextIO

from emulator.model.clock import boot_identity

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
    return _is_held(path) is not False


def is_left(path: Path, text: str) -> bool:
    """Return whether a process that locked `path` and wrote `text` there ended without releasing it."""
    try:
        written = path.read_text(encoding="utf-8")
    except OSError:
        return False
    return written == text and not is_locked(path)


def process_text(number: int) -> str:
    """Return what the file of a lock says of a process: its number and, if they are known, its boot and its start."""
    return f"{number} {_mark(number)}".rstrip()


def process_number(path: Path) -> str:
    """Return the number of the process that the file of a lock names; empty if it names none."""
    return _process_of(path)[0]


def end_process(path: Path) -> bool:
    """Tell the process that the file of a lock names to end; return False if it is gone, or may be another one."""
    is_held = _is_held(path)  # before the file is read: who takes a lock empties the file
    number, mark = _process_of(path)
    is_known = mark == _mark(int(number)) if mark else is_held is True
    if not is_known or not number or int(number) == 0:
        return False
    try:
        os.kill(int(number), signal.SIGTERM)
    except ProcessLookupError:
        return False
    return True


def _is_held(path: Path) -> bool | None:
    """Return whether a process holds the lock on `path`; None if that cannot be told there."""
    try:
        with path.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


def _process_of(path: Path) -> tuple[str, str]:
    try:
        number, _, mark = path.read_text(encoding="utf-8").strip().partition(" ")
    except (OSError, ValueError):
        return "", ""
    return (number, mark) if number.isdigit() else ("", "")


def _mark(number: int) -> str:
    """Return what no later process of that number has, its boot and its start in ticks since then; empty if unknown."""
    try:
        stated = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name of the program, in brackets, may hold anything; the start is the twentieth field after it.
    return f"{boot_identity()}:{stated.rpartition(')')[2].split()[19]}"


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
