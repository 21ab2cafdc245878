"""What the recorder of a run tells the live page, and when."""

import threading

import pytest

from emulator.broker.http.page_notes import PageNotes
from emulator.model.errors import TestbedNotUp, UnknownName
from emulator.model.evidence import LinkCheck
from emulator.model.page_views import NotesHeld, NotesRequest
from emulator.runs import page_notes
from emulator.runs.page_notes import NoteBook, notes_sent
from emulator.runs.run_directory import RunDirectory
from tests.unit.page.recorded_runs import manifest, write_run


class Broker:
    """A broker's notes, which a test can lose, and a count of what was asked."""

    def __init__(self) -> None:
        self.notes = PageNotes()
        self.asked = 0
        self.error: Exception | None = None
        self.changed = threading.Condition()
        self.is_watched = True

    def send_notes(self, run: int, request: NotesRequest) -> NotesHeld:
        with self.changed:
            self.asked += 1
            self.changed.notify_all()
            if self.error is not None:
                raise self.error
            if self.is_watched:
                self.notes.look(0.0)
            return self.notes.take(run, request.first, request.notes, 0.0)

    def until(self, condition) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, timeout=60)

    @property
    def held(self):
        return self.notes.read(1, 0).notes


@pytest.fixture
def book(monkeypatch):
    monkeypatch.setattr(page_notes, "HOST_ASK_S", 0.001)
    monkeypatch.setattr(page_notes, "HOST_SEND_S", 0.001)
    return NoteBook(manifest())


@pytest.fixture
def broker():
    return Broker()


def test_the_rows_of_a_run_become_notes(tmp_path, monkeypatch):
    book = NoteBook(manifest())
    opened = RunDirectory.__init__

    def observed(self, *arguments) -> None:
        opened(self, *arguments)
        self.on_row = book.note_row

    monkeypatch.setattr(RunDirectory, "__init__", observed)
    write_run(tmp_path / "run")
    book.note_check(LinkCheck("before"))
    notes = book.after(0)
    assert (notes[0].jobs, notes[0].band) == (3, (0.15, 0.2))
    verdicts = [note.verdict for note in notes if note.verdict is not None]
    assert [(verdict.job, verdict.verdict) for verdict in verdicts] == [(1, "suspect"), (2, "void"), (3, "void")]
    assert [reason.topic for reason in verdicts[0].reasons] == ["phases", "host"]
    assert [note.background.dummy for note in notes if note.background is not None] == [2, 6]
    assert [note.link["quantity"] for note in notes if note.link is not None] == ["delay"]
    assert [note.check.moment for note in notes if note.check is not None] == ["before"]


def test_notes_are_sent_while_someone_looks(book, broker):
    with notes_sent(broker, 1, book):
        broker.until(lambda: len(broker.held) == 1)
        book.note_check(LinkCheck("before"))
        broker.until(lambda: len(broker.held) == 2)
        book.note_check(LinkCheck("after"))
    assert [note.check.moment for note in broker.held[1:]] == ["before", "after"]


def test_with_nobody_looking_nothing_is_sent(book, broker):
    broker.is_watched = False
    with notes_sent(broker, 1, book):
        broker.until(lambda: broker.asked >= 3)
    assert broker.held == ()


def test_a_broker_that_was_started_again_gets_all_of_them_again(book, broker):
    with notes_sent(broker, 1, book):
        broker.until(lambda: len(broker.held) == 1)
        with broker.changed:
            broker.notes = PageNotes()
        broker.until(lambda: len(broker.held) == 1)


def test_a_broker_that_is_away_is_asked_again(book, broker):
    broker.error = TestbedNotUp("away")
    with notes_sent(broker, 1, book):
        broker.until(lambda: broker.asked >= 3)
        broker.error = None
        broker.until(lambda: len(broker.held) == 1)


def test_a_broker_without_a_page_is_asked_once(book, broker):
    broker.error = UnknownName("no such page")
    with notes_sent(broker, 1, book):
        broker.until(lambda: broker.asked == 1)
    assert broker.asked == 1
