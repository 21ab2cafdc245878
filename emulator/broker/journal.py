"""The journal: every event of the broker, numbered, in the order it happened, on disk before anybody is told.

What is appended `together` becomes durable at once, in one transaction, and nobody sees a part of it. Beside the events
stand the keys under which clients submitted jobs, and of each run what was asked for, the origin of its clock and
whether it has ended, so that a broker that was killed comes back (`remembering`). No event is ever changed or removed.
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
class KeptRun:
    """A run as it is kept: `host_origin_s` is the moment at which its clock read zero, None before its start."""

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
        self._together = 0
        self._untold: list[EventView] = []
        self._listeners: frozenset[Listener] = frozenset()
        self._listening = threading.Lock()
        self._observers: list[Callable[[EventView], None]] = []

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make all that the calling thread appends within durable at its end, or nothing of it if that fails."""
        with self._changed:
            if self._together == 0:
                self._database.execute("BEGIN IMMEDIATE")
            self._together += 1
            try:
                yield
            except BaseException:
                self._together -= 1
                if self._together == 0:
                    self._roll_back()
                raise
            self._together -= 1
            if self._together == 0:
                self._commit()

    def append(
        self,
        run: int,
        kind: EventKind,
        time_s: float,
        job: JobView | None = None,
        detail: dict[str, object] | None = None,
    ) -> EventView:
        """Record that `kind` happened at emulated moment `time_s` of `run`, and wake the readers."""
        with self.together():
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
            self._untold.append(event)
            return event

    def keep_key(self, key: str, job: int, fingerprint: str) -> None:
        """Remember that the submission under `key`, of which `fingerprint` tells, became `job`."""
        with self.together():
            self._database.execute("INSERT INTO submissions VALUES (?, ?, ?)", (key, job, fingerprint))

    def keep_run(self, run: int, request: RunRequest) -> None:
        """Remember what `run` was begun with."""
        with self.together():
            self._database.execute("INSERT INTO runs (run, request) VALUES (?, ?)", (run, request.model_dump_json()))

    def keep_origin(self, run: int, host_origin_s: float) -> None:
        """Remember at which moment the clock of `run` read zero."""
        with self.together():
            self._database.execute("UPDATE runs SET host_origin_s = ? WHERE run = ?", (host_origin_s, run))

    def keep_end(self, run: int) -> None:
        """Remember that `run` has ended."""
        with self.together():
            self._database.execute("UPDATE runs SET ended = 1 WHERE run = ?", (run,))

    def runs(self) -> list[KeptRun]:
        """Every run that was begun, in order."""
        query = "SELECT run, request, host_origin_s, ended FROM runs ORDER BY run"
        with self._changed:
            rows = self._database.execute(query).fetchall()
        return [
            KeptRun(run, RunRequest.model_validate_json(request), origin, bool(ended))
            for run, request, origin, ended in rows
        ]

    def latest_of_each_job(self) -> Iterator[EventView]:
        """The last event of every job of every run, in order of the jobs' numbers."""
        return self._pages(LATEST_OF_EACH_JOB, 0)

    def since_snapshot(self, run: int) -> Iterator[EventView]:
        """The events of `run` from its last decision that holds a snapshot on; all if there is none."""
        with self._changed:
            row = self._database.execute(LATEST_SNAPSHOT, (run,)).fetchone()
        query = f"SELECT sequence, body FROM events WHERE run = {run:d} AND sequence > ? ORDER BY sequence LIMIT ?"
        return self._pages(query, row[0] - 1 if row else 0)

    def under_key(self, key: str) -> KeyedSubmission | None:
        """What was submitted under `key`, if anything was."""
        query = "SELECT job, fingerprint FROM submissions WHERE key = ?"
        with self._changed:
            row = self._database.execute(query, (key,)).fetchone()
        return KeyedSubmission(*row) if row else None

    def last_view(self, job: int) -> JobView | None:
        """The job as its last event has it, were it a former broker's."""
        query = "SELECT body FROM events WHERE job = ? ORDER BY sequence DESC LIMIT 1"
        with self._changed:
            row = self._database.execute(query, (job,)).fetchone()
        return EventView.model_validate_json(row[0]).job if row else None

    def read(self, run: int, after: int, host_wait_s: float = 0.0) -> list[EventView]:
        """Up to a page of events of `run` with a sequence above `after`; waits up to `host_wait_s` for the first."""
        deadline_host_s = time.monotonic() + host_wait_s
        with self._changed:
            while not (rows := self._rows(run, after)):
                remaining_host_s = deadline_host_s - time.monotonic()
                if remaining_host_s <= 0 or not self._changed.wait(remaining_host_s):
                    break
        return [EventView.model_validate_json(body) for _, body in rows]

    def texts(self, run: int, after: int) -> list[tuple[int, str]]:
        """Sequence and JSON of up to a page of events of `run` above `after`, as they are on disk."""
        with self._changed:
            return self._rows(run, after)

    def all_events(self) -> Iterator[EventView]:
        """Every event of every run, in order."""
        return self._pages("SELECT sequence, body FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?", 0)

    @contextmanager
    def told(self, listener: Listener) -> Iterator[None]:
        """Call `listener`, on the writer's thread, whenever something became durable; it must return at once."""
        with self._listening:
            self._listeners = self._listeners | {listener}
        try:
            yield
        finally:
            with self._listening:
                self._listeners = self._listeners - {listener}

    def observe(self, observer: Callable[[EventView], None]) -> None:
        """Hand `observer` every event from now on, once it is durable; it must return at once."""
        with self._changed:
            self._observers.append(observer)

    def last_numbers(self) -> tuple[int, int]:
        """The highest run and job numbers ever used."""
        with self._changed:
            query = "SELECT MAX(MAX(run), (SELECT COALESCE(MAX(run), 0) FROM runs)), MAX(job) FROM events"
            row = self._database.execute(query).fetchone()
        return row[0] or 0, row[1] or 0

    def close(self) -> None:
        """Close the file."""
        with self._changed:
            self._database.close()

    def _pages(self, query: str, after: int) -> Iterator[EventView]:
        """The events of `query`, whose rows begin with what the next page comes after, a page at a time."""
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
        told, self._untold = self._untold, []
        for event in told:
            for observe in self._observers:
                observe(event)
        for listener in self._listeners:
            listener()
        self._changed.notify_all()

    def _roll_back(self) -> None:
        self._untold.clear()
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        self._last_sequence = self._stored_sequence()

    def _rows(self, run: int, after: int) -> list[tuple[int, str]]:
        query = "SELECT sequence, body FROM events WHERE run = ? AND sequence > ? ORDER BY sequence LIMIT ?"
        return self._database.execute(query, (run, after, PAGE)).fetchall()

    def _stored_sequence(self) -> int:
        return int(self._database.execute("SELECT COALESCE(MAX(sequence), 0) FROM events").fetchone()[0])
