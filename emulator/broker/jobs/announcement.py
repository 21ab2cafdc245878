"""The announcement of a job's start to its processes, which are started before the start is known.

Processes take time to start, and the job's start depends on when its input file comes. So the ranks of applications are
started meanwhile, and wait for one line on the standard input of rank 0: the host timestamp of the start, and the
longest wait for it, should the wall clock be set back. Both are 0 if the job starts at once. Programs of one's own do
not know of such a line: they are started when the start is known.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from emulator.clusters.protocol import RunningProgram

AwaitStart = Callable[[], float | None]
"""Waits until a job's start is known; returns its host timestamp, or None for at once. Raises a TestbedError if the job
cannot start."""


class StartAnnouncement:
    """A thread that awaits a job's start and announces it to the job's programs; safe to share between threads.

    `host_start_timestamp_s` is None until the start is known, and if the job starts at once.
    """

    def __init__(self, await_start: AwaitStart) -> None:
        self.host_start_timestamp_s: float | None = None
        self._await_start = await_start
        self._programs: list[RunningProgram] = []
        self._known = threading.Event()
        self._failure: Exception | None = None
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._announce, name="announce-start", daemon=True).start()

    def add(self, program: RunningProgram) -> None:
        """Announce the start also to `program`, at once if it is known already; close it if the job cannot start."""
        with self._lock:
            self._programs.append(program)
            if self._known.is_set():
                self._tell(program)

    def wait(self) -> float | None:
        """Wait until the start is known; returns its host timestamp. Raises what keeps the job from it."""
        self._known.wait()
        self.check()
        return self.host_start_timestamp_s

    def check(self) -> None:
        """Raise what kept the job from its start, if anything did."""
        if self._failure is not None:
            raise self._failure

    def _announce(self) -> None:
        host_start_timestamp_s: float | None = None
        failure: Exception | None = None
        try:
            host_start_timestamp_s = self._await_start()
        except Exception as error:
            # Nobody else would end the wait of the job's processes.
            failure = error
        with self._lock:
            self.host_start_timestamp_s, self._failure = host_start_timestamp_s, failure
            self._known.set()
            for program in self._programs:
                self._tell(program)

    def _tell(self, program: RunningProgram) -> None:
        if self._failure is None:
            program.send(line_of(self.host_start_timestamp_s))
        else:
            program.close()


def line_of(host_start_timestamp_s: float | None) -> str:
    """Return the line that announces a start."""
    start_s = host_start_timestamp_s or 0.0
    return f"{start_s:.6f} {max(0.0, start_s - time.time()):.6f}\n"
