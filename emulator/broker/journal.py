"""The journal: every event of the broker, numbered, in the order it happened, on disk before anybody is told.

Readers wait for events newer than the last they know; nothing is ever changed or removed.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

from emulator.model.views import EventKind, EventView, JobView

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    job INTEGER,
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_of_run ON events (run, sequence);
"""
PAGE = 1_000


class Journal:
    """Events in one SQLite file with a write-ahead log; safe to share between threads."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.executescript(SCHEMA)
        self._changed = threading.Condition()

    def append(
        self,
        run: int,
        kind: EventKind,
        time_s: float,
        job: JobView | None = None,
        detail: dict[str, object] | None = None,
    ) -> EventView:
        """Record that `kind` happened at emulated moment `time_s` of `run`, and wake the readers."""
        with self._changed:
            event = EventView(
                sequence=self._last_sequence() + 1,
                run=run,
                kind=kind,
                time_s=time_s,
                host_moment_s=time.time(),
                job=job,
                detail=detail or {},
            )
            self._database.execute(
                "INSERT INTO events (sequence, run, job, body) VALUES (?, ?, ?, ?)",
                (event.sequence, run, job.id if job else None, event.model_dump_json()),
            )
            self._changed.notify_all()
            return event

    def read(self, run: int, after: int, host_wait_s: float = 0.0) -> list[EventView]:
        """Up to a page of events of `run` with a sequence above `after`; waits up to `host_wait_s` for the first."""
        deadline_host_s = time.monotonic() + host_wait_s
        with self._changed:
            while not (rows := self._rows(run, after)):
                remaining_host_s = deadline_host_s - time.monotonic()
                if remaining_host_s <= 0 or not self._changed.wait(remaining_host_s):
                    break
        return [EventView.model_validate_json(body) for (body,) in rows]

    def last_numbers(self) -> tuple[int, int]:
        """The highest run and job numbers ever used."""
        with self._changed:
            row = self._database.execute("SELECT MAX(run), MAX(job) FROM events").fetchone()
        return row[0] or 0, row[1] or 0

    def close(self) -> None:
        """Close the file."""
        with self._changed:
            self._database.close()

    def _rows(self, run: int, after: int) -> list[tuple[str]]:
        query = "SELECT body FROM events WHERE run = ? AND sequence > ? ORDER BY sequence LIMIT ?"
        return self._database.execute(query, (run, after, PAGE)).fetchall()

    def _last_sequence(self) -> int:
        return int(self._database.execute("SELECT COALESCE(MAX(sequence), 0) FROM events").fetchone()[0])
