"""The parent of a job's ranks on one node: `python3 -m apps.start.parent LISTENER LIFE RANKS ...`, run by `start-rank`.

It imports what every rank needs once, then forks a rank for each `start-rank` that hands one over, tells it how its
rank ended, and ends a rank whose `start-rank` has gone. It computes nothing and initialises no MPI itself, has one
thread, and ends when all RANKS have ended, or when none is left and the process that started it has gone.

A rank dies with its parent, and the parent is a descendant of the resource manager's step: limits and `scancel` reach
all.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Sequence

from apps.start import handover, preparation
from apps.start.forked import run_rank

_STATUS = struct.Struct("=i")
_CREDENTIALS = struct.Struct("=iii")


class Parent:
    """A server that listens for ranks, forks them, and passes on how they end."""

    def __init__(self, listener: socket.socket, life: int, expected: int) -> None:
        self._listener = listener
        self._life = life
        self._expected = expected
        self._begun = 0
        self._starter_lives = True
        # The connection over which each rank's `start-rank` waits, by the rank's process and by its own file number.
        self._waiting: dict[int, socket.socket] = {}
        self._process_of: dict[int, int] = {}
        self._poll = select.poll()
        self._wake_reader, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def serve(self) -> None:
        """Serve until no rank is left."""
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        for number in (self._listener.fileno(), self._life, self._wake_reader):
            self._poll.register(number, select.POLLIN)
        while self._waiting or (self._starter_lives and self._begun < self._expected):
            for number, _ in self._poll.poll():
                self._attend(number)

    def _attend(self, number: int) -> None:
        if number == self._listener.fileno():
            self._begin_rank()
        elif number == self._wake_reader:
            os.read(self._wake_reader, 4096)
            self._report_ended_ranks()
        elif number == self._life:
            self._starter_lives = False
            self._poll.unregister(self._life)
        elif number in self._process_of:
            # `start-rank` sends nothing after the handover, so it has gone: end its rank, and report the end to nobody.
            os.kill(self._process_of[number], signal.SIGKILL)
            self._poll.unregister(number)

    def _begin_rank(self) -> None:
        connection, _ = self._listener.accept()
        starter, user = peer(connection)
        if user != os.getuid():
            connection.close()
            return
        self._begun += 1
        if self._begun == self._expected:
            self._stop_listening()
        rank = handover.receive(connection)
        if rank is None:
            connection.close()
            return
        parent, process = os.getpid(), os.fork()
        if process == 0:
            run_rank(rank, parent, starter)
        rank.close_streams()
        self._waiting[process] = connection
        self._process_of[connection.fileno()] = process
        self._poll.register(connection, select.POLLIN)

    def _stop_listening(self) -> None:
        self._poll.unregister(self._listener)
        with contextlib.suppress(OSError):
            os.unlink(self._listener.getsockname())  # noqa: PTH108 - a socket's name may be no text
        self._listener.close()

    def _report_ended_ranks(self) -> None:
        while self._waiting:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                return
            connection = self._waiting.pop(process)
            with contextlib.suppress(KeyError):
                self._poll.unregister(connection)
            del self._process_of[connection.fileno()]
            with contextlib.suppress(OSError):
                connection.sendall(_STATUS.pack(status))
            connection.close()


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end of a connection."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(credentials)
    return process, user


def main(words: Sequence[str]) -> None:
    """Prepare, then serve the ranks of one job on this node."""
    listener, life, expected = (int(word) for word in words[:3])
    os.set_inheritable(listener, False)
    os.set_inheritable(life, False)
    preparation.end_first()
    preparation.prepare(words[3:4])
    Parent(socket.socket(fileno=listener), life, expected).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
    # The system frees everything, and the end of a job waits for this process.
    os._exit(0)
