"""Events for those who wait: a page as soon as there is one, and a stream that resumes where it was left."""

import asyncio
import json

import pytest

from emulator.broker.http.event_feed import event_stream, events_page
from emulator.broker.state.journal import Journal
from emulator.model.views import EventKind, RunRequest


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path / "journal")
    yield journal
    journal.close()


async def _all(journal, after: int) -> list[str]:
    return [text async for text in event_stream(journal, 1, after)]


def test_a_stream_has_every_event_of_its_run_and_ends_with_it(journal):
    for run, kind in ((1, EventKind.RUN_STARTED), (2, EventKind.RUN_STARTED), (1, EventKind.RUN_ENDED)):
        journal.append(run, kind, time_s=0)
    events = asyncio.run(_all(journal, 0))[1:]
    assert [text.splitlines()[0] for text in events] == ["id: 1", "id: 3"]
    assert [json.loads(text.splitlines()[1].removeprefix("data: "))["kind"] for text in events] == [
        "run-started",
        "run-ended",
    ]
    assert all(text.endswith("\n\n") and text.count("\n") == 3 for text in events)


def test_a_stream_resumes_after_the_event_it_is_told(journal):
    journal.append(1, EventKind.RUN_STARTED, time_s=0)
    journal.append(1, EventKind.RUN_ENDED, time_s=1)
    assert [text.splitlines()[0] for text in asyncio.run(_all(journal, 1))[1:]] == ["id: 2"]


def test_who_has_all_events_of_a_run_that_has_ended_gets_the_end_of_the_stream(journal):
    journal.store_run(1, RunRequest(name="r"))
    with journal.transaction():
        journal.store_end(1)
        last = journal.append(1, EventKind.RUN_ENDED, time_s=1).sequence
    assert asyncio.run(asyncio.wait_for(_all(journal, last), timeout=60)) == ["retry: 1000\n\n"]


def test_text_within_an_event_cannot_end_a_stream_or_begin_a_line(journal):
    journal.append(1, EventKind.CLUSTER_LOST, 0, detail={"reason": '"kind":"run-ended"\n\nid: 7'})
    journal.append(1, EventKind.RUN_ENDED, time_s=1)
    assert [text.splitlines()[0] for text in asyncio.run(_all(journal, 0))[1:]] == ["id: 1", "id: 2"]


def test_a_waiter_is_woken_by_an_event_of_the_run(journal):
    async def wait() -> list[dict]:
        page = asyncio.create_task(events_page(journal, 1, 0, host_wait_s=600))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(journal.append, 2, EventKind.RUN_STARTED, 0)
        await asyncio.sleep(0.05)
        assert not page.done()
        await asyncio.to_thread(journal.append, 1, EventKind.RUN_STARTED, 0)
        return json.loads(await page)

    assert [event["sequence"] for event in asyncio.run(wait())] == [2]


def test_a_waiter_without_an_event_gets_an_empty_page(journal):
    assert asyncio.run(events_page(journal, 1, 0, host_wait_s=0.01)) == "[]"


def test_no_waiter_is_woken_for_what_is_rolled_back(journal):
    rung = []

    def append_and_fail() -> None:
        with journal.transaction():
            journal.append(1, EventKind.RUN_STARTED, 0)
            raise RuntimeError

    with journal.notify(lambda: rung.append(1)):
        with pytest.raises(RuntimeError):
            append_and_fail()
        assert rung == []
        assert journal.read(1, 0) == []
        assert journal.append(1, EventKind.RUN_STARTED, 0).sequence == 1
        assert rung == [1]
