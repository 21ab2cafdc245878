"""Whether a process writes a run's directory: it holds a lock on a file there, which ends with it however it ends."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

LOCK_FILE: Final = ".writing"


class WriterLock:
    """The lock of the process that writes the run's directory `path`, until it is released."""

    def __init__(self, path: Path) -> None:
        self._path = path / LOCK_FILE
        self._file: TextIO | None = self._path.open("w", encoding="utf-8")
        with suppress(OSError):  # a file system without locks: `is_written` finds that out, too
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Remove the file and the lock; nothing happens the second time."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


def is_written(path: Path) -> bool:
    """Return whether a process writes the run's directory `path`, or whether that cannot be told there."""
    try:
        with (path / LOCK_FILE).open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
