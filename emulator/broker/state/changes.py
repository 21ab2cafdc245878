"""Changes of jobs and runs that happen with their transaction, or not at all.

If the journal fails (its disk is full, it is locked), the jobs and runs are as they were before, and the error is
raised. What must not be lost, such as the report of a job's end, is kept in order and done again once the journal can
be written. The same goes for the catalogue of files, which lies beside it. All methods run on the broker's loop.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from typing import Final

from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.journal import Journal
from emulator.broker.state.runs import Run
from emulator.model.errors import JournalFailed

log = logging.getLogger(__name__)
RETRY_HOST_S: Final = 0.5
"""Host seconds from one attempt to write a journal that failed to the next."""

Action = Callable[[], object]
_KEPT_OF_RUN: Final = (
    "clock", "state", "decisions", "failure", "failure_is_recorded", "is_ending", "undecided_departures",
)  # fmt: skip


class Changes:
    """Changes of state together with the transactions of `journal`.

    `fault` says why work is delayed; it is empty if none is. Any thread may read it.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._depth = 0
        self._undo: list[Action] = []
        self._after: list[Action] = []
        self._delayed: deque[Action] = deque()
        self._retry_host_s = 0.0
        self.fault = ""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all that is recorded within durable together; if that fails, undo the changes of what was kept.

        Raises:
            JournalFailed: if the journal cannot be written.
        """
        self._depth += 1
        try:
            with self._journal.transaction():
                yield
        except BaseException:
            self._depth -= 1
            if self._depth == 0:
                self._undo_all()
            raise
        self._depth -= 1
        if self._depth == 0:
            self._conclude()

    def keep(self, run: Run, job: LiveJob | None = None) -> None:
        """Keep what `run` and `job` are now, to be restored if the transaction fails; call it before a change."""
        self._undo.append(partial(_restore_run, run, {name: getattr(run, name) for name in _KEPT_OF_RUN}))
        if job is not None:
            kept = replace(job, timeline=replace(job.timeline), claimed=dict(job.claimed))
            self._undo.append(partial(_restore_job, run, job, kept))

    def afterwards(self, action: Action) -> None:
        """Do `action` once the transaction is durable, never if it fails."""
        self._after.append(action)

    def do_in_time(self, work: Action) -> None:
        """Do `work` now or, if the journal cannot be written, once it can; delayed work stays in order."""
        if not self._delayed:
            try:
                work()
                return
            except JournalFailed as error:
                log.warning("%s", error)
                self.fault = _cause(error)
                self._retry_host_s = time.monotonic() + RETRY_HOST_S
        self._delayed.append(work)

    @property
    def is_delayed(self) -> bool:
        """Whether some work waits until the journal can be written, or the journal failed last."""
        return bool(self._delayed or self._journal.fault)

    def host_until_retry_s(self) -> float:
        """Get the host seconds until the next attempt is due."""
        return max(0.0, self._retry_host_s - time.monotonic())

    def retry(self) -> bool:
        """Do the delayed work in order; returns whether the journal can be written and no work is left."""
        self._retry_host_s = time.monotonic() + RETRY_HOST_S
        try:
            self._journal.check_writable()
            while self._delayed:
                self._do_first_delayed()
                self._delayed.popleft()
        except JournalFailed as error:
            self.fault = _cause(error) if self._delayed else ""
            return False
        self.fault = ""
        return True

    def _do_first_delayed(self) -> None:
        try:
            self._delayed[0]()
        except JournalFailed:
            raise
        except Exception:
            log.exception("a piece of the broker's delayed work failed")

    def _undo_all(self) -> None:
        undo, self._undo, self._after = self._undo, [], []
        for action in reversed(undo):
            action()

    def _conclude(self) -> None:
        after, self._undo, self._after = self._after, [], []
        for action in after:
            try:
                action()
            except Exception:
                log.exception("what follows a change of the broker's state failed")


def _cause(error: JournalFailed) -> str:
    """Return what the disk said."""
    return str(error.__cause__ or error)


def _restore_run(run: Run, kept: dict[str, object]) -> None:
    for name, value in kept.items():
        setattr(run, name, value)


def _restore_job(run: Run, job: LiveJob, kept: LiveJob) -> None:
    for each in fields(LiveJob):
        setattr(job, each.name, getattr(kept, each.name))
    run.sort_in(job)
