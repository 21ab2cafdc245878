"""Events for clients that wait: a page at a time, or as a stream of server-sent events.

Bodies are sent as stored in the journal. Waiting needs no thread: each commit of the journal wakes the coroutines.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from starlette.concurrency import run_in_threadpool

from emulator.broker.state.journal import Journal
from emulator.model.views import EventKind

KEEP_ALIVE_HOST_S = 15.0
"""Host seconds without an event after which a stream sends a comment, to keep the connection open."""

_LAST_KIND = f'"kind":"{EventKind.RUN_ENDED.value}"'
_KIND_WITHIN = 80  # an event's text begins with its sequence, run and kind


async def events_page(journal: Journal, run: int, after: int, host_wait_s: float) -> str:
    """Return a JSON array of up to a page of events of `run` above `after`; waits up to `host_wait_s` for one."""
    deadline_host_s = asyncio.get_running_loop().time() + host_wait_s
    with _watch(journal) as changed:
        while True:
            changed.clear()
            rows = await run_in_threadpool(journal.read_json, run, after)
            remaining_host_s = deadline_host_s - asyncio.get_running_loop().time()
            if rows or remaining_host_s <= 0:
                return f"[{','.join(body for _, body in rows)}]"
            await _wait(changed, remaining_host_s)


async def event_stream(journal: Journal, run: int, after: int) -> AsyncIterator[str]:
    """Yield server-sent events of `run` above `after`, with sequence numbers as ids, until the run has ended.

    A client that has all events of a run that has ended gets an end, not a stream that never does.
    """
    yield "retry: 1000\n\n"
    with _watch(journal) as changed:
        while True:
            changed.clear()
            has_ended = await run_in_threadpool(journal.has_ended, run)
            rows = await run_in_threadpool(journal.read_json, run, after)
            if has_ended and not rows:
                return
            for after, body in rows:
                yield f"id: {after}\ndata: {body}\n\n"
                if _LAST_KIND in body[:_KIND_WITHIN]:
                    return
            if not rows and not await _wait(changed, KEEP_ALIVE_HOST_S):
                yield ": still here\n\n"


@contextmanager
def _watch(journal: Journal) -> Iterator[asyncio.Event]:
    """Provide an event of the running loop that is set at each commit of the journal."""
    changed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(changed.set)

    with journal.notify(wake):
        yield changed


async def _wait(changed: asyncio.Event, host_wait_s: float) -> bool:
    try:
        await asyncio.wait_for(changed.wait(), host_wait_s)
    except TimeoutError:
        return False
    return True
