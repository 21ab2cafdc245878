"""Notes on a run for the live page: what its recorder knows and the broker does not.

The rows of the run's directory are the source. A thread asks the broker now and then whether anyone looks at the page;
only while someone does, it sends them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from emulator.fidelity.topics import reasons_by_topic
from emulator.fidelity.verdict import judge_links
from emulator.model.errors import TestbedError, UnknownName
from emulator.model.evidence import LinkCheck
from emulator.model.page_views import (
    MOST_NOTES,
    BackgroundNote,
    CheckNote,
    NotesHeld,
    NotesRequest,
    PageReason,
    RunNote,
    VerdictNote,
)
from emulator.model.records import BackgroundRow, JobRow, LinkRow, Manifest
from emulator.model.rows import Row
from emulator.runs.job_rows import verdict_in

HOST_ASK_S: Final = 10.0
"""Host seconds between two questions whether anyone looks."""

HOST_SEND_S: Final = 1.0
"""Host seconds between two requests with notes."""


HOST_LAST_S: Final = 5.0
"""Host seconds that the last notes have to be sent."""


class TakesNotes(Protocol):
    """The broker, as far as notes go."""

    def send_notes(self, run: int, notes: NotesRequest) -> NotesHeld:
        """Send notes on a run; get how many the broker holds, and whether anyone looks."""
        ...


class NoteBook:
    """The notes on one run, in order; any thread may add to it."""

    def __init__(self, manifest: Manifest) -> None:
        self._lock = threading.Lock()
        band = (manifest.workload.get("background") or {}).get("band")
        self._notes = [RunNote(jobs=manifest.jobs, band=band)]

    def note_row(self, row: Row) -> None:
        """Take note of a row of the run's directory, if the page shows what it says."""
        match row:
            case JobRow():
                verdict = verdict_in(row)
                self._add(
                    verdict=VerdictNote(
                        job=row.job, verdict=verdict.judgement.value, reasons=page_reasons(verdict.reasons)
                    )
                )
            case BackgroundRow():
                self._add(
                    background=BackgroundNote(
                        time_s=row.time_s,
                        cluster=row.cluster,
                        dummy=row.dummy_processors,
                        local=row.local_processors,
                    )
                )
            case LinkRow():
                self._add(link=row.model_dump(mode="json", exclude_none=True))

    def note_check(self, check: LinkCheck) -> None:
        """Take note of a check of the wide area."""
        self._add(check=check_note(check))

    def after(self, number: int) -> tuple[RunNote, ...]:
        """Return some notes from `number` on."""
        with self._lock:
            return tuple(self._notes[number : number + MOST_NOTES])

    def _add(self, **fact: Any) -> None:
        with self._lock:
            self._notes.append(RunNote(**fact))


def page_reasons(sentences: tuple[str, ...]) -> tuple[PageReason, ...]:
    """Return the reasons of a verdict, each with what it is about."""
    return tuple(PageReason(topic=topic.value, sentence=said[:2_000]) for topic, said in reasons_by_topic(sentences))


def check_note(check: LinkCheck) -> CheckNote:
    """Return the judgement of a check of the wide area."""
    verdict = judge_links([check])
    return CheckNote(moment=check.moment, verdict=verdict.judgement.value, reasons=page_reasons(verdict.reasons))


@contextmanager
def notes_sent(broker: TakesNotes, run: int, book: NoteBook) -> Iterator[None]:
    """Send the notes of `book` to the broker inside the context, while anyone looks at the page."""
    over = threading.Event()
    sender = threading.Thread(target=_send, args=(broker, run, book, over), name="page-notes", daemon=True)
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join(HOST_LAST_S)


def _send(broker: TakesNotes, run: int, book: NoteBook, over: threading.Event) -> None:
    held, is_watched, is_over = 0, False, False
    while not is_over:
        is_over = over.wait(HOST_SEND_S if is_watched else HOST_ASK_S)
        notes = book.after(held) if is_watched else ()
        try:
            answer = broker.send_notes(run, NotesRequest(first=held, notes=notes))
        except UnknownName:
            return  # a broker without a page
        except TestbedError:
            continue  # the recorder of the run meets the same error, and reports it
        held, is_watched = answer.held, answer.is_watched
