"""A journal whose disk fails when it is told to: at a statement of a kind, from the n-th statement on, or for good."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from emulator.broker.state.journal import Journal

WRITING = ("BEGIN", "INSERT", "UPDATE", "DELETE", "PRAGMA user_version", "COMMIT")


class FaultyDatabase:
    """A database whose statements that begin with a word of `failing` fail, as on a full disk.

    The `whole` next writing statements succeed in any case.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.failing: tuple[str, ...] = ()
        self.whole = 0
        self.written = 0

    def execute(self, statement: str, *values):
        if statement.lstrip().startswith(WRITING):
            self.written += 1
            if self.written > self.whole and statement.lstrip().startswith(self.failing or ("nothing",)):
                raise sqlite3.OperationalError("database or disk is full")
        return self._database.execute(statement, *values)

    def executemany(self, statement: str, rows):
        for row in rows:
            self.execute(statement, row)

    def __getattr__(self, name: str):
        return getattr(self._database, name)


class FaultyJournal(Journal):
    """A journal on a `FaultyDatabase`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.disk = self._database = FaultyDatabase(self._database)

    def fail(self, *failing: str, whole: int = 0) -> None:
        """Have statements of a kind fail, all that write by default, after `whole` that succeed."""
        self.disk.written, self.disk.whole, self.disk.failing = 0, whole, failing or WRITING

    def heal(self) -> None:
        """Let all statements succeed again."""
        self.disk.failing = ()
