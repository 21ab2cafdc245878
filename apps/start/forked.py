"""A rank forked from the parent: it becomes what `start-rank` would have been, then runs the application."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from apps.run import main
from apps.start.handover import STREAMS, Handover
from apps.start.mpi import EXIT_FAILED, leave

_MOST_FILES = 1 << 16
_PR_SET_PDEATHSIG = 1
_ARGUMENTS_BEGIN_FIELD, _ARGUMENTS_END_FIELD = 47, 48


def run_rank(rank: Handover, parent: int, starter: int) -> NoReturn:
    """Run the rank in this process, just forked from `parent`, for the process `starter`."""
    try:
        _become(rank, parent, starter)
        leave(main(rank.arguments))
    except SystemExit as ending:
        leave(ending.code if isinstance(ending.code, int) else 0)
    except BaseException:
        # Not even a rank whose preparation failed may return into its parent's work.
        traceback.print_exc()
        os._exit(EXIT_FAILED)


def _become(rank: Handover, parent: int, starter: int) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _die_with(parent)
    # The group to which mpirun sends its signals, unless the parent was forked from the prepared process, outside the
    # job's session: they then end its start-rank, and the parent ends the rank.
    with contextlib.suppress(PermissionError):
        os.setpgid(0, os.getpgid(starter))
    rank.adopt_streams()
    os.closerange(STREAMS, _MOST_FILES)
    os.chdir(rank.folder)
    os.environ.clear()
    os.environ.update(rank.environment)
    sys.argv[:] = ["apps", *rank.arguments]
    show_command(["python3", "-m", "apps", *rank.arguments])


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(EXIT_FAILED)


def show_command(words: list[str]) -> None:
    """Make ps and pgrep show `words` as this process's command, cut to the length of its own command line."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    # Counted from the third, which follows the name in parentheses.
    begin, end = int(fields[_ARGUMENTS_BEGIN_FIELD - 2]), int(fields[_ARGUMENTS_END_FIELD - 2])
    text = b"".join(os.fsencode(word) + b"\0" for word in words)[: end - begin]
    ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)
