"""Files that grow by whole lines, also where the disk is full for a while."""

from __future__ import annotations

import os
import threading
from functools import partial
from io import FileIO
from pathlib import Path

from emulator.model.errors import RunFailed
from emulator.model.full_disk import DiskPatience


class AppendedFiles:
    """The files in `folder` to which lines are appended; what cannot be written whole leaves nothing behind."""

    def __init__(self, folder: Path, patience: DiskPatience) -> None:
        self._folder, self._patience = folder, patience
        self._files: dict[str, FileIO] = {}
        self._writing = threading.Lock()

    def append(self, name: str, text: str, header: str = "", *, waits: bool = True) -> None:
        """Append `text` to the file of that name, a new one after `header`; threads may do so at once.

        While the disk is full, it `waits` as long as the patience lasts.

        Raises:
            RunFailed: if it cannot be written.
        """
        write = partial(self._append, name, text.encode(), header.encode())
        path = self._folder / name
        try:
            if waits:
                self._patience.outlasting(write, path)
            else:
                write()
        except OSError as error:
            raise unwritten(path, error) from error

    def write_through(self, name: str) -> bool:
        """Write a file through to the disk; return False if there is none yet."""
        file = self._files.get(name)
        if file is None:
            return False
        os.fsync(file.fileno())
        return True

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _append(self, name: str, text: bytes, header: bytes) -> None:
        # Unbuffered, so that each byte is either in the file or known not to be. A full disk may take a part of them.
        with self._writing:
            file = self._files.get(name) or self._open(name)
            begin = file.tell()
            left = memoryview(text if begin else header + text)
            try:
                while left:
                    left = left[file.write(left) :]
            except BaseException:
                file.seek(begin)
                file.truncate()
                raise

    def _open(self, name: str) -> FileIO:
        file = (self._folder / name).open("xb", buffering=0)
        self._files[name] = file
        return file


def unwritten(path: Path, error: OSError) -> RunFailed:
    """Return the error of a run whose file at `path` cannot be written."""
    return RunFailed(f"{path}: cannot be written ({error.strerror or error}), so the records end there.")
