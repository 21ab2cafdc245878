"""Notes on the run that holds the testbed, kept in memory for the page, and whether anyone looks at the page.

The recorder of the run sends notes only while someone looks. A broker that was started again holds none: it says how
many it holds, so that the recorder sends the others again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from emulator.model.page_views import MOST_NOTES, NotesHeld, NotesPage, RunNote

WATCHED_HOST_S: Final = 10.0
"""Host seconds after its last request for which a page counts as looking."""

MOST_HELD: Final = 50_000
"""The most notes on a run that are kept; further ones are not taken."""


class PageNotes:
    """The notes on one run, the newest that has any; safe to share between threads. Times are host seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run = 0
        self._notes: list[RunNote] = []
        self._seen_host_s: float | None = None

    def look(self, now_host_s: float) -> None:
        """Take note that a page looks."""
        self._seen_host_s = now_host_s

    def take(self, run: int, first: int, notes: Sequence[RunNote], now_host_s: float) -> NotesHeld:
        """Take the notes on `run` from number `first` on, unless some before them are missing or they are held."""
        with self._lock:
            if run > self._run:
                self._run, self._notes = run, []
            held = len(self._notes) if run == self._run else 0
            if run == self._run and first <= held:
                self._notes += notes[held - first :][: MOST_HELD - held]
                held = len(self._notes)
        seen = self._seen_host_s
        return NotesHeld(held=held, is_watched=seen is not None and now_host_s - seen <= WATCHED_HOST_S)

    def read(self, run: int, after: int) -> NotesPage:
        """Return notes on `run` from number `after` on."""
        with self._lock:
            notes = self._notes[after : after + MOST_NOTES] if run == self._run else []
        return NotesPage(notes=tuple(notes), next=after + len(notes))
