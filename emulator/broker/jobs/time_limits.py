"""The limits within which a job's processes must begin and end."""

from __future__ import annotations

import threading
from collections.abc import Callable

from emulator.model.clock import EmulatedClock
from emulator.model.job import LIMIT_REACHED


class TimeLimits:
    """The limits of a job's start and of its run time; `end` is called with the reason when one is reached.

    Safe to share between threads.
    """

    def __init__(
        self, clock: EmulatedClock, run_time_limit_s: float, host_start_limit_s: float, end: Callable[[str], None]
    ) -> None:
        self._clock = clock
        self._run_time_limit_s = run_time_limit_s
        self._host_start_limit_s = host_start_limit_s
        self._end = end
        self._timers: list[threading.Timer] = []
        self._closed = False
        self._lock = threading.Lock()

    def begin(self, start_s: float | None) -> None:
        """Count from the planned start, or from now if it has none."""
        limit_s = self._host_start_limit_s
        host_until_start_s = 0.0 if start_s is None else max(0.0, self._clock.host_remaining_s(start_s))
        not_begun = f"Not all of its processes began within {limit_s:.0f} s (what they wrote may say why)."
        end_s = max(start_s or 0.0, self._clock.now_s()) + self._run_time_limit_s
        with self._lock:
            self._timers = [
                self._timer(host_until_start_s + limit_s, not_begun),
                self._timer(self._clock.host_remaining_s(end_s), LIMIT_REACHED),
            ]
            for timer in self._timers if not self._closed else ():
                timer.start()

    def note_started(self) -> None:
        """Take note that all processes have begun."""
        with self._lock:
            for timer in self._timers[:1]:
                timer.cancel()

    def close(self) -> None:
        """End both limits."""
        with self._lock:
            self._closed = True
            for timer in self._timers:
                timer.cancel()

    def _timer(self, host_wait_s: float, reason: str) -> threading.Timer:
        timer = threading.Timer(min(host_wait_s, threading.TIMEOUT_MAX), self._end, (reason,))
        timer.daemon = True
        return timer
