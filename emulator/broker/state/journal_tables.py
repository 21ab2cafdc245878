"""The journal's tables, and the statements that find in them what a restart needs."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from emulator.model.job import JobState
from emulator.model.views import EventKind

VERSION: Final = 2
"""The number of the journal's format, in the file's header."""
FINAL_STATES = tuple(state.value for state in JobState if state.final)
SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    job INTEGER,
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_of_run ON events (run, sequence);
CREATE INDEX IF NOT EXISTS events_of_job ON events (job, sequence) WHERE job IS NOT NULL;
CREATE TABLE IF NOT EXISTS jobs (
    job INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    is_final INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS jobs_of_run ON jobs (run, job);
CREATE INDEX IF NOT EXISTS unfinished_jobs ON jobs (job) WHERE is_final = 0;
CREATE TABLE IF NOT EXISTS checkpoints (
    name TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL,
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS submissions (
    key TEXT PRIMARY KEY,
    job INTEGER NOT NULL,
    fingerprint TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY,
    request TEXT NOT NULL,
    host_origin_s REAL,
    ended INTEGER NOT NULL DEFAULT 0,
    host_monotonic_origin_s REAL,
    boot TEXT NOT NULL DEFAULT ''
);
"""
ADDED_TO_RUNS: Final = {"host_monotonic_origin_s": "REAL", "boot": "TEXT NOT NULL DEFAULT ''"}
"""Columns that journals of earlier versions lack."""
LAST_EVENTS = "SELECT job, body FROM jobs JOIN events USING (sequence, job) WHERE {which} job > ? ORDER BY job LIMIT ?"
COLLECT_JOBS = f"""
INSERT OR REPLACE INTO jobs
SELECT job, run, MAX(sequence), json_extract(body, '$.job.state') IN {FINAL_STATES}
FROM events WHERE job IS NOT NULL GROUP BY job
"""
NOTE_JOB = """
INSERT INTO jobs VALUES (?, ?, ?, ?)
ON CONFLICT (job) DO UPDATE SET sequence = excluded.sequence, is_final = excluded.is_final
"""
NEEDED_SEQUENCES = f"""
SELECT MIN(sequence) FROM jobs WHERE is_final = 0
UNION ALL
SELECT (SELECT MAX(sequence) FROM events WHERE run = runs.run AND job IS NULL
    AND json_extract(body, '$.kind') = '{EventKind.DECISION}' AND json_type(body, '$.detail.snapshot') IS NOT NULL)
FROM runs WHERE ended = 0
"""
"""The oldest last event of a job that has not ended, and the last snapshot of each run that has not."""
LATEST_SNAPSHOT = f"""
SELECT sequence FROM events
WHERE run = ? AND job IS NULL AND json_extract(body, '$.kind') = '{EventKind.DECISION}'
AND json_type(body, '$.detail.snapshot') IS NOT NULL
ORDER BY sequence DESC LIMIT 1
"""


def opened(path: Path) -> sqlite3.Connection:
    """Open the journal's file, which is made if it does not exist, with all that journals of earlier versions lack."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.executescript(SCHEMA)
    _migrate(database)
    return database


def _migrate(database: sqlite3.Connection) -> None:
    """Add what is lacking in one transaction, so that a broker that is killed meanwhile leaves the file as it was."""
    columns = {row[1] for row in database.execute("PRAGMA table_info(runs)")}
    lacking = [f"{name} {kind}" for name, kind in ADDED_TO_RUNS.items() if name not in columns]
    has_jobs = database.execute("PRAGMA user_version").fetchone()[0] >= VERSION
    if has_jobs and not lacking:
        return
    database.execute("BEGIN IMMEDIATE")
    for column in lacking:
        database.execute(f"ALTER TABLE runs ADD COLUMN {column}")
    if not has_jobs:
        database.execute(COLLECT_JOBS)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")
