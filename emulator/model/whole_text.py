"""Text files that are replaced whole: a crash or a full disk leaves the old one."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write `text` to the file at `path`, which stays as it was, or absent, unless all of it is on disk.

    Raises:
        OSError: if it cannot be written.
    """
    unfinished = path.with_name(unfinished_name(path.name))
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def unfinished_name(name: str) -> str:
    """Return what a file of that name is called while it is written."""
    return f".{name}.unfinished"
