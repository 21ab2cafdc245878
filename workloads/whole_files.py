"""Files that are written completely or not at all: first under another name, then moved to their place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from emulator.model.errors import InvalidInput


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """Open a text file that becomes `path` when the block ends without an error, and is removed otherwise.

    Raises:
        InvalidInput: if the file cannot be written there.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as text:
            yield text
        unfinished.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror or error}).") from error
    finally:
        unfinished.unlink(missing_ok=True)
