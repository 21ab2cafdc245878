"""The one thread that owns the broker's state: other threads post work to it or call it and wait for the answer.

It sleeps until it gets work, or until its next wake is due.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from emulator.model.errors import TestbedNotUp

Answer = TypeVar("Answer")
log = logging.getLogger(__name__)
JOIN_TIMEOUT_HOST_S = 10.0
LONGEST_SLEEP_HOST_S = 3600.0
"""Upper bound of a sleep, since a thread's wait is bounded."""
ANSWER_POLL_HOST_S = 1.0
"""How often one who waits for an answer looks whether the loop was closed."""
PAUSE_HOST_S = 0.1
"""Pause after a failed wake, so that repeated failures do not fill the disk with tracebacks."""


class Loop:
    """A thread that does one piece of work after another; `host_until_wake_s` returns how long it may sleep.

    `publish` is called after each piece, before anybody is told that the piece is done; so it can show other threads
    what has changed.
    """

    def __init__(
        self,
        host_until_wake_s: Callable[[], float | None],
        on_wake: Callable[[], None],
        publish: Callable[[], None] = lambda: None,
    ) -> None:
        self._host_until_wake_s = host_until_wake_s
        self._on_wake = on_wake
        self._publish = publish
        self._work: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="broker", daemon=True)

    def open(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """End the thread after the work it already has."""
        self._work.put(None)
        self._thread.join(timeout=JOIN_TIMEOUT_HOST_S)
        self._closed.set()

    def call(self, work: Callable[[], Answer]) -> Answer:
        """Run `work` on the thread; returns its answer or raises its error.

        Raises:
            TestbedNotUp: if the loop was closed and gives no answer any more.
        """
        answer: Future[Answer] = Future()

        def run_work() -> None:
            try:
                done = work()
            except BaseException as error:
                self._publish()
                answer.set_exception(error)
            else:
                self._publish()
                answer.set_result(done)

        self._work.put(run_work)
        # One who waited without limit would keep the process from its end.
        while not wait([answer], timeout=ANSWER_POLL_HOST_S).done:
            if self._closed.is_set():
                raise TestbedNotUp("The broker is stopping; ask again once it is up (`testbed status`).")
        return answer.result()

    def post(self, work: Callable[[], object]) -> None:
        """Run `work` on the thread later; returns at once."""
        self._work.put(work)

    def _run(self) -> None:
        while True:
            host_sleep_s = self._sleep_host_s()
            if host_sleep_s == 0.0:
                self._wake()
            try:
                work = self._work.get(timeout=min(host_sleep_s, LONGEST_SLEEP_HOST_S))
            except queue.Empty:
                if host_sleep_s > 0.0:
                    self._wake()
                continue
            if work is None:
                return
            try:
                work()
            except Exception:
                # A defect in one piece of work must not stop the broker.
                log.exception("a piece of the broker's work failed")
            self._publish()

    def _sleep_host_s(self) -> float:
        try:
            until_wake_s = self._host_until_wake_s()
        except Exception:
            log.exception("the time of the broker's next wake could not be determined")
            return PAUSE_HOST_S
        return LONGEST_SLEEP_HOST_S if until_wake_s is None else until_wake_s

    def _wake(self) -> None:
        try:
            self._on_wake()
        except Exception:
            log.exception("the broker could not do what was due")
            time.sleep(PAUSE_HOST_S)
        self._publish()
