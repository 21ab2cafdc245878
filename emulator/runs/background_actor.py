"""The thread that drives a background load: it waits for reports, for events of the grid, and for what is due.

It reacts to each at once. Besides, it asks the clusters for their jobs now and then, in case that a report was lost.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Final

from emulator.fidelity.background import BackgroundMeasures
from emulator.model.clock import EmulatedClock
from emulator.model.errors import RunFailed, TestbedError
from emulator.runs.background_load import BackgroundLoad
from emulator.runs.holding import uninterrupted
from emulator.runs.local_users import LocalUsers, parsed

HOST_ASK_INTERVAL_S: Final = 10.0
"""Host seconds between questions for the jobs of every cluster; such a question costs each Slurm two commands."""


class BackgroundActor:
    """The driver of `load` through `users`; a context manager that leaves no job behind.

    It begins when the run's clock does. An error ends its thread; `check` raises it in the thread of the run.
    """

    def __init__(
        self,
        users: LocalUsers,
        load: BackgroundLoad,
        *,
        on_turn: Callable[[float], None] = lambda now_s: None,
        host_ask_interval_s: float = HOST_ASK_INTERVAL_S,
    ) -> None:
        self._users = users
        self._load = load
        self._on_turn = on_turn
        self._host_ask_interval_s = host_ask_interval_s
        self._events: queue.SimpleQueue[Callable[[float], None] | None] = queue.SimpleQueue()
        self._clock: EmulatedClock | None = None
        self._error: TestbedError | None = None
        self._measures: BackgroundMeasures | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> BackgroundActor:
        self._users.open(self._on_line)
        return self

    def __exit__(self, *problem: object) -> None:
        with uninterrupted():
            self.stop()
            self._users.close()

    @property
    def measures(self) -> BackgroundMeasures | None:
        """How the load has kept to its band; None before it began."""
        return self._measures

    def stop(self) -> None:
        """Stop holding the load; its jobs remain until the context ends."""
        self._events.put(None)
        if self._thread is not None:
            self._thread.join()

    def begin(self, clock: EmulatedClock) -> None:
        """Begin, by the clock of the run."""
        if self._thread is None:
            self._clock = clock
            self._thread = threading.Thread(target=self._run, args=(clock,), name="background", daemon=True)
            self._thread.start()

    def note_grid(self, cluster: str, processors: int, time_s: float) -> None:
        """Take note that the grid's jobs hold `processors` of a cluster since `time_s`."""
        self._events.put(lambda now_s: self._load.note_grid(cluster, processors, time_s))

    def check(self) -> BackgroundMeasures | None:
        """Return how the load has kept to its band; None before it began.

        Raises:
            TestbedError: what ended the load.
        """
        if self._error is not None:
            raise self._error
        return self._measures

    def _on_line(self, cluster: str, line: str | None) -> None:
        def take(now_s: float) -> None:
            if line is None:
                raise RunFailed(
                    f"Cluster {cluster!r} reports no more of its local users' jobs (if the testbed is of an "
                    "older version, which has none: `testbed up --fresh`)."
                )
            report = parsed(cluster, line)
            clock = self._clock
            time_s = now_s if clock is None else clock.emulated_timestamp_s(report.host_moment_s)
            self._load.note_report(cluster, report, time_s)

        self._events.put(take)

    def _run(self, clock: EmulatedClock) -> None:
        try:
            self._drive(clock)
        except TestbedError as error:
            self._error = error
        except Exception as error:
            self._error = RunFailed(f"The background load can no longer be held: {error!r}.")

    def _drive(self, clock: EmulatedClock) -> None:
        self._load.advance(clock.now_s())
        host_ask_s = time.monotonic() + self._host_ask_interval_s
        while True:
            host_until_due_s = min(
                clock.host_remaining_s(self._load.next_due_s), max(0.0, host_ask_s - time.monotonic())
            )
            try:
                event = self._events.get(timeout=host_until_due_s)
            except queue.Empty:
                event = self._load.advance
            if event is None:
                self._measures = self._load.measures(clock.now_s())
                return
            event(clock.now_s())
            if clock.now_s() >= self._load.next_due_s:
                self._load.advance(clock.now_s())
            if time.monotonic() >= host_ask_s:
                self._load.ask()
                host_ask_s = time.monotonic() + self._host_ask_interval_s
            self._measures = self._load.measures(clock.now_s())
            self._on_turn(clock.now_s())
