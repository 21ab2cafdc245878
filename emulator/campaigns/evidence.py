"""Gathering evidence while a run lasts: looks at the host and the links, written as rows, and found again for a job.

A thread looks round at set intervals; whoever follows the run's events asks for a look where a job starts and where it
ends, so that a job is judged on its own time. A look at the links costs the router's guest some tens of milliseconds:
it is taken when a job is placed, before it computes, and not when it starts.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from emulator.campaigns.lookouts import Lookout
from emulator.campaigns.run_directory import RunDirectory, read_rows
from emulator.containers.evidence.counters import Counters
from emulator.fidelity.conditions import Conditions, HostSize, conditions_of_job, conditions_of_run, summary
from emulator.fidelity.processor_use import Spell
from emulator.model.clock import EmulatedClock
from emulator.model.evidence import HOST_PART, EvidenceRow, EvidenceSummary, LinkFaultRow
from emulator.model.rows import Row
from emulator.model.topology import Topology

HOST_LOOK_INTERVAL_S: Final = 1.0
"""Host seconds from one look at the host to the next."""

HOST_LINKS_INTERVAL_S: Final = 10.0
"""Host seconds from one look at the links to the next: each runs a command in every container, the guest's included."""

HOST_LEAST_INTERVAL_S: Final = 0.25
"""Looks that are asked for are at least so many host seconds apart, however many jobs start and end."""


AnyRow = TypeVar("AnyRow", bound=Row)


@dataclass(slots=True)
class _Series(Generic[AnyRow]):
    """The rows of looks of one kind, with the moment of the wall clock at which each was taken."""

    host_moments_s: list[float] = field(default_factory=list)
    rows: list[list[AnyRow]] = field(default_factory=list)

    def add(self, host_moment_s: float, rows: list[AnyRow]) -> None:
        """What a look at that moment found since the last."""
        self.host_moments_s.append(host_moment_s)
        self.rows.append(rows)

    def during(self, host_began_s: float, host_ended_s: float) -> list[AnyRow]:
        """The rows of all looks whose interval meets the one given."""
        first = bisect_right(self.host_moments_s, host_began_s)
        beyond_last = bisect_left(self.host_moments_s, host_ended_s) + 1
        return [row for rows in self.rows[first:beyond_last] for row in rows]

    def forget_before(self, host_moment_s: float) -> None:
        """Drop what no interval from that moment on meets."""
        old = bisect_right(self.host_moments_s, host_moment_s)
        del self.host_moments_s[:old], self.rows[:old]


@dataclass(frozen=True, slots=True)
class _Look:
    """Counters of the parts at a moment of the wall clock."""

    host_moment_s: float
    counters: Mapping[str, Counters]


class Gathering:
    """The evidence of one run, gathered into `directory` once `begin` is told the run's clock."""

    def __init__(self, lookout: Lookout, directory: RunDirectory, topology: Topology, host: HostSize) -> None:
        self._lookout, self._directory, self._topology, self._host = lookout, directory, topology, host
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._clock: EmulatedClock | None = None
        self._host_write_s: float | None = None
        self._last = _Look(time.time(), lookout.look())
        self._links_at_first = {link.key: link for link in lookout.links()}
        self._links, self._host_links_moment_s = self._links_at_first, time.time()
        self._evidence: _Series[EvidenceRow] = _Series()
        self._faults: _Series[LinkFaultRow] = _Series()

    def begin(self, clock: EmulatedClock) -> None:
        """The run has begun, and this is its clock."""
        with self._lock:
            self._clock = clock

    def look_round(self) -> None:
        """Look again and again until `end`; a thread of its own does this."""
        while not self._ended.wait(HOST_LOOK_INTERVAL_S):
            with self._lock:
                self._look()
                if time.time() - self._host_links_moment_s >= HOST_LINKS_INTERVAL_S:
                    self._look_at_links()
            self._write_through()

    def end(self) -> None:
        """Look a last time; `look_round` returns."""
        self._ended.set()
        with self._lock:
            self._look()
            self._look_at_links()

    def look_after(self, moment_s: float) -> None:
        """Look at the host, unless that was done since the emulated moment `moment_s`, or only just."""
        with self._lock:
            if self._is_due(self._last.host_moment_s, moment_s):
                self._look()

    def look_at_links_after(self, moment_s: float) -> None:
        """Look at the links, unless that was done since the emulated moment `moment_s`, or only just."""
        with self._lock:
            if self._is_due(self._host_links_moment_s, moment_s):
                self._look_at_links()

    def conditions(self, began_s: float, ended_s: float, clusters: Collection[str]) -> Conditions | None:
        """The conditions between two emulated moments for a job over `clusters`; None if nothing was seen."""
        with self._lock:
            if self._clock is None:
                return None
            host_began_s, host_ended_s = map(self._clock.host_moment_s, (began_s, ended_s))
            rows = self._evidence.during(host_began_s, host_ended_s)
            faults = self._faults.during(host_began_s, host_ended_s)
            execution = Spell(began_s, ended_s, self._clock.dilation)
        return conditions_of_job(rows, faults, self._host, self._topology, clusters, execution)

    def forget_before(self, moment_s: float) -> None:
        """No job will be asked about that ended before this emulated moment: a long run takes no more memory."""
        with self._lock:
            if self._clock is not None:
                for series in (self._evidence, self._faults):
                    series.forget_before(self._clock.host_moment_s(moment_s))

    def summary(self) -> EvidenceSummary:
        """All of it in one, as it was written."""
        with self._lock:
            rows = read_rows(self._directory.path, EvidenceRow)
            faults = read_rows(self._directory.path, LinkFaultRow)
        found = conditions_of_run(rows, faults, self._host)
        return summary(found, sum(row.part == HOST_PART for row in rows), self._lookout.missing)

    def _is_due(self, host_last_s: float, moment_s: float) -> bool:
        if self._clock is None or self._ended.is_set():
            return False
        only_just = time.time() - host_last_s < HOST_LEAST_INTERVAL_S
        return host_last_s < self._clock.host_moment_s(moment_s) and not only_just

    def _look(self) -> None:
        look, before = _Look(time.time(), self._lookout.look()), self._last
        self._last = look
        if self._clock is None:
            return
        time_s = self._clock.emulated_moment_s(look.host_moment_s)
        interval_s = look.host_moment_s - before.host_moment_s
        rows = [
            counters.row_since(before.counters[part], part, time_s, interval_s)
            for part, counters in look.counters.items()
            if part in before.counters
        ]
        if rows and self._host_write_s is not None:
            rows[0] = rows[0].model_copy(update={"host_write_s": self._host_write_s})
            self._host_write_s = None
        self._evidence.add(look.host_moment_s, rows)
        for row in rows:
            self._directory.append(row)

    def _look_at_links(self) -> None:
        before, self._links = self._links, {link.key: link for link in self._lookout.links()}
        host_moment_s, host_before_s = time.time(), self._host_links_moment_s
        self._host_links_moment_s = host_moment_s
        if self._clock is None:
            return
        time_s, rows = self._clock.emulated_moment_s(host_moment_s), list[LinkFaultRow]()
        for key, link in self._links.items():
            first = self._links_at_first.setdefault(key, link)
            row = link.fault_since(before.get(key, first), first, time_s, host_moment_s - host_before_s)
            rows += [row] if row is not None else []
        # A link that did not answer is compared with what it was when it last did.
        self._links = {**before, **self._links}
        self._faults.add(host_moment_s, rows)
        for row in rows:
            self._directory.append(row)

    def _write_through(self) -> None:
        """Have the rows reach the disk, and remember how long that took."""
        host_began_s = time.monotonic()
        if self._directory.write_through(EvidenceRow):
            self._host_write_s = time.monotonic() - host_began_s


@contextmanager
def gathering(lookout: Lookout, directory: RunDirectory, topology: Topology, host: HostSize) -> Iterator[Gathering]:
    """Gather evidence for as long as this is held; its summary is in the manifest then."""
    gathered = Gathering(lookout, directory, topology, host)
    thread = threading.Thread(target=gathered.look_round, name="evidence", daemon=True)
    thread.start()
    try:
        yield gathered
    finally:
        gathered.end()
        thread.join()
        directory.update_manifest({"evidence": gathered.summary()})
