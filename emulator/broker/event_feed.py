"""Events for those who wait for them: a page at a time, or as a stream of server-sent events.

Bodies go out as they stand in the journal. Waiting costs no thread: the journal's writer rings, and a coroutine wakes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from starlette.concurrency import run_in_threadpool

from emulator.broker.journal import Journal
from emulator.model.views import EventKind

KEEP_ALIVE_HOST_S = 15.0
"""Host seconds without an event after which a stream says that it is still there."""

_LAST_KIND = f'"kind":"{EventKind.RUN_ENDED.value}"'
_KIND_WITHIN = 80  # an event's text begins with its sequence, run and kind


async def events_page(journal: Journal, run: int, after: int, host_wait_s: float) -> str:
    """A JSON array of up to a page of events of `run` above `after`; waits up to `host_wait_s` for the first."""
    deadline_host_s = asyncio.get_running_loop().time() + host_wait_s
    with _bell(journal) as rung:
        while True:
            rung.clear()
            rows = await run_in_threadpool(journal.texts, run, after)
            remaining_host_s = deadline_host_s - asyncio.get_running_loop().time()
            if rows or remaining_host_s <= 0:
                return f"[{','.join(body for _, body in rows)}]"
            await _wait(rung, remaining_host_s)


async def event_stream(journal: Journal, run: int, after: int) -> AsyncIterator[str]:
    """Server-sent events of `run` above `after`, their ids being sequence numbers, until the run has ended."""
    yield "retry: 1000\n\n"
    with _bell(journal) as rung:
        while True:
            rung.clear()
            rows = await run_in_threadpool(journal.texts, run, after)
            for after, body in rows:
                yield f"id: {after}\ndata: {body}\n\n"
                if _LAST_KIND in body[:_KIND_WITHIN]:
                    return
            if not rows and not await _wait(rung, KEEP_ALIVE_HOST_S):
                yield ": still here\n\n"


@contextmanager
def _bell(journal: Journal) -> Iterator[asyncio.Event]:
    """An event of the running loop that is set whenever the journal has news."""
    rung = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ring() -> None:
        with suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(rung.set)

    with journal.told(ring):
        yield rung


async def _wait(rung: asyncio.Event, host_wait_s: float) -> bool:
    try:
        await asyncio.wait_for(rung.wait(), host_wait_s)
    except TimeoutError:
        return False
    return True
