"""Files that are replaced whole or not at all: first written under another name, then moved to their place.

`write_whole` is for what the testbed keeps for itself, such as its state and the manifests of runs. Its text is ready
beforehand and on disk before it counts, so a host that crashes leaves the old file. `written_whole` is for what a user
asked for at a path of the user's own: it is written piece by piece, links and devices stay, and an error is a sentence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from emulator.model.errors import InvalidInput

DEVICES: Final = Path("/dev")

MOST_CHARACTERS: Final = 50
"""The number of characters of a file's name that its first name has; a name of 255 bytes leaves no room for more."""


def write_whole(path: Path, text: str, *, durable: bool = True) -> None:
    """Write `text` to the file at `path`, which stays as it was, or absent, unless all of it is on disk.

    Where a crash of the host may lose it, it need not be `durable`, and nobody waits for the disk.

    Raises:
        OSError: if it cannot be written.
    """
    unfinished = path.with_name(unfinished_name(path.name))
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def unfinished_name(name: str) -> str:
    """Return what a file of that name is called while `write_whole` writes it."""
    return f".{name}.unfinished"


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """Open a text file that becomes `path` when the block ends without an error, and is removed otherwise.

    A symbolic link stays, and its target is replaced. A device or a pipe, such as /dev/stdout, is written as it is.

    Raises:
        InvalidInput: if the file cannot be written there.
    """
    unfinished: Path | None = None
    try:
        target = path.resolve()
        if target.is_dir():
            raise InvalidInput(f"{path}: is a directory; name a file in it.")
        if _is_stream(path):
            with path.open("w", encoding="utf-8", newline="\n") as text:
                yield text
            return
        unfinished = target.with_name(f".{target.name[:MOST_CHARACTERS]}.{os.getpid()}.unfinished")
        with unfinished.open("w", encoding="utf-8", newline="\n") as text:
            yield text
        unfinished.replace(target)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror or error}).") from error
    finally:
        if unfinished is not None:
            with suppress(OSError):
                unfinished.unlink()


def _is_stream(path: Path) -> bool:
    """Return whether a device or a pipe is there; one that is a file's, such as /dev/stdout, counts as one, too."""
    return (path.is_absolute() and DEVICES in path.parents) or (path.exists() and not path.is_file())
