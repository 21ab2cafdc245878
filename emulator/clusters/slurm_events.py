"""The events file of a cluster's head: what its holders write, and how it is followed and read.

A holder is the batch job of a claim. It writes a line with a timestamp when it begins to hold its processors and when
it ends. The file lies in a user's home, so its lines may be torn (a full disk, a power failure) or be anybody's; what
is no event is skipped and counted. A file that has grown beyond `LARGEST_BYTES` is moved aside and a new one begun.
Both are followed by their names and read from their beginnings, also after a reconnection, and when a file is replaced
or shrinks. Lines that were read before are skipped.
"""

from __future__ import annotations

import logging
import re
import time
from typing import Final

from emulator.clusters.protocol import AllocationEvent, AllocationEventKind

log = logging.getLogger(__name__)
FOLDER: Final = '"$HOME"/.testbed'
LARGEST_BYTES: Final = 262_144
LOOK_EVERY_HOST_S: Final = 15.0
SILENT_HOST_S: Final = 60.0
"""A watch that shows no sign of life for so long has lost its head; a jump host between them may say nothing of it."""
LINES_REMEMBERED: Final = 16_384
"""More than two files of the largest size hold."""
LOGGED_LINES: Final = 20
"""Malformed lines that are logged; later ones are only counted."""
LOGGED_CHARACTERS: Final = 80
LATEST_AHEAD_HOST_S: Final = 86_400.0
"""Host seconds by which a timestamp may be ahead of this host's clock; a later one was never taken."""

_EVENT: Final = re.compile(r"(claimed|ended) ([0-9]{1,11}(?:\.[0-9]{1,9})?) ([A-Za-z0-9._-]{1,255}) ([0-9]{1,18})$")


def watch_command(largest_bytes: int = LARGEST_BYTES, look_every_host_s: float = LOOK_EVERY_HOST_S) -> str:
    """Return the shell command that follows the events until its standard input ends, and keeps their file small.

    It writes an empty line at every look, whether or not there are events.
    Where a file is moved to a name that `tail` follows as well, `tail` may lose sight of the new file. So it is
    started again after each move. It ends if the shell is killed.
    """
    script = (
        f"mkdir -p {FOLDER} && cd {FOLDER} && touch events events.older || exit; "
        "follow() { tail --pid=$$ -q -n +1 -F events.older events 2> /dev/null & following=$!; }; follow; "
        f"while read -r -t {look_every_host_s:g} || [ $? -gt 128 ]; do echo; "
        f'if [ "$(wc -c < events)" -gt {largest_bytes} ]; '
        "then mv -f events events.older; touch events; kill $following; follow; fi; done; kill $following"
    )
    return f"exec bash -c '{script}'"


WATCH: Final = watch_command()


class EventReader:
    """A reader of one testbed's events, whose claims' names begin with `prefix`; `malformed` counts other lines."""

    def __init__(self, cluster: str, prefix: str) -> None:
        self.malformed = 0
        self._cluster = cluster
        self._prefix = prefix
        self._seen: dict[str, None] = {}

    def read(self, line: str) -> AllocationEvent | None:
        """Return the event of a line; None if it has none for this testbed, or was read before.

        The whole event that follows a torn one on the same line counts.
        """
        if not line or line in self._seen:
            return None
        self._remember(line[:LOGGED_CHARACTERS] if len(line) > 1_024 else line)
        found = _EVENT.search(line[-512:])
        if found is None or found.group(0) != line:
            self._note_malformed(line)
        if found is None:
            return None
        kind, timestamp, name, allocation = found.groups()
        if float(timestamp) > time.time() + LATEST_AHEAD_HOST_S:
            self._note_malformed(line)
            return None
        if not name.startswith(self._prefix):
            return None
        claim = name.removeprefix(self._prefix)
        return AllocationEvent(AllocationEventKind(kind), claim, allocation, float(timestamp))

    def _remember(self, line: str) -> None:
        self._seen[line] = None
        if len(self._seen) > LINES_REMEMBERED:
            del self._seen[next(iter(self._seen))]

    def _note_malformed(self, line: str) -> None:
        self.malformed += 1
        if self.malformed <= LOGGED_LINES:
            log.warning("cluster %s: no event, skipped: %r", self._cluster, line[:LOGGED_CHARACTERS])
