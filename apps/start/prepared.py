"""The prepared process of a node: `python3 -m apps.start.prepared [PADDING]`, which the cluster's entry point starts.

It imports what the ranks of any application need, once. The first `start-rank` of a job then asks it for the parent of
the job's ranks (`apps.start.parent`), which it forks: a job's start costs no imports. Where it does not run,
`start-rank` starts the parent as a program of its own. PADDING makes room for longer commands, which ps shows for what
is forked.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from apps.registry import APPLICATIONS
from apps.start import handover, preparation
from apps.start.forked import show_command
from apps.start.handover import Handover
from apps.start.mpi import EXIT_FAILED
from apps.start.parent import Parent, peer

PLACE = "/run/testbed/prepared/socket"
"""Where `start-rank` asks for a parent, unless the environment variable `PLACE_VARIABLE` names another place."""

PLACE_VARIABLE = "TESTBED_PREPARED"
_BACKLOG = 128
_REQUEST_WITHIN_HOST_S = 10.0


def serve(listener: socket.socket) -> NoReturn:
    """Fork a parent for every job that asks for one, for ever."""
    # The system itself removes parents that have ended: nobody here waits for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.settimeout(_REQUEST_WITHIN_HOST_S)
            _answer(connection, listener)


def _answer(connection: socket.socket, listener: socket.socket) -> None:
    if peer(connection)[1] != os.getuid():
        return
    request = handover.receive(connection)
    if request is None:
        return
    try:
        if os.fork() == 0:
            listener.close()
            _become_parent(request)
    finally:
        # If it could not fork, the ranks find nobody who listens, and their job fails at once.
        request.close_streams()


def _become_parent(request: Handover) -> NoReturn:
    """Serve a job's ranks in this process, just forked; its connection to `start-rank` ends with it.

    The request's arguments are those of `apps.start.parent` after the files, and its streams are these: the listening
    socket, the file whose end tells that `start-rank` has gone, and standard error.
    """
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        preparation.end_first()
        ranks, *words = request.arguments
        listener, life, errors = request.streams
        os.dup2(errors, sys.stdout.fileno())
        os.dup2(errors, sys.stderr.fileno())
        os.close(errors)
        show_command([sys.executable, "-m", "apps.start.parent", ranks, *words])
        Parent(socket.socket(fileno=listener), life, int(ranks)).serve()
        os._exit(0)
    except BaseException:
        # It may never return into the work of the process that it was forked from.
        traceback.print_exc()
        os._exit(EXIT_FAILED)


def listen(place: Path) -> socket.socket:
    """Listen at `place`, and for this user alone."""
    place.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    place.chmod(0o600)
    listener.listen(_BACKLOG)
    return listener


def main() -> NoReturn:
    """Prepare for every application, then serve."""
    preparation.prepare(APPLICATIONS)
    serve(listen(Path(os.environ.get(PLACE_VARIABLE) or PLACE)))


if __name__ == "__main__":
    main()
