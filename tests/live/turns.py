"""Turns on the host: what measures time has it alone, everything else shares it.

Two processes run the live tests, each with testbeds of its own. A test marked `timed` waits until no other test runs,
and the other tests that would begin meanwhile wait for it.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from emulator.containers.state import state_root


@contextmanager
def beside_others() -> Iterator[None]:
    """Hold the host together with the tests of other processes."""
    with _turn(fcntl.LOCK_SH):
        yield


@contextmanager
def alone() -> Iterator[None]:
    """Hold the host alone."""
    with _turn(fcntl.LOCK_EX):
        yield


@contextmanager
def _turn(mode: int) -> Iterator[None]:
    """Hold the host; who waits for it alone keeps newcomers at the gate, so that it is not waited for endlessly."""
    folder = state_root()
    with (folder / "live-tests-gate.lock").open("w") as gate, (folder / "live-tests-host.lock").open("w") as host:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(host, mode)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield
