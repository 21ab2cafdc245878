"""Taking the testbed for one run, and giving it back whatever happens in between.

A run owns the dilation. Giving the testbed back ends the run at the broker (which cancels unfinished jobs) and programs
real time again, also when the run fails or is interrupted. A `Testbed` is what a run needs of a testbed;
`container_testbed` makes one of running containers.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from emulator.client import BrokerClient
from emulator.containers.wan.controls import Control
from emulator.model.clock import Dilation
from emulator.model.errors import TestbedError
from emulator.model.evidence import LinkCheck
from emulator.model.process_lock import ProcessLock, is_left
from emulator.model.records import ImageRecord, LinkRow
from emulator.model.topology import Topology
from emulator.model.traffic import Flow
from emulator.model.views import RunRequest, RunView
from emulator.runs.local_users import LocalUsers
from emulator.runs.telemetry import TelemetryFactory, unobserved

if TYPE_CHECKING:
    from emulator.containers.programs import OnLine
    from emulator.containers.state import HostsRecord
    from emulator.containers.wan.traffic import TrafficLoad


class WideArea(Protocol):
    """The wide area of a running testbed, as a run uses it."""

    def under(self, control: Control) -> WideArea:
        """Return this wide area with what `control` leaves of it; later programs and checks are for that.

        Raises:
            InvalidInput: if it cannot be so.
        """

    def is_guest(self) -> bool:
        """Return whether a guest's kernel carries the links, which takes much of a processor for each packet."""

    def program(self, dilation: Dilation) -> str:
        """Set every link to `dilation`, and return the kind of router that carries the links."""

    def host_clocks_ahead_s(self) -> dict[str, float]:
        """Return by how many host seconds the clock of clusters on other hosts is ahead of the central one's."""

    def rest(self) -> None:
        """Set every link as it is while no run holds the testbed."""

    def carrying(self, flows: Sequence[Flow], dilation: Dilation) -> AbstractContextManager[TrafficLoad]:
        """Send background traffic at `dilation` inside the context."""

    def check(self, dilation: Dilation, moment: str) -> tuple[LinkCheck, list[LinkRow]]:
        """Measure every link briefly at the dilation it is programmed to; `moment` is *before* or *after* the run."""


@dataclass(frozen=True, slots=True)
class Testbed:
    """A running testbed: its broker, topology, links, stopped containers and telemetry, and its local users if any.

    `local_users` submit jobs of their own to the clusters; `local_bursts` tells of those who work at nodes.
    `holder_file` is locked by the process that holds the testbed, and says the number of its run; None: nobody asks.
    `hosts` are those that it spreads over; None: all is on this host.
    """

    name: str
    client: BrokerClient
    topology: Topology
    wide_area: WideArea
    stopped_containers: Callable[[], list[str]]
    observed: TelemetryFactory = unobserved
    images: Mapping[str, ImageRecord] = field(default_factory=dict)
    local_users: LocalUsers | None = None
    holder_file: Path | None = None
    local_bursts: Callable[[Sequence[str], OnLine], AbstractContextManager[None]] | None = None
    hosts: HostsRecord | None = None

    def is_orphaned(self, run: RunView) -> bool:
        """Return whether `run` is known to hold the testbed for a process that is gone."""
        return self.holder_file is not None and is_left(self.holder_file, str(run.id))


@contextmanager
def held(testbed: Testbed, request: RunRequest, *, more_follow: bool = False) -> Iterator[RunView]:
    """Hold `testbed` for the run of `request`; do not start the run.

    If `more_follow`, the links are left as they are when the run has ended well: the next run programs them.

    Raises:
        TestbedBusy: if another run holds it.
        WideAreaUnfaithful: if the links cannot be programmed.
    """
    ahead_s = testbed.wide_area.host_clocks_ahead_s()
    run = testbed.client.take_run(request.model_copy(update={"host_clocks_ahead_s": ahead_s}) if ahead_s else request)
    try:
        with _noted(testbed.holder_file, run):
            yield run
    except BaseException:
        give_back(testbed, run)
        raise
    if more_follow:
        testbed.client.end_run(run.id)
        return
    for failure in give_back(testbed, run):
        raise failure


@contextmanager
def _noted(holder_file: Path | None, run: RunView) -> Iterator[None]:
    """Hold the lock on `holder_file`, if it is stated and can be written, as long as the context lasts."""
    lock = None
    if holder_file is not None:
        with suppress(OSError):  # then nobody can notice that this process was killed
            lock = ProcessLock(holder_file, str(run.id))
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


@contextmanager
def real_time_if_failed(testbed: Testbed) -> Iterator[None]:
    """Restore real time if what is done in the context, several runs, ends early between two of them.

    If another run holds the testbed meanwhile, its links are its own.
    """
    try:
        yield
    except BaseException:
        with uninterrupted(), suppress(TestbedError):
            if testbed.client.current_run() is None:
                testbed.wide_area.rest()
        raise


def give_back(testbed: Testbed, run: RunView) -> list[TestbedError]:
    """End the run and restore real time, each even if the other fails; return what failed."""
    steps: tuple[Callable[[], object], ...] = (
        lambda: testbed.client.end_run(run.id),
        testbed.wide_area.rest,
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
    """Ignore interrupts inside the context, which gives the testbed back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
