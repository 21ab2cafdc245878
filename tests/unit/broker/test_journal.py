"""The journal: numbered, in order, on disk, and readers wake when something is written."""

import threading
import time

from emulator.broker.state.journal import Journal
from emulator.model.views import EventKind


def test_events_are_numbered_and_kept_apart_by_run(tmp_path):
    journal = Journal(tmp_path / "journal")
    for run in (1, 2, 1):
        journal.append(run, EventKind.RUN_STARTED, time_s=run)
    assert [event.sequence for event in journal.read(1, 0)] == [1, 3]
    assert [event.sequence for event in journal.read(1, 1)] == [3]
    journal.close()


def test_a_journal_opened_again_goes_on_where_it_ended(tmp_path):
    first = Journal(tmp_path / "journal")
    first.append(4, EventKind.RUN_STARTED, time_s=0, detail={"a": [1]})
    first.close()
    second = Journal(tmp_path / "journal")
    assert second.last_numbers() == (4, 0)
    assert second.append(4, EventKind.RUN_ENDED, time_s=1).sequence == 2
    assert [event.detail for event in second.read(4, 0)] == [{"a": [1]}, {}]
    second.close()


def test_a_reader_wakes_when_its_run_has_news_and_not_for_another_s(tmp_path):
    journal = Journal(tmp_path / "journal")
    threading.Timer(0.05, journal.append, (9, EventKind.RUN_STARTED, 0)).start()
    threading.Timer(0.15, journal.append, (1, EventKind.RUN_STARTED, 0)).start()
    began = time.monotonic()
    events = journal.read(1, 0, host_wait_s=10)
    assert [event.run for event in events] == [1]
    assert 0.1 < time.monotonic() - began < 5
    assert journal.read(1, events[-1].sequence, host_wait_s=0.01) == []
    journal.close()
