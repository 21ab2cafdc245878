"""The process that runs a live sweep: one at a time, noticed by others until it ends, if wanted in the background.

It holds the lock on ``sweep.pid`` in the sweep's folder, a file that says its number, and when it was started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from emulator.model.errors import InvalidInput, TestbedBusy
from emulator.model.process_lock import ProcessLock, end_process, is_locked, process_number, process_text
from emulator.model.project import PROJECT_ROOT

LOG_FILE: Final = "sweep.log"
PROCESS_FILE: Final = "sweep.pid"
ENDS_WITHIN_HOST_S: Final = 120.0
_HOST_BETWEEN_LOOKS_S: Final = 0.1
_HANDED_OVER: Final = "TESTBED_SWEEP_LOCK"
"""The environment variable with the open file of the lock that `detach` hands over."""


def is_running(path: Path) -> bool:
    """Return whether a process runs the sweep in `path`."""
    return is_locked(path / PROCESS_FILE)


def detach(path: Path, name: str, *, void_again: bool = False) -> int:
    """Have a process run what is left of the sweep in `path` on the testbed called `name`; return its number.

    With `void_again` it runs what is void, too.

    Raises:
        TestbedBusy: if one does already.
        InvalidInput: if the folder cannot be written.
    """
    lock = _lock(path, "")
    try:
        process = _started(path, name, lock.descriptor, void_again=void_again)
    except BaseException:
        lock.release()
        raise
    lock.hand_over(process_text(process.pid))
    return process.pid


@contextmanager
def own_process(path: Path) -> Iterator[None]:
    """Have this process be the one that runs the sweep in `path`, as long as the context lasts.

    Raises:
        TestbedBusy: if another one is.
        InvalidInput: if the folder cannot be written.
    """
    handed_over = os.environ.pop(_HANDED_OVER, None)
    if handed_over is None:
        lock = _lock(path, process_text(os.getpid()))
    else:
        lock = ProcessLock.taken_over(path / PROCESS_FILE, int(handed_over))
    try:
        yield
    finally:
        lock.release()


def end(path: Path) -> int:
    """End the process that runs the sweep in `path`, wait until it has cleaned up, and return its number.

    Raises:
        InvalidInput: if none runs there.
        TestbedBusy: if it is still there after `ENDS_WITHIN_HOST_S`.
    """
    number = process_number(path / PROCESS_FILE) if path.is_dir() and is_running(path) else ""
    if not number:
        raise InvalidInput(f"{path}: no process runs a sweep there (end a single campaign with Ctrl-C where it runs).")
    if not end_process(path / PROCESS_FILE):
        raise InvalidInput(
            f"{path}: no process runs a sweep there, as far as can be told: process {number} has ended, or may be "
            f"another one (if it is the sweep's, end it with `kill {number}`)."
        )
    deadline_host_s = time.monotonic() + ENDS_WITHIN_HOST_S
    while is_running(path):
        if time.monotonic() > deadline_host_s:
            raise TestbedBusy(f"{path}: {_written(path)} was told to end, and still cleans up.")
        time.sleep(_HOST_BETWEEN_LOOKS_S)
    return int(number)


def _lock(path: Path, text: str) -> ProcessLock:
    try:
        return ProcessLock(path / PROCESS_FILE, text, waits=False)
    except BlockingIOError as error:
        raise TestbedBusy(
            f"{path}: {_written(path)} runs this sweep already (`testbed campaign status {path} --follow` shows how "
            "far it is)."
        ) from error
    except OSError as error:
        raise InvalidInput(f"{path / PROCESS_FILE}: cannot be written ({error.strerror or error}).") from error


def _written(path: Path) -> str:
    """Return what a sentence calls the process that locked the file."""
    number = process_number(path / PROCESS_FILE)
    return f"process {number}" if number else "another process"


def _started(path: Path, name: str, descriptor: int, *, void_again: bool) -> subprocess.Popen[bytes]:
    """Start the process that goes on with the sweep; it takes over the lock that is open as `descriptor`."""
    command = [sys.executable, "-m", "emulator.cli.main", "campaign", "resume", str(path.resolve()), "--name", name]
    if void_again:
        command.append("--void")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT_ROOT), os.environ.get("PYTHONPATH")])),
        _HANDED_OVER: str(descriptor),
    }
    with (path / LOG_FILE).open("ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True,
            pass_fds=(descriptor,),
        )  # fmt: skip
