"""Taking the testbed for one run and giving it back, whatever happens in between.

A run owns the dilation: holding it programs the wide area to that dilation, giving it back ends the run at the broker
(which cancels what is unfinished) and programs real time again, also when the run fails or is interrupted. What a run
needs of a testbed is a `Testbed`; ``standing_testbed`` makes one of containers that stand.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from emulator.campaigns.lookouts import Observatory, unobserved
from emulator.client import BrokerClient
from emulator.containers.wan.controls import Control
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.errors import TestbedError
from emulator.model.evidence import LinkCheck
from emulator.model.records import LinkRow
from emulator.model.topology import Topology
from emulator.model.views import RunRequest, RunView


class WideArea(Protocol):
    """The wide area of a standing testbed, as a run uses it."""

    def under(self, control: Control) -> WideArea:
        """The same wide area with what `control` leaves of it; what it is programmed and checked for from then on."""

    def program(self, dilation: Dilation) -> str:
        """Set every link to `dilation`; returns what kind of router carries them."""

    def check(self, dilation: Dilation, moment: str) -> tuple[LinkCheck, list[LinkRow]]:
        """Measure every link briefly at the dilation it is programmed to, `moment` being before or after the run."""


@dataclass(frozen=True, slots=True)
class Testbed:
    """A standing testbed: its broker, what it emulates, its links, which containers do not run, and a lookout on it."""

    name: str
    client: BrokerClient
    topology: Topology
    wide_area: WideArea
    stopped_containers: Callable[[], list[str]]
    observed: Observatory = unobserved


@contextmanager
def held(testbed: Testbed, request: RunRequest) -> Iterator[RunView]:
    """Hold `testbed` for the run of `request`, its links at the run's dilation; the run is not started.

    Raises:
        TestbedBusy: if another run holds it.
        WideAreaUnfaithful: if the links cannot be programmed.
    """
    run = testbed.client.take_run(request)
    try:
        yield run
    except BaseException:
        give_back(testbed, run)
        raise
    for failure in give_back(testbed, run):
        raise failure


def give_back(testbed: Testbed, run: RunView) -> list[TestbedError]:
    """Take every step back, each whatever becomes of the others; returns what failed."""
    steps: tuple[Callable[[], object], ...] = (
        lambda: testbed.client.end_run(run.id),
        lambda: testbed.wide_area.program(REAL_TIME),
    )
    failures: list[TestbedError] = []
    with uninterrupted():
        for step in steps:
            try:
                step()
            except TestbedError as failure:
                failures.append(failure)
    return failures


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let no further interrupt stop what gives the testbed back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
