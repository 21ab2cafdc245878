"""The journal: every event of the broker, numbered, in order, on disk before any reader gets it.

All that is appended within one `transaction` becomes durable together. The journal also holds the keys under which
clients submitted jobs, and each run's request, clock origin and end, so that a killed broker can be restored
(`restore`). No event is ever changed or removed.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from emulator.model.views import EventKind, EventView, JobView, RunRequest

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    job INTEGER,
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_of_run ON events (run, sequence);
CREATE INDEX IF NOT EXISTS events_of_job ON events (job, sequence) WHERE job IS NOT NULL;
CREATE TABLE IF NOT EXISTS submissions (
    key TEXT PRIMARY KEY,
    job INTEGER NOT NULL,
    fingerprint TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY,
    request TEXT NOT NULL,
    host_origin_s REAL,
    ended INTEGER NOT NULL DEFAULT 0
);
"""
LATEST_OF_EACH_JOB = """
SELECT job, body FROM events
WHERE sequence IN (SELECT MAX(sequence) FROM events WHERE job > ? GROUP BY job ORDER BY job LIMIT ?)
ORDER BY job
"""
LATEST_SNAPSHOT = f"""
SELECT sequence FROM events
WHERE run = ? AND job IS NULL AND json_extract(body, '$.kind') = '{EventKind.DECISION}'
AND json_type(body, '$.detail.snapshot') IS NOT NULL
ORDER BY sequence DESC LIMIT 1
"""
PAGE = 1_000

Listener = Callable[[], None]


@dataclass(frozen=True, slots=True)
class KeyedSubmission:
    """What was submitted under a key: the job it became, and a fingerprint of the submission."""

    job: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as stored: its clock read zero at the host timestamp `host_origin_s`; None before its start."""

    number: int
    request: RunRequest
    host_origin_s: float | None
    has_ended: bool


class Journal:
    """Events in one SQLite file with a write-ahead log; safe to share between threads."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.executescript(SCHEMA)
        self._changed = threading.Condition()
        self._last_sequence = self._stored_sequence()
        self._depth = 0
        self._uncommitted: list[EventView] = []
        self._listeners: frozenset[Listener] = frozenset()
        self._listening = threading.Lock()
        self._observers: list[Callable[[EventView], None]] = []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all that the calling thread appends within durable at the end, or nothing of it if that fails."""
        with self._changed:
            if self._depth == 0:
                self._database.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._roll_back()
                raise
            self._depth -= 1
            if self._depth == 0:
                self._commit()

    def append(
        self,
        run: int,
        kind: EventKind,
        time_s: float,
        job: JobView | None = None,
        detail: dict[str, object] | None = None,
    ) -> EventView:
        """Record an event of `run` at the emulated timestamp `time_s`, and wake the readers."""
        with self.transaction():
            event = EventView(
                sequence=self._last_sequence + 1,
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
            self._last_sequence = event.sequence
            self._uncommitted.append(event)
            return event

    def store_key(self, key: str, job: int, fingerprint: str) -> None:
        """Store that the submission under `key`, with that `fingerprint`, became `job`."""
        with self.transaction():
            self._database.execute("INSERT INTO submissions VALUES (?, ?, ?)", (key, job, fingerprint))

    def store_run(self, run: int, request: RunRequest) -> None:
        """Store the request of `run`."""
        with self.transaction():
            self._database.execute("INSERT INTO runs (run, request) VALUES (?, ?)", (run, request.model_dump_json()))

    def store_origin(self, run: int, host_origin_s: float) -> None:
        """Store the host timestamp at which the clock of `run` read zero."""
        with self.transaction():
            self._database.execute("UPDATE runs SET host_origin_s = ? WHERE run = ?", (host_origin_s, run))

    def store_end(self, run: int) -> None:
        """Store that `run` has ended."""
        with self.transaction():
            self._database.execute("UPDATE runs SET ended = 1 WHERE run = ?", (run,))

    def runs(self) -> list[StoredRun]:
        """Get every run that was begun, in order."""
        query = "SELECT run, request, host_origin_s, ended FROM runs ORDER BY run"
        with self._changed:
            rows = self._database.execute(query).fetchall()
        return [
            StoredRun(run, RunRequest.model_validate_json(request), origin, bool(ended))
            for run, request, origin, ended in rows
        ]

    def latest_of_each_job(self) -> Iterator[EventView]:
        """Yield the last event of every job of every run, in order of the jobs' numbers."""
        return self._pages(LATEST_OF_EACH_JOB, 0)

    def since_snapshot(self, run: int) -> Iterator[EventView]:
        """Yield the events of `run` from its last decision with a snapshot on; all if there is none."""
        with self._changed:
            row = self._database.execute(LATEST_SNAPSHOT, (run,)).fetchone()
        query = f"SELECT sequence, body FROM events WHERE run = {run:d} AND sequence > ? ORDER BY sequence LIMIT ?"
        return self._pages(query, row[0] - 1 if row else 0)

    def find_submission(self, key: str) -> KeyedSubmission | None:
        """Get what was submitted under `key`, if anything was."""
        query = "SELECT job, fingerprint FROM submissions WHERE key = ?"
        with self._changed:
            row = self._database.execute(query, (key,)).fetchone()
        return KeyedSubmission(*row) if row else None

    def last_view(self, job: int) -> JobView | None:
        """Get the job as of its last event, also one of a former broker."""
        query = "SELECT body FROM events WHERE job = ? ORDER BY sequence DESC LIMIT 1"
        with self._changed:
            row = self._database.execute(query, (job,)).fetchone()
        return EventView.model_validate_json(row[0]).job if row else None

    def read(self, run: int, after: int, host_wait_s: float = 0.0) -> list[EventView]:
        """Get up to a page of events of `run` with a sequence above `after`; waits up to `host_wait_s` for one."""
        deadline_host_s = time.monotonic() + host_wait_s
        with self._changed:
            while not (rows := self._rows(run, after)):
                remaining_host_s = deadline_host_s - time.monotonic()
                if remaining_host_s <= 0 or not self._changed.wait(remaining_host_s):
                    break
        return [EventView.model_validate_json(body) for _, body in rows]

    def read_json(self, run: int, after: int) -> list[tuple[int, str]]:
        """Get sequence and JSON of up to a page of events of `run` above `after`, as they are on disk."""
        with self._changed:
            return self._rows(run, after)

    def all_events(self) -> Iterator[EventView]:
        """Yield every event of every run, in order."""
        return self._pages("SELECT sequence, body FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?", 0)

    @contextmanager
    def notify(self, listener: Listener) -> Iterator[None]:
        """Call `listener`, on the writer's thread, after each commit within the context; it must return at once."""
        with self._listening:
            self._listeners = self._listeners | {listener}
        try:
            yield
        finally:
            with self._listening:
                self._listeners = self._listeners - {listener}

    def observe(self, observer: Callable[[EventView], None]) -> None:
        """Call `observer` with every event from now on, once it is durable; it must return at once."""
        with self._changed:
            self._observers.append(observer)

    def last_numbers(self) -> tuple[int, int]:
        """Get the highest run and job numbers used so far."""
        with self._changed:
            query = "SELECT MAX(MAX(run), (SELECT COALESCE(MAX(run), 0) FROM runs)), MAX(job) FROM events"
            row = self._database.execute(query).fetchone()
        return row[0] or 0, row[1] or 0

    @property
    def last_sequence(self) -> int:
        """The number of the last event, 0 without one."""
        return self._last_sequence

    def close(self) -> None:
        """Close the file."""
        with self._changed:
            self._database.close()

    def _pages(self, query: str, after: int) -> Iterator[EventView]:
        """Yield the events of `query`, a page at a time; each page begins after the last row's first column."""
        while True:
            with self._changed:
                rows = self._database.execute(query, (after, PAGE)).fetchall()
            if not rows:
                return
            yield from (EventView.model_validate_json(body) for _, body in rows)
            after = rows[-1][0]

    def _commit(self) -> None:
        try:
            self._database.execute("COMMIT")
        except sqlite3.Error:
            self._roll_back()
            raise
        committed, self._uncommitted = self._uncommitted, []
        for event in committed:
            for observe in self._observers:
                observe(event)
        for listener in self._listeners:
            listener()
        self._changed.notify_all()

    def _roll_back(self) -> None:
        self._uncommitted.clear()
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        self._last_sequence = self._stored_sequence()

    def _rows(self, run: int, after: int) -> list[tuple[int, str]]:
        query = "SELECT sequence, body FROM events WHERE run = ? AND sequence > ? ORDER BY sequence LIMIT ?"
        return self._database.execute(query, (run, after, PAGE)).fetchall()

    def _stored_sequence(self) -> int:
        return int(self._database.execute("SELECT COALESCE(MAX(sequence), 0) FROM events").fetchone()[0])
