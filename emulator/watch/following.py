"""A broker's status and events, read for as long as somebody watches.

A broker that goes away is looked for until it is back; what happened meanwhile is then read from its journal. It costs
the broker what an open page costs it: a status each second, and one request that waits for events.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from emulator.client import HOST_LOOK_TIMEOUT_S, BrokerClient
from emulator.model.errors import TestbedError
from emulator.model.page_views import PageNow, RunNote
from emulator.model.views import EventView, RunView
from emulator.watch.known import KnownRun
from emulator.watch.moment import Moment, moment_of

STATUS_EVERY_HOST_S: Final = 1.0
"""Host seconds between two questions for the status."""

EVENTS_EVERY_HOST_S: Final = 0.25
"""Host seconds from some events to the question for the next ones."""

LONGEST_PAUSE_HOST_S: Final = 6.0
"""The most host seconds between two tries to reach a broker that does not answer."""

MOST_JOBS: Final = 3_000
"""The last jobs of a run which are read when watching begins."""


@dataclass(frozen=True, slots=True)
class Began:
    """Another run is watched from now on, in which so many jobs wait and so many are placed or run."""

    run: RunView
    waiting: int
    active: int


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of the watched run."""

    event: EventView


@dataclass(frozen=True, slots=True)
class Lost:
    """The broker does not answer, or refuses, for this reason; it is said again only if the reason changes."""

    reason: str


@dataclass(frozen=True, slots=True)
class Back:
    """The broker answers again, after so many host seconds."""

    after_host_s: float


News = Began | Happened | Lost | Back


class Watch:
    """A watch of a testbed; `connect` returns a client of its broker, also after the testbed was brought up anew.

    One thread runs `follow`; `moment` may be called by another one. `stop` ends `follow`.
    """

    def __init__(self, connect: Callable[[], BrokerClient]) -> None:
        self._connect = connect
        self._client: BrokerClient | None = None
        self._known: KnownRun | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._status_due_host_s = 0.0
        self._host_offset_s = 0.0
        self._after_event = self._after_note = self._last_job = 0
        self._lost_at_host_s: float | None = None
        self._reason = self._token = ""
        self._is_renewed = False

    def begin(self) -> None:
        """Reach the broker and read its status, once.

        Raises:
            TestbedError: if that fails.
        """
        client = self._reconnect()
        self._begin(client, client.page_now())

    def follow(self) -> Iterator[News]:
        """Yield what is watched first, then what happens, until `stop`."""
        yield self._began()
        while not self._over.is_set():
            try:
                yield from self._listen()
            except TestbedError as error:
                if str(error) != self._reason:
                    yield Lost(str(error))
                self._note_loss(str(error))

    def stop(self) -> None:
        """Have `follow` end soon."""
        self._over.set()

    def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            self._client.close()

    def moment(self) -> Moment:
        """Return what is to be shown now; `begin` has succeeded before."""
        with self._lock:
            return moment_of(self._watched, self._now_s())

    @property
    def version(self) -> int:
        """A number that grows whenever something becomes known of the run."""
        return self._watched.version

    @property
    def loss(self) -> tuple[float, str] | None:
        """For how many host seconds the broker has not answered, and why; None if it answers."""
        lost_at_host_s, reason = self._lost_at_host_s, self._reason
        return None if lost_at_host_s is None else (time.monotonic() - lost_at_host_s, reason)

    @property
    def _watched(self) -> KnownRun:
        if self._known is None:
            raise RuntimeError("a watch that has not begun shows nothing")
        return self._known

    def _listen(self) -> Iterator[News]:
        """Read the status if it is due, then the events that come before the next one."""
        client = self._client or self._reconnect()
        if time.monotonic() >= self._status_due_host_s:
            yield from self._read_status(client)
            self._status_due_host_s = time.monotonic() + STATUS_EVERY_HOST_S
        host_wait_s = max(0.0, self._status_due_host_s - time.monotonic())
        events = client.events(
            self._watched.run.id,
            after=self._after_event,
            host_wait_s=host_wait_s,
            host_timeout_s=HOST_LOOK_TIMEOUT_S,
        )
        self._note_events(events)
        yield from map(Happened, events)
        if events:
            self._over.wait(EVENTS_EVERY_HOST_S)

    def _reconnect(self) -> BrokerClient:
        client = self._connect()
        self._is_renewed = self._is_renewed or client.token != self._token
        self._client, self._token = client, client.token
        return client

    def _read_status(self, client: BrokerClient) -> Iterator[News]:
        now = client.page_now()
        if self._lost_at_host_s is not None:
            yield Back(time.monotonic() - self._lost_at_host_s)
            self._lost_at_host_s, self._reason = None, ""
        if self._is_another(now):
            self._begin(client, now)
            yield self._began()
        self._note_status(client, now)

    def _is_another(self, now: PageNow) -> bool:
        """Return whether another run is to be watched; one that has ended stays in view until something happens."""
        run = self._watched.run.id
        if self._is_of_another_testbed(now):
            return True
        return now.run.id > run or (now.run.id != run and now.last_job > self._last_job)

    def _is_of_another_testbed(self, now: PageNow) -> bool:
        return self._is_renewed or now.last_event < self._after_event

    def _begin(self, client: BrokerClient, now: PageNow) -> None:
        """Watch the run of `now`: its last jobs, then its events since those that were read last."""
        is_first = self._known is None or self._is_of_another_testbed(now)
        known = KnownRun(client.page_system(), now.run)
        known.note_jobs(client.jobs(now.run.id, after=max(0, now.last_job - MOST_JOBS)))
        with self._lock:
            self._known = known
        if is_first:
            self._after_event, self._is_renewed = now.last_event, False
        self._after_note, self._last_job = 0, now.last_job
        self._host_offset_s = now.host_moment_s - time.time()

    def _began(self) -> Began:
        moment = self.moment()
        return Began(moment.run, len(moment.waiting), len(moment.active))

    def _note_status(self, client: BrokerClient, now: PageNow) -> None:
        known = self._watched
        facts = self._new_notes(client)
        with self._lock:
            self._host_offset_s = now.host_moment_s - time.time()
            self._last_job = now.last_job
            known.note_status(now.run, now.queue, now.queue_length)
            for fact in facts:
                known.note_fact(fact)
            known.note_clusters(now.clusters)

    def _new_notes(self, client: BrokerClient) -> list[RunNote]:
        """Return what the run's recorder told the broker since the last time."""
        facts: list[RunNote] = []
        while True:
            page = client.page_notes(self._watched.run.id, after=self._after_note)
            facts += page.notes
            self._after_note = page.next
            if not page.notes:
                return facts

    def _note_events(self, events: list[EventView]) -> None:
        with self._lock:
            for event in events:
                self._watched.note_event(event)
                self._after_event = event.sequence

    def _note_loss(self, reason: str) -> None:
        """Wait a little, the longer the longer the broker has been away, and hang up."""
        now_host_s = time.monotonic()
        if self._lost_at_host_s is None:
            self._lost_at_host_s = now_host_s
        self._reason, self._status_due_host_s = reason, 0.0
        self.close()
        self._client = None
        lost_host_s = now_host_s - self._lost_at_host_s
        self._over.wait(min(LONGEST_PAUSE_HOST_S, STATUS_EVERY_HOST_S + lost_host_s / 4))

    def _now_s(self) -> float:
        """Return the run's emulated time."""
        known = self._watched
        if known.has_ended or known.run.host_origin_s is None:
            return known.latest_s
        host_s = time.time() + self._host_offset_s - known.run.host_origin_s
        return max(known.latest_s, host_s / known.run.request.dilation)
