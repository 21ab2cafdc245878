"""The daemons of a cluster, which are started again when they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from cluster_start.refusal import CONFIGURED_BY, REFUSED, last_words, program_of
from cluster_start.waiting import wait_until

STEADY_HOST_S = 10.0
"""A daemon that ran this long is started again at once when it ends; else after a pause that doubles."""
SHORTEST_PAUSE_HOST_S = 0.2
LONGEST_PAUSE_HOST_S = 5.0
MISSING = ("/bin/false",)
"""What is started in place of a program that is missing: it ends, and is started again like any daemon."""
MOST_EARLY_ENDS = 3
"""A program whose daemons ended so often before the cluster was ready is started once more to hear what it says."""

Command = tuple[Sequence[str], Mapping[str, Any]]
"""The words of a daemon's command, and the options of its process."""


class Daemons:
    """The daemons of this cluster, by process id; one that ends is started again."""

    def __init__(self, cluster: str = "") -> None:
        self._cluster = cluster
        self._first_commands: dict[str, Command] = {}
        self._commands: dict[str, Command] = {}
        self._early_ends: Counter[str] = Counter()
        self._preparations: dict[str, Callable[[], None]] = {}
        # A process object that is thrown away takes the end of its process with it, so each is kept until that ends.
        self._running: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
        self._started_host_s: dict[str, float] = {}
        self._pauses_host_s: dict[str, float] = {}

    def start(
        self,
        name: str,
        command: Sequence[str],
        restart: Sequence[str] | None = None,
        prepare: Callable[[], None] | None = None,
        **options: Any,
    ) -> None:
        """Start a daemon; if it ends, it is started again by `restart`, or by the same command.

        Each start is made ready by `prepare`.
        """
        if prepare is not None:
            self._preparations[name] = prepare
        self._launch(name, command, options)
        self._first_commands[name] = (command, options)
        self._commands[name] = (restart or command, options)

    def until(self, condition: Callable[[], bool], what: str, pause_host_s: float = 0.05) -> None:
        """Wait until a condition of the cluster's start holds, as `wait_until` does, and look after the daemons."""

        def holds() -> bool:
            self.start_ended_again()
            return condition()

        wait_until(holds, what, pause_host_s)

    def start_ended_again(self) -> None:
        """Start the daemons that have ended again, as they were started first; wait for none.

        Ends the container if a daemon keeps ending because it refuses to run.
        """
        while (ended := ended_child()) is not None:
            name = self._note_end(*ended)
            if name is None:
                continue
            self._early_ends[program_of(name)] += 1
            if self._early_ends[program_of(name)] % MOST_EARLY_ENDS == 0:
                self._end_if_refused(name)
            self._launch_later(name, self._first_commands[name])

    def watch(self) -> None:
        """Start each daemon that ends again, for ever."""
        while True:
            self.await_end()

    def end(self, name: str) -> None:
        """End a daemon, which is then started again; any thread may call this."""
        for pid, (running, _) in list(self._running.items()):
            if running == name:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)

    def await_end(self) -> None:
        """Wait until a child process ends; if it is a daemon, start it again."""
        name = self._note_end(*os.wait())
        if name is not None:
            self._launch_later(name, self._commands[name])

    def _note_end(self, pid: int, status: int) -> str | None:
        """Return the daemon that a process was, which runs no longer, or None if it was none."""
        if pid not in self._running:
            return None
        name, process = self._running.pop(pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        print(f"{name} ended ({status}); it is started again")
        return name

    def _end_if_refused(self, name: str) -> None:
        """Start a daemon that keeps ending once more; if it ends again, end the container, and say why."""
        said = last_words(*self._first_commands[name])
        if said is not None:
            # The last line that the container prints: `testbed up` shows it.
            print(
                f"{name} of cluster {self._cluster!r} ends whenever it is started, and says {said!r} (correct what it "
                f"names; its configuration is made from {CONFIGURED_BY[program_of(name)]})"
            )
            sys.exit(REFUSED)

    def _launch_later(self, name: str, command: Command) -> None:
        time.sleep(self._pause_host_s(name))
        self._launch(name, *command)

    def _launch(self, name: str, command: Sequence[str], options: Mapping[str, Any]) -> None:
        try:
            self._preparations.get(name, lambda: None)()
            process = subprocess.Popen(command, **options)
        except OSError as error:
            print(f"{name} cannot be started: {error}")
            process = subprocess.Popen(MISSING)
        self._running[process.pid] = (name, process)
        self._started_host_s[name] = time.monotonic()

    def _pause_host_s(self, name: str) -> float:
        """Return how long to wait before a daemon that ended is started again."""
        was_steady = time.monotonic() - self._started_host_s[name] > STEADY_HOST_S
        pause_host_s = 0.0 if was_steady else self._pauses_host_s.get(name, SHORTEST_PAUSE_HOST_S)
        self._pauses_host_s[name] = min(LONGEST_PAUSE_HOST_S, max(SHORTEST_PAUSE_HOST_S, 2 * pause_host_s))
        return pause_host_s


def ended_child() -> tuple[int, int] | None:
    """Return the process id and status of a child that has ended, if there is one."""
    with suppress(ChildProcessError):
        pid, status = os.waitpid(-1, os.WNOHANG)
        return (pid, status) if pid else None
    return None
