"""The files that a campaign's jobs read: as policies see them before anything ran, and those of a live run.

A live run makes each file shortly before its job arrives, at the sites that its seed draws (the same as in the
simulated run), and removes it when the job has ended. So few of them exist at once, however long the campaign is.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from emulator.client import BrokerClient
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import InvalidInput, TestbedBusy, TestbedError, TestbedNotUp, UnknownName
from emulator.model.files import FileRegistration
from emulator.model.topology import Topology
from emulator.policies.bandwidth import BandwidthForecast, stated_bytes_per_s
from emulator.policies.placement.close_to_files import every_pair
from emulator.policies.state import NOTHING_ELSE, FileState, Surroundings
from emulator.runs.holding import uninterrupted
from workloads.campaign_stream import InputFile
from workloads.schedule import is_file_of

HOST_LEAD_S: Final = 60.0
"""Host seconds from the making of a file to the arrival of its job, at the least."""

LEADS: Final = 4.0
"""How many times as long as the slowest file took to make the next ones are begun before they are needed."""

HOST_PATIENCE_S: Final = 10.0
"""Host seconds for which the last files may still be in use when a run ends."""

_AT_ONCE: Final = 4
_HOST_RETRY_S: Final = 0.5
_PASSING: Final = (TestbedNotUp, TestbedBusy)
"""What may be otherwise soon: a broker that restarts or cannot write, a file that is in use or still being made."""


def stated_surroundings(topology: Topology, files: Mapping[str, InputFile]) -> Surroundings:
    """Return what policies see of `files` before any transfer; the history of Close-to-Files begins complete."""
    if not files:
        return NOTHING_ELSE
    clusters = len(topology.clusters)
    return Surroundings(
        files={name: FileState(file.sites, file.size_bytes) for name, file in files.items()},
        bandwidth_bytes_per_s=BandwidthForecast(clusters, stated_bytes_per_s(topology)).bytes_per_s(),
        history=every_pair(clusters),
    )


class FileKeeper:
    """A context manager that makes the files of coming jobs, removes those of ended ones, and removes all at its end.

    `files` are in the order in which their jobs arrive, `arrivals_s` says when. `make` and `remove` may raise
    `TestbedError`; they are called again after one that may pass, such as that the file is in use (`TestbedBusy`).
    """

    def __init__(
        self,
        files: Mapping[str, InputFile],
        arrivals_s: Mapping[str, float],
        dilation: Dilation,
        make: Callable[[str, InputFile], None],
        remove: Callable[[str], None],
        host_lead_s: float = HOST_LEAD_S,
        host_patience_s: float = HOST_PATIENCE_S,
    ) -> None:
        self._files, self._arrivals_s, self._dilation = files, arrivals_s, dilation
        self._make, self._remove = make, remove
        self._host_lead_s, self._host_patience_s = host_lead_s, host_patience_s
        self._coming = deque(sorted(files, key=lambda name: arrivals_s[name]))
        self._ended: list[str] = []
        self._made: set[str] = set()
        self._lock = threading.Condition()
        self._stopped = False
        self._error: TestbedError | None = None
        self._threads: list[threading.Thread] = []

    def make_first(self) -> None:
        """Make the files of the jobs that arrive first, before the clock starts.

        Raises:
            TestbedError: if one cannot be made.
        """
        due: list[str] = []
        while self._coming and self._dilation.host_duration_s(self._arrivals_s[self._coming[0]]) <= self._host_lead_s:
            due.append(self._coming.popleft())
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._make_one, due))

    def begin(self, clock: EmulatedClock) -> None:
        """Go on by the clock of the run; a further call has no effect."""
        if not self._threads:
            for work in (*(self._make_coming,) * _AT_ONCE, self._remove_ended):
                thread = threading.Thread(target=self._guarded, args=(work, clock), name="input files", daemon=True)
                self._threads.append(thread)
                thread.start()

    def note_ended(self, name: str | None) -> None:
        """Take note that the job that read the file `name` has ended."""
        if name in self._files:
            with self._lock:
                self._ended.append(str(name))
                self._lock.notify_all()

    def check(self) -> None:
        """Raise what went wrong with a file, if anything did."""
        if self._error is not None:
            raise self._error

    def close(self) -> list[TestbedError]:
        """Stop, remove all files that are left, and return what could not be removed.

        What may pass is waited for a little: the last jobs may only just have ended.
        """
        with self._lock:
            self._stopped = True
            self._lock.notify_all()
        for thread in self._threads:
            thread.join()
        return list(_not_removed(self._made, self._removed, self._host_patience_s).values())

    def _guarded(self, work: Callable[[EmulatedClock], None], clock: EmulatedClock) -> None:
        try:
            work(clock)
        except TestbedError as error:
            self._error = error

    def _make_coming(self, clock: EmulatedClock) -> None:
        while (name := self._next_due(clock)) is not None:
            self._make_one(name)

    def _next_due(self, clock: EmulatedClock) -> str | None:
        """Wait until the next file is due, and return it; None if there is none, or all is over."""
        with self._lock:
            while self._coming and not self._stopped:
                host_wait_s = clock.host_remaining_s(self._arrivals_s[self._coming[0]]) - self._host_lead_s
                if host_wait_s <= 0:
                    return self._coming.popleft()
                self._lock.wait(min(host_wait_s, threading.TIMEOUT_MAX))
        return None

    def _make_one(self, name: str) -> None:
        """Make a file; what may pass is waited for within the lead."""
        host_deadline_s = time.monotonic() + self._host_lead_s
        while True:
            host_began_s = time.monotonic()
            try:
                self._make(name, self._files[name])
            except _PASSING as failure:
                if isinstance(failure, TestbedNotUp):
                    self._made.add(name)  # without an answer it may have been made all the same
                if time.monotonic() > host_deadline_s or self._is_stopped_within(_HOST_RETRY_S):
                    raise
            except InvalidInput:
                self._made.discard(name)  # it is somebody else's
                raise
            else:
                self._made.add(name)
                self._host_lead_s = max(self._host_lead_s, LEADS * (time.monotonic() - host_began_s))
                return

    def _is_stopped_within(self, host_wait_s: float) -> bool:
        with self._lock:
            return self._lock.wait_for(lambda: self._stopped, host_wait_s)

    def _remove_ended(self, clock: EmulatedClock) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._stopped or bool(self._ended))
                if self._stopped:
                    return
                ended, self._ended = self._ended, []
            left = [name for name in ended if isinstance(self._removed(name), _PASSING)]
            with self._lock:
                # Its job has ended, but what was brought for it may still be being given back.
                self._lock.wait_for(lambda: self._stopped, _HOST_RETRY_S if left else 0.0)
                self._ended += left

    def _removed(self, name: str) -> TestbedError | None:
        if name not in self._made:
            return None
        failure = _failure(self._remove, name)
        if failure is None:
            self._made.discard(name)
        return failure


def remove_left(
    client: BrokerClient, campaign: str, host_patience_s: float = HOST_PATIENCE_S
) -> dict[str, TestbedError]:
    """Remove the files that a killed campaign of that name left; return those that stay, and why.

    What may pass is waited for a little: jobs that ended with the run may still be giving their files back.
    """
    left = [file.name for file in client.files() if is_file_of(file.name, campaign)]
    return _not_removed(left, partial(_failure, client.remove_file), host_patience_s)


@contextmanager
def kept_files(
    client: BrokerClient,
    topology: Topology,
    files: Mapping[str, InputFile],
    arrivals_s: Mapping[str, float],
    dilation: Dilation,
    seed: int,
) -> Iterator[FileKeeper]:
    """Keep `files` at their sites while their jobs need them; at the end of the context none is left.

    Raises:
        InvalidInput: if one of the first names is taken.
        TransferFailed: if one of the first could not be made.
    """
    unanswered: set[str] = set()

    def make(name: str, file: InputFile) -> None:
        sites = tuple(topology.cluster_names[site] for site in file.sites)
        size_bytes = max(1, round(file.size_bytes))
        try:
            client.register_file(FileRegistration(name=name, size_bytes=size_bytes, sites=sites, seed=seed))
        except TestbedNotUp:
            unanswered.add(name)
            raise
        except InvalidInput:
            made = {file.name: file.size_bytes for file in client.files()} if name in unanswered else {}
            if made.get(name) != size_bytes:
                raise

    keeper = FileKeeper(files, arrivals_s, dilation, make, client.remove_file)
    failures: list[TestbedError] = []
    try:
        keeper.make_first()
        yield keeper
    finally:
        with uninterrupted():
            failures = keeper.close()
    for failure in failures:
        raise failure


def _not_removed(
    names: Iterable[str], removed: Callable[[str], TestbedError | None], host_patience_s: float
) -> dict[str, TestbedError]:
    """Have files removed by `removed`, again while a failure may pass; return those that stay, and why."""
    host_deadline_s = time.monotonic() + host_patience_s
    left = sorted(names)
    while True:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            tried = zip(left, pool.map(removed, left), strict=True)
            failures = {name: failure for name, failure in tried if failure is not None}
        may_pass = any(isinstance(failure, _PASSING) for failure in failures.values())
        if not may_pass or time.monotonic() > host_deadline_s:
            return failures
        left = list(failures)
        time.sleep(_HOST_RETRY_S)


def _failure(remove: Callable[[str], None], name: str) -> TestbedError | None:
    """Remove a file, and return why that failed, if it did."""
    try:
        with suppress(UnknownName):  # the answer to a former request was lost, or it was never made
            remove(name)
    except TestbedError as failure:
        return failure
    return None
