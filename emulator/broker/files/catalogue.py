"""The replica catalogue: logical names, the sites that hold them, and the jobs that use each replica, on disk.

A replica is *kept* if a user registered it; one that was brought for jobs is removed when the last of them has ended.
The catalogue also holds the rates of past transfers, from which bandwidths are forecast. Reads are answered from
memory; every change is on disk before it is seen. If the disk is full, nothing has changed, and `JournalFailed` is
raised: the catalogue lies beside the journal, and the broker waits for both in the same way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from emulator.clusters.file_server import StoredFile
from emulator.model.errors import InvalidInput, JournalFailed, UnknownName
from emulator.policies.bandwidth import REMEMBERED

SCHEMA = """
CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, size_bytes INTEGER NOT NULL, sha256 TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS replicas (
    file TEXT NOT NULL REFERENCES files (name) ON DELETE CASCADE,
    site TEXT NOT NULL,
    kept INTEGER NOT NULL,
    PRIMARY KEY (file, site)
);
CREATE TABLE IF NOT EXISTS uses (
    file TEXT NOT NULL,
    site TEXT NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (file, site, job),
    FOREIGN KEY (file, site) REFERENCES replicas (file, site) ON DELETE CASCADE
);
CREATE TABLE IF NOT EXISTS transfers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    bytes_per_s REAL NOT NULL
);
"""

FORGET_OLD_TRANSFERS = """
DELETE FROM transfers WHERE source = ?1 AND target = ?2 AND number NOT IN (
    SELECT number FROM transfers WHERE source = ?1 AND target = ?2 ORDER BY number DESC LIMIT ?3
)
"""
DROP_UNKEPT = "DELETE FROM replicas WHERE kept = 0"
DROP_FILES = "DELETE FROM files WHERE name NOT IN (SELECT file FROM replicas)"


@dataclass(slots=True)
class Replica:
    """A file at a site: whether it stays without users, and the jobs that use it."""

    kept: bool
    jobs: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Entry:
    """A file and its replicas by site."""

    file: StoredFile
    replicas: dict[str, Replica] = field(default_factory=dict)

    @property
    def in_use(self) -> bool:
        """Whether a job uses one of the replicas."""
        return any(replica.jobs for replica in self.replicas.values())


class Catalogue:
    """The catalogue in the SQLite file at `path`; used by one thread at a time.

    Every method that changes something raises `JournalFailed` if the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("PRAGMA foreign_keys=ON")
        self._database.executescript(SCHEMA)
        self._entries: dict[str, Entry] = {}
        self._read()

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def entries(self) -> list[Entry]:
        """Get every file, in alphabetical order of the names."""
        return [self._entries[name] for name in sorted(self._entries)]

    def entry(self, name: str) -> Entry:
        """Get the file of that name.

        Raises:
            UnknownName: if there is none.
        """
        if name not in self._entries:
            raise UnknownName(f"There is no file {name!r} (`testbed files list` shows those there are).")
        return self._entries[name]

    def files_at(self, site: str) -> list[str]:
        """Get the names of the files that `site` holds."""
        return [name for name, entry in self._entries.items() if site in entry.replicas]

    def register(self, file: StoredFile, sites: list[str]) -> None:
        """Add a file with its replicas, all of them kept.

        Raises:
            InvalidInput: if a file of that name is there.
        """
        if file.name in self:
            raise InvalidInput(f"name: a file {file.name!r} is there already; remove it first, or choose another name.")
        with self._change():
            self._execute("INSERT INTO files VALUES (?, ?, ?)", file.name, file.size_bytes, file.sha256)
            for site in sites:
                self._execute("INSERT INTO replicas VALUES (?, ?, 1)", file.name, site)
        self._entries[file.name] = Entry(file, {site: Replica(kept=True) for site in sites})

    def remove(self, name: str) -> None:
        """Remove a file and all its replicas; does nothing if there is no such file."""
        with self._change():
            self._execute("DELETE FROM files WHERE name = ?", name)
        self._entries.pop(name, None)

    def add_replica(self, name: str, site: str, jobs: set[int]) -> None:
        """Add a replica that a transfer brought to `site` for `jobs`."""
        entry = self.entry(name)
        with self._change():
            self._execute("INSERT OR REPLACE INTO replicas VALUES (?, ?, 0)", name, site)
            for job in jobs:
                self._execute("INSERT INTO uses VALUES (?, ?, ?)", name, site, job)
        entry.replicas[site] = Replica(kept=False, jobs=set(jobs))

    def drop_replica(self, name: str, site: str) -> None:
        """Remove the replica at `site`, and the file if it was the last one."""
        entry = self.entry(name)
        with self._change():
            self._execute("DELETE FROM replicas WHERE file = ? AND site = ?", name, site)
            self._execute(DROP_FILES)
        self._drop(entry, site)

    def use(self, name: str, sites: Collection[str], job: int) -> None:
        """Record that `job` uses the replicas at `sites`."""
        entry = self.entry(name)
        with self._change():
            for site in sites:
                self._execute("INSERT OR IGNORE INTO uses VALUES (?, ?, ?)", name, site, job)
        for site in sites:
            entry.replicas[site].jobs.add(job)

    def end_uses(self, job: int) -> list[tuple[str, str]]:
        """End all uses of `job`; removes and returns the brought replicas that no job uses now, as (file, site)."""
        used = [(entry, site) for entry, site, replica in self._replicas() if job in replica.jobs]
        free = [(entry, site) for entry, site in used if _is_free_without(entry.replicas[site], job)]
        with self._change():
            self._execute("DELETE FROM uses WHERE job = ?", job)
            for entry, site in free:
                self._execute("DELETE FROM replicas WHERE file = ? AND site = ?", entry.file.name, site)
            self._execute(DROP_FILES)
        for entry, site in used:
            entry.replicas[site].jobs.discard(job)
        for entry, site in free:
            self._drop(entry, site)
        return [(entry.file.name, site) for entry, site in free]

    def forget_jobs(self) -> None:
        """End the uses of all jobs, and remove every replica that was brought for one."""
        if all(replica.kept and not replica.jobs for _, _, replica in self._replicas()):
            return  # a full disk refuses even a change of nothing
        with self._change():
            self._execute("DELETE FROM uses")
            self._execute(DROP_UNKEPT)
            self._execute(DROP_FILES)
        self._entries.clear()
        self._read()

    def record_transfer(self, source: str, target: str, bytes_per_s: float) -> None:
        """Record the rate of a transfer, in emulated bytes per second; a pair's last `REMEMBERED` ones are kept."""
        with self._change():
            statement = "INSERT INTO transfers (source, target, bytes_per_s) VALUES (?, ?, ?)"
            self._execute(statement, source, target, bytes_per_s)
            self._execute(FORGET_OLD_TRANSFERS, source, target, REMEMBERED)

    def past_transfers(self) -> list[tuple[str, str, float]]:
        """Get source, target and emulated bytes per second of the transfers that are kept, the oldest first."""
        query = "SELECT source, target, bytes_per_s FROM transfers ORDER BY number"
        return self._database.execute(query).fetchall()

    def forget_transfers(self) -> None:
        """Forget the rates of all past transfers."""
        if not self.past_transfers():
            return  # a full disk refuses even a change of nothing
        with self._change():
            self._execute("DELETE FROM transfers")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _replicas(self) -> Iterator[tuple[Entry, str, Replica]]:
        for entry in self._entries.values():
            for site, replica in entry.replicas.items():
                yield entry, site, replica

    def _drop(self, entry: Entry, site: str) -> None:
        entry.replicas.pop(site, None)
        if not entry.replicas:
            self._entries.pop(entry.file.name, None)

    def _read(self) -> None:
        for name, size_bytes, sha256 in self._database.execute("SELECT name, size_bytes, sha256 FROM files"):
            self._entries[name] = Entry(StoredFile(name, size_bytes, sha256))
        for name, site, kept in self._database.execute("SELECT file, site, kept FROM replicas"):
            self._entries[name].replicas[site] = Replica(bool(kept))
        for name, site, job in self._database.execute("SELECT file, site, job FROM uses"):
            self._entries[name].replicas[site].jobs.add(job)

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Make all that is executed within take effect, or nothing.

        Raises:
            JournalFailed: if the file cannot be written.
        """
        try:
            self._database.execute("BEGIN IMMEDIATE")
            yield
            self._database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self._roll_back()
            raise JournalFailed(f"The broker's catalogue of files cannot be written for now ({error}).") from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._database.in_transaction:
            with suppress(sqlite3.Error):  # SQLite then rolls back by itself, at the latest when the file is opened
                self._database.execute("ROLLBACK")

    def _execute(self, statement: str, *values: str | int | float) -> None:
        self._database.execute(statement, values)


def _is_free_without(replica: Replica, job: int) -> bool:
    """Return whether a brought replica has no user but `job`."""
    return not replica.kept and replica.jobs <= {job}
