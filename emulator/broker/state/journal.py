"""The journal: every event of the broker, numbered, in order, on disk before any reader gets it.

All that is appended within one `transaction` becomes durable together. The journal also holds the last event of each
job, the keys under which clients submitted jobs, each run's request, clock origin and end, so that a killed broker can
be restored (`restore`), and checkpoints of what is computed from all events. No event is ever changed. The newest
`RETAINED_EVENTS` are kept, and whatever a restart needs.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from emulator.broker.state.journal_tables import (
    LAST_EVENTS,
    LATEST_SNAPSHOT,
    NEEDED_SEQUENCES,
    NOTE_JOB,
    VERSION,
    opened,
)
from emulator.model.clock import EmulatedClock, boot_identity
from emulator.model.errors import JournalFailed
from emulator.model.views import EventKind, EventView, JobView, RunRequest

PAGE = 1_000
RETAINED_EVENTS = 10_000_000
FORGOTTEN_TOGETHER = 2_000
"""Events that are removed in one transaction at most, every `PAGE` events."""
log = logging.getLogger(__name__)

Listener = Callable[[], None]


@dataclass(frozen=True, slots=True)
class KeyedSubmission:
    """A submission under a key: the job that it became, and a fingerprint of what was submitted."""

    job: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as stored: its clock read zero at the host timestamp `host_origin_s`; None before its start.

    This was at `host_monotonic_origin_s` on the monotonic clock of the host's `boot`.
    """

    number: int
    request: RunRequest
    host_origin_s: float | None
    has_ended: bool
    host_monotonic_origin_s: float | None = None
    boot: str = ""


@dataclass(slots=True)
class _Unwritten:
    """Rows of a transaction under way; they are written together before its end, which costs a third of one by one."""

    events: list[tuple[int, int, int | None, str]] = field(default_factory=list)
    jobs: list[tuple[int, int, int, bool]] = field(default_factory=list)
    submissions: dict[str, KeyedSubmission] = field(default_factory=dict)


class Journal:
    """Events in one SQLite file with a write-ahead log; safe to share between threads.

    `fault` says why the last transaction failed; it is empty once one has succeeded again.
    """

    def __init__(self, path: Path) -> None:
        self._database = opened(path)
        self._changed = threading.Condition()
        self._last_sequence = self._stored_sequence()
        self._depth = 0
        self.fault = ""
        self._uncommitted: list[EventView] = []
        self._unwritten = _Unwritten()
        self._listeners: frozenset[Listener] = frozenset()
        self._listening = threading.Lock()
        self._observers: list[Callable[[EventView], None]] = []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all that the calling thread appends within durable at the end, or nothing of it if that fails.

        Raises:
            JournalFailed: if the journal cannot be written; nothing of the transaction is in it then.
        """
        with self._changed:
            if self._depth > 0:
                yield
                return
            try:
                self._database.execute("BEGIN IMMEDIATE")
                self._depth = 1
                yield
                self._write()
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                self.fault = str(error)
                self._roll_back()
                raise JournalFailed(f"The broker's journal cannot be written for now ({error}).") from error
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._depth = 0
            self.fault = ""
            self._publish()

    def check_writable(self) -> None:
        """Write to the disk without a change.

        Raises:
            JournalFailed: if that fails.
        """
        with self.transaction():
            self._database.execute(f"PRAGMA user_version = {VERSION}")

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
            self._unwritten.events.append((event.sequence, run, job.id if job else None, event.model_dump_json()))
            self._last_sequence = event.sequence
            self._uncommitted.append(event)
            if job is not None:
                self._unwritten.jobs.append((job.id, run, event.sequence, job.state.final))
            if event.sequence % PAGE == 0:
                self._write()
                self._forget_old_events()
            return event

    def store_key(self, key: str, job: int, fingerprint: str) -> None:
        """Store that the submission under `key`, with that `fingerprint`, became `job`."""
        with self.transaction():
            self._unwritten.submissions[key] = KeyedSubmission(job, fingerprint)

    def store_run(self, run: int, request: RunRequest) -> None:
        """Store the request of `run`."""
        with self.transaction():
            self._database.execute("INSERT INTO runs (run, request) VALUES (?, ?)", (run, request.model_dump_json()))

    def store_origin(self, run: int, clock: EmulatedClock) -> None:
        """Store when the clock of `run` read zero."""
        origin = (clock.host_wall_origin_s, clock.host_monotonic_origin_s, boot_identity())
        statement = "UPDATE runs SET host_origin_s = ?, host_monotonic_origin_s = ?, boot = ? WHERE run = ?"
        with self.transaction():
            self._database.execute(statement, (*origin, run))

    def store_end(self, run: int) -> None:
        """Store that `run` has ended."""
        with self.transaction():
            self._database.execute("UPDATE runs SET ended = 1 WHERE run = ?", (run,))

    def has_ended(self, run: int) -> bool:
        """Return whether `run` has ended, so that no event of it will come."""
        rows = self._select("SELECT ended FROM runs WHERE run = ?", (run,))
        return bool(rows and rows[0][0])

    def runs(self) -> list[StoredRun]:
        """Get every run that was begun, in order."""
        query = "SELECT run, request, host_origin_s, ended, host_monotonic_origin_s, boot FROM runs ORDER BY run"
        rows = self._select(query)
        return [
            StoredRun(run, RunRequest.model_validate_json(request), origin, bool(ended), monotonic, boot)
            for run, request, origin, ended, monotonic, boot in rows
        ]

    def last_events_of_unfinished_jobs(self) -> Iterator[EventView]:
        """Yield the last event of every job that has not ended, in order of the jobs' numbers."""
        return self._pages(LAST_EVENTS.format(which="is_final = 0 AND"), 0)

    def last_views(self, run: int | None = None, after: int = 0, limit: int | None = None) -> list[JobView]:
        """Get the jobs of a run, or all, as of their last events: those numbered above `after`, at most `limit`."""
        query = LAST_EVENTS.format(which="" if run is None else f"jobs.run = {run:d} AND")
        rows = self._select(query, (after, -1 if limit is None else limit))
        return [job for _, body in rows if (job := EventView.model_validate_json(body).job) is not None]

    def since_snapshot(self, run: int) -> Iterator[EventView]:
        """Yield the events of `run` from its last decision with a snapshot on; all if there is none."""
        snapshots = self._select(LATEST_SNAPSHOT, (run,))
        query = f"SELECT sequence, body FROM events WHERE run = {run:d} AND sequence > ? ORDER BY sequence LIMIT ?"
        return self._pages(query, snapshots[0][0] - 1 if snapshots else 0)

    def find_submission(self, key: str) -> KeyedSubmission | None:
        """Get what was submitted under `key`, if anything was."""
        query = "SELECT job, fingerprint FROM submissions WHERE key = ?"
        with self._changed:
            if (unwritten := self._unwritten.submissions.get(key)) is not None:
                return unwritten
            row = self._database.execute(query, (key,)).fetchone()
        return KeyedSubmission(*row) if row else None

    def last_view(self, job: int) -> JobView | None:
        """Get the job as of its last event, also one of a former broker."""
        query = "SELECT body FROM jobs JOIN events USING (sequence, job) WHERE job = ?"
        rows = self._select(query, (job,))
        return EventView.model_validate_json(rows[0][0]).job if rows else None

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

    def store_checkpoint(self, name: str, sequence: int, body: str) -> None:
        """Store what was computed from all events up to `sequence`."""
        with self.transaction():
            self._database.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)", (name, sequence, body))

    def checkpoint(self, name: str) -> tuple[int, str]:
        """Get the last checkpoint of that name and the event it includes; 0 and an empty string if there is none."""
        query = "SELECT sequence, body FROM checkpoints WHERE name = ?"
        rows = self._select(query, (name,))
        return (rows[0][0], rows[0][1]) if rows else (0, "")

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

    def observe(self, observer: Callable[[EventView], None], after: int | None = None) -> None:
        """Call `observer` with every event from now on, once it is durable; it must return at once.

        If `after` is given, call it with every event above that one first.
        """
        query = "SELECT sequence, body FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?"
        with self._changed:  # so that no event is written between reading the past and observing the future
            for event in self._pages(query, after) if after is not None else ():
                observer(event)
            self._observers.append(observer)

    def last_numbers(self) -> tuple[int, int]:
        """Get the highest run and job numbers used so far."""
        query = "SELECT (SELECT MAX(run) FROM events), (SELECT MAX(run) FROM runs), (SELECT MAX(job) FROM jobs)"
        of_events, of_runs, of_jobs = self._select(query)[0]
        return max(of_events or 0, of_runs or 0), of_jobs or 0

    @property
    def last_sequence(self) -> int:
        """The number of the last event, 0 without one."""
        return self._last_sequence

    def close(self) -> None:
        """Close the file."""
        with self._changed:
            self._database.close()

    def _forget_old_events(self) -> None:
        """Remove the oldest events beyond those to be retained, with the jobs that they ended; never what is needed."""
        oldest = self._database.execute("SELECT MIN(sequence) FROM events").fetchone()[0]
        last = min(self._last_sequence - RETAINED_EVENTS, oldest + FORGOTTEN_TOGETHER - 1)
        if last < oldest:
            return
        needed = [row[0] for row in self._database.execute(NEEDED_SEQUENCES) if row[0] is not None]
        last = min([last, *(sequence - 1 for sequence in needed)])
        self._database.execute(
            "DELETE FROM jobs WHERE job IN (SELECT job FROM events WHERE sequence <= ?) AND sequence <= ?", (last, last)
        )
        self._database.execute("DELETE FROM events WHERE sequence <= ?", (last,))

    def _pages(self, query: str, after: int) -> Iterator[EventView]:
        """Yield the events of `query`, a page at a time; each page begins after the last row's first column."""
        while True:
            rows = self._select(query, (after, PAGE))
            if not rows:
                return
            yield from (EventView.model_validate_json(body) for _, body in rows)
            after = rows[-1][0]

    def _publish(self) -> None:
        """Tell observers and readers what has become durable; one that fails changes nothing of that."""
        committed, self._uncommitted = self._uncommitted, []
        for event in committed:
            for observe in self._observers:
                _attempt(partial(observe, event))
        for listener in self._listeners:
            _attempt(listener)
        self._changed.notify_all()

    def _write(self) -> None:
        """Write the rows of the transaction under way, if there are any."""
        rows = self._unwritten
        if rows.events:
            self._database.executemany("INSERT INTO events (sequence, run, job, body) VALUES (?, ?, ?, ?)", rows.events)
        if rows.jobs:
            self._database.executemany(NOTE_JOB, rows.jobs)
        if rows.submissions:
            keyed = [(key, kept.job, kept.fingerprint) for key, kept in rows.submissions.items()]
            self._database.executemany("INSERT INTO submissions VALUES (?, ?, ?)", keyed)
        if rows.events or rows.jobs or rows.submissions:
            self._unwritten = _Unwritten()

    def _roll_back(self) -> None:
        self._last_sequence -= len(self._uncommitted)
        self._uncommitted.clear()
        self._unwritten = _Unwritten()
        if self._database.in_transaction:
            with suppress(sqlite3.Error):  # SQLite then rolls back by itself, at the latest when the file is opened
                self._database.execute("ROLLBACK")

    def _rows(self, run: int, after: int) -> list[tuple[int, str]]:
        query = "SELECT sequence, body FROM events WHERE run = ? AND sequence > ? ORDER BY sequence LIMIT ?"
        return self._select(query, (run, after, PAGE))

    def _select(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of `query`, those of the calling thread's own transaction among them."""
        with self._changed:
            self._write()
            return self._database.execute(query, values).fetchall()

    def _stored_sequence(self) -> int:
        return int(self._database.execute("SELECT COALESCE(MAX(sequence), 0) FROM events").fetchone()[0])


def _attempt(action: Callable[[], None]) -> None:
    try:
        action()
    except Exception:
        log.exception("what follows an event of the journal failed")
