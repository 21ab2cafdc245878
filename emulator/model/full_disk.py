"""Waiting while a disk is full: somebody mostly makes room within minutes, and a run of many hours outlasts that."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

HOST_FULL_DISK_S: Final = 900.0
"""Host seconds for which a run waits for room on a full disk: for its own records, and for the broker's journal."""

HOST_BETWEEN_TRIES_S: Final = 2.0

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What the system says of a write for which there is no room, on the disk or within the user's quota."""

Result = TypeVar("Result")


class DiskPatience:
    """The patience of one writer with a full disk: the host seconds of one wait; 0 for none.

    `on_wait` is told, in a sentence, when a wait begins.
    """

    def __init__(self) -> None:
        self.host_patience_s = 0.0
        self.on_wait: Callable[[str], None] = lambda sentence: None

    def outlasting(self, write: Callable[[], Result], file: Path) -> Result:
        """Return what `write` returns, which is called again while there is no room for `file`.

        After a wait that was in vain, or interrupted, nobody waits again.

        Raises:
            OSError: what `write` raised last.
        """
        host_began_s, is_told = time.monotonic(), False
        while True:
            try:
                return write()
            except OSError as error:
                if error.errno not in FULL:
                    raise
                if time.monotonic() - host_began_s >= self.host_patience_s:
                    self.host_patience_s = 0.0
                    raise
                if not is_told:
                    is_told = True
                    self.on_wait(
                        f"{file}: cannot be written ({error.strerror}); the run goes on if there is room within "
                        f"{self.host_patience_s / 60:.0f} minutes."
                    )
            try:
                time.sleep(HOST_BETWEEN_TRIES_S)
            except BaseException:
                self.host_patience_s = 0.0
                raise
