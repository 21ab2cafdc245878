"""Gathering evidence during a run: looks at the host and the links, written as rows, and looked up for a job.

A thread looks at set intervals. The recorder asks for further looks where a job starts and ends, so that a job is
judged on its own time. A look at the links costs the router's guest some tens of milliseconds: it is taken when a job
is placed, before the job computes, and not when it starts.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from emulator.containers.telemetry.counters import Counters
from emulator.fidelity.conditions import (
    Conditions,
    conditions_elsewhere,
    conditions_of_job,
    conditions_of_run,
    summary,
)
from emulator.fidelity.processor_use import TimeInterval
from emulator.fidelity.strangers import Carried
from emulator.model.clock import EmulatedClock, host_clock_step_s, host_steady_now_s
from emulator.model.errors import RunFailed
from emulator.model.evidence import HOST_PART, EvidenceRow, EvidenceSummary, HostSize, LinkFaultRow
from emulator.model.rows import Row
from emulator.model.topology import Topology
from emulator.runs.run_directory import RunDirectory, read_rows
from emulator.runs.telemetry import Telemetry

HOST_LOOK_INTERVAL_S: Final = 1.0
"""Host seconds from one look at the host to the next."""

HOST_LINKS_INTERVAL_S: Final = 10.0
"""Host seconds from one look at the links to the next: each look runs a command in every container and the guest."""

HOST_LEAST_INTERVAL_S: Final = 0.25
"""The fewest host seconds between looks that are asked for, however many jobs start and end."""

UNWRITTEN: Final = "the last looks, which could not be written"
"""Stands among what is missing where the disk was still full at the end."""

AnyRow = TypeVar("AnyRow", bound=Row)


@dataclass(slots=True)
class _Series(Generic[AnyRow]):
    """The rows of looks of one kind, with the host timestamp of each look."""

    host_timestamps_s: list[float] = field(default_factory=list)
    rows: list[list[AnyRow]] = field(default_factory=list)

    def add(self, host_timestamp_s: float, rows: list[AnyRow]) -> None:
        """Add the rows of a look at that timestamp."""
        self.host_timestamps_s.append(host_timestamp_s)
        self.rows.append(rows)

    def during(self, host_began_s: float, host_ended_s: float) -> list[AnyRow]:
        """Return the rows of all looks whose interval overlaps the given one."""
        first = bisect_right(self.host_timestamps_s, host_began_s)
        beyond_last = bisect_left(self.host_timestamps_s, host_ended_s) + 1
        return [row for rows in self.rows[first:beyond_last] for row in rows]

    def forget_before(self, host_timestamp_s: float) -> None:
        """Drop the looks that end before that timestamp."""
        old = bisect_right(self.host_timestamps_s, host_timestamp_s)
        del self.host_timestamps_s[:old], self.rows[:old]


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at a timestamp of the steady clock, and how much the wall clock had been set by then.

    `counters` are the last that each part showed until then, each with the timestamp of its look: a part may not have
    answered the last one, and what happened meanwhile is in its next counters.
    """

    host_timestamp_s: float
    counters: Mapping[str, tuple[float, Counters]]
    host_clock_step_s: float

    @classmethod
    def now(cls, telemetry: Telemetry, before: Mapping[str, tuple[float, Counters]] | None = None) -> _Look:
        """Look now; `before` are the counters of earlier looks."""
        host_timestamp_s = host_steady_now_s()
        found = {part: (host_timestamp_s, counters) for part, counters in telemetry.look().items()}
        return cls(host_timestamp_s, {**(before or {}), **found}, host_clock_step_s())


class Gathering:
    """The evidence of one run, gathered into `directory` from the time that `begin` gives the run's clock."""

    def __init__(self, telemetry: Telemetry, directory: RunDirectory, topology: Topology, host: HostSize) -> None:
        self._telemetry, self._directory, self._topology, self._host = telemetry, directory, topology, host
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._clock: EmulatedClock | None = None
        self._host_write_s: float | None = None
        self._last = _Look.now(telemetry)
        self._links_at_first = {link.key: link for link in telemetry.links()}
        self._links, self._host_links_timestamp_s = self._links_at_first, host_steady_now_s()
        self._evidence: _Series[EvidenceRow] = _Series()
        self._faults: _Series[LinkFaultRow] = _Series()
        self._unwritten: deque[Row] = deque()
        self._carried: dict[str, Carried] = {}
        self._host_duration_s = 0.0

    def begin(self, clock: EmulatedClock) -> None:
        """Start gathering: the run has begun, with this clock."""
        with self._lock:
            self._clock = clock
            # Earlier events, such as the check of the links, do not belong to the run.
            self._last = _Look.now(self._telemetry)

    def look_round(self) -> None:
        """Look at intervals until `end`; runs in a thread of its own."""
        while not self._ended.wait(HOST_LOOK_INTERVAL_S):
            with self._lock:
                self._look()
                if host_steady_now_s() - self._host_links_timestamp_s >= HOST_LINKS_INTERVAL_S:
                    self._look_at_links()
            self._write_through()

    def end(self) -> None:
        """Look a last time, and let `look_round` return."""
        self._ended.set()
        with self._lock:
            self._look()
            self._look_at_links()

    def look_after(self, timestamp_s: float) -> None:
        """Look at the host, unless a look was made after the emulated timestamp `timestamp_s`, or very recently."""
        with self._lock:
            if self._is_due(self._last.host_timestamp_s, timestamp_s):
                self._look()

    def look_at_links_after(self, timestamp_s: float) -> None:
        """Look at the links, unless a look was made after the emulated timestamp `timestamp_s`, or very recently."""
        with self._lock:
            if self._is_due(self._host_links_timestamp_s, timestamp_s):
                self._look_at_links()

    def conditions(self, began_s: float, ended_s: float, clusters: Collection[str]) -> tuple[Conditions, ...]:
        """Return the conditions between two emulated timestamps for a job over `clusters`; none without a look.

        Those of the first host come first, then those of the clusters' other hosts that were looked at.
        """
        with self._lock:
            if self._clock is None:
                return ()
            host_began_s, host_ended_s = map(self._clock.host_steady_s, (began_s, ended_s))
            rows = self._evidence.during(host_began_s, host_ended_s)
            faults = self._faults.during(host_began_s, host_ended_s)
            execution = TimeInterval(began_s, ended_s, self._clock.dilation)
        hosts, sizes = self._telemetry.hosts, self._telemetry.sizes
        found = [
            conditions_of_job(rows, faults, self._host, self._topology, clusters, execution, hosts),
            *(
                conditions_elsewhere(rows, name, sizes[name], hosts, execution)
                for name in self.hosts_of(clusters)
                if name in sizes
            ),
        ]
        return tuple(conditions for conditions in found if conditions is not None)

    def carried_since(self, began_s: float, clusters: Collection[str]) -> tuple[dict[str, Carried], float]:
        """Look, and return what crossed the access links of `clusters` since an emulated timestamp, where counted.

        Returns it with the host seconds in which it did: they begin up to a look before that timestamp.
        """
        with self._lock:
            if self._clock is None or self._ended.is_set():
                return {}, 0.0
            self._look()
            rows = self._evidence.during(self._clock.host_steady_s(began_s), host_steady_now_s())
        host_duration_s = sum(row.host_interval_s for row in rows if row.part == HOST_PART)
        return _added({}, (row for row in rows if row.part in clusters)), host_duration_s

    def carried_in_all(self) -> tuple[dict[str, Carried], float]:
        """Return what crossed the access links in the whole run until the last look, and its host seconds."""
        with self._lock:
            return dict(self._carried), self._host_duration_s

    def hosts_of(self, clusters: Collection[str]) -> list[str]:
        """Return the hosts of `clusters` other than the first."""
        hosts = self._telemetry.hosts
        return sorted({hosts[cluster] for cluster in clusters if cluster in hosts})

    def forget_before(self, timestamp_s: float) -> None:
        """Drop evidence from before this emulated timestamp, so that a long run takes no more memory."""
        with self._lock:
            if self._clock is not None:
                for series in (self._evidence, self._faults):
                    series.forget_before(self._clock.host_steady_s(timestamp_s))

    def summary(self) -> EvidenceSummary:
        """Return a summary of all evidence written so far."""
        with self._lock:
            rows = read_rows(self._directory.path, EvidenceRow)
            faults = read_rows(self._directory.path, LinkFaultRow)
        found = conditions_of_run(rows, faults, self._host, self._telemetry.hosts)
        missing = (*self._telemetry.missing, *((UNWRITTEN,) if self._unwritten else ()))
        return summary(found, sum(row.part == HOST_PART for row in rows), missing)

    def _is_due(self, host_last_s: float, timestamp_s: float) -> bool:
        if self._clock is None or self._ended.is_set():
            return False
        only_just = host_steady_now_s() - host_last_s < HOST_LEAST_INTERVAL_S
        return host_last_s < self._clock.host_steady_s(timestamp_s) and not only_just

    def _look(self) -> None:
        before = self._last
        look = self._last = _Look.now(self._telemetry, before.counters)
        if self._clock is None:
            return
        time_s = self._clock.reading_s(look.host_timestamp_s)
        rows = [
            counters.row_since(before.counters[part][1], part, time_s, host_timestamp_s - before.counters[part][0])
            for part, (host_timestamp_s, counters) in look.counters.items()
            if part in before.counters and host_timestamp_s == look.host_timestamp_s
        ]
        if rows:
            step_s = round(look.host_clock_step_s - before.host_clock_step_s, 3)
            rows[0] = rows[0].model_copy(update={"host_write_s": self._host_write_s, "host_clock_step_s": step_s})
            self._host_write_s = None
        self._evidence.add(look.host_timestamp_s, rows)
        self._carried = _added(self._carried, rows)
        self._host_duration_s += look.host_timestamp_s - before.host_timestamp_s
        self._append(rows)

    def _look_at_links(self) -> None:
        before, self._links = self._links, {link.key: link for link in self._telemetry.links()}
        host_timestamp_s, host_before_s = host_steady_now_s(), self._host_links_timestamp_s
        self._host_links_timestamp_s = host_timestamp_s
        if self._clock is None:
            return
        time_s, rows = self._clock.reading_s(host_timestamp_s), list[LinkFaultRow]()
        for key, link in self._links.items():
            first = self._links_at_first.setdefault(key, link)
            row = link.fault_since(before.get(key, first), first, time_s, host_timestamp_s - host_before_s)
            rows += [row] if row is not None else []
        # A link that did not answer is compared with what it was when it last did.
        self._links = {**before, **self._links}
        self._faults.add(host_timestamp_s, rows)
        self._append(rows)

    def _append(self, rows: Iterable[Row]) -> None:
        """Append rows after those that could not be written before; what cannot be written now waits for the next look.

        A full disk is not waited for: the looks must go on, since jobs are judged by them.
        """
        self._unwritten.extend(rows)
        with suppress(RunFailed):
            while self._unwritten:
                self._directory.append(self._unwritten[0], waits=False)
                self._unwritten.popleft()

    def _write_through(self) -> None:
        """Write the rows to the disk, and note how long that took."""
        host_began_s = time.monotonic()
        with suppress(OSError):
            if self._directory.write_through(EvidenceRow):
                self._host_write_s = time.monotonic() - host_began_s


def _added(carried: Mapping[str, Carried], rows: Iterable[EvidenceRow]) -> dict[str, Carried]:
    """Return what crossed the access links so far and in `rows`, by cluster; other parts have no such link."""
    found = dict(carried)
    for row in rows:
        if row.sent_bytes is not None and row.received_bytes is not None:
            sent, received = found.get(row.part, (0, 0))
            found[row.part] = (sent + row.sent_bytes, received + row.received_bytes)
    return found


@contextmanager
def gathering(telemetry: Telemetry, directory: RunDirectory, topology: Topology, host: HostSize) -> Iterator[Gathering]:
    """Gather evidence inside the context; put its summary in the manifest at the end."""
    gathered = Gathering(telemetry, directory, topology, host)
    thread = threading.Thread(target=gathered.look_round, name="evidence", daemon=True)
    thread.start()
    try:
        yield gathered
    finally:
        gathered.end()
        thread.join()
        directory.update_manifest({"evidence": gathered.summary()})
