"""A background load on running clusters, one event at a time: local and dummy jobs, and the records of both.

It has no thread and no clock. Its driver tells it what happens and when, in emulated seconds; it submits and
cancels jobs through the clusters' local users.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from numpy.random import Generator

from emulator.fidelity.background import BackgroundMeasures, BandWatch
from emulator.model.background import Background
from emulator.model.clock import Dilation
from emulator.model.held_nodes import whole
from emulator.model.records import BackgroundRow
from emulator.model.topology import Topology
from emulator.policies.background import (
    BackgroundController,
    BackgroundState,
    ClusterUse,
    DummyJob,
    Injection,
    Prolongation,
)
from emulator.runs.local_users import Account, Ended, JobState, Listed, LocalUsers, Report, Started
from workloads.local_jobs import LocalJob

REACTION_HOST_S: Final = 1.0
"""Host seconds that it takes to have another dummy job run: so much earlier than its end each of them is replaced."""

PATIENCE_HOST_S: Final = 3.0
"""Host seconds within which a dummy job starts if its processors are idle.

One that has not started by then has lost them to another job. It is cancelled, so that the controller injects another
one where processors are idle.
"""


@dataclass(slots=True)
class _Job:
    """A job that was submitted and has not ended, with the processors that it holds when it runs."""

    name: str
    number: int
    account: Account
    cluster: int
    processors: int
    length_s: float
    starts_by_s: float
    is_running: bool = False
    is_cancelled: bool = False
    ends_s: float = math.inf

    def start(self, time_s: float) -> None:
        """Take note that it runs since `time_s`."""
        self.is_running, self.ends_s = True, time_s + self.length_s


@dataclass
class BackgroundLoad:
    """The background load of one run; `on_change` gets a row for each change of a cluster's use.

    With `grid_from_lists`, the grid's jobs are taken to hold what is neither idle nor the background's in a list.
    """

    background: Background
    topology: Topology
    local_jobs: Iterator[LocalJob]
    rng: Generator
    users: LocalUsers
    dilation: Dilation
    settling_s: float
    on_change: Callable[[BackgroundRow], None]
    grid_from_lists: bool = False
    _jobs: dict[str, _Job] = field(default_factory=dict)
    _grid: list[int] = field(init=False)
    _rows: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    _recorded_s: dict[int, float] = field(default_factory=dict)
    _asked: dict[tuple[int, int], frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._together = self.topology.processors_taken_together
        self._controller = BackgroundController(self.background, self._together)
        self._sizes = [cluster.processors for cluster in self.topology.clusters]
        self._names = self.topology.cluster_names
        self._grid = [0] * len(self._sizes)
        self._numbers = count(1)
        self._coming = next(self.local_jobs, None)
        self._reaction_s = self.dilation.emulated_duration_s(REACTION_HOST_S)
        self._patience_s = self.dilation.emulated_duration_s(PATIENCE_HOST_S)
        self._ending_until_s = -math.inf
        self._watch = BandWatch(self.background.of(sum(self._sizes)), self.background.void_after_s, self.settling_s)

    @property
    def next_due_s(self) -> float:
        """When the next local job is to be submitted, or the next dummy job replaced or cancelled; infinity if none."""
        arrival_s = math.inf if self._coming is None else self._coming.arrival_s
        dummies = [job for job in self._jobs.values() if _is_dummy(job)]
        ends_s = min((job.ends_s for job in dummies if job.ends_s > self._ending_until_s), default=math.inf)
        starts_by_s = min((job.starts_by_s for job in dummies if not job.is_running), default=math.inf)
        return min(arrival_s, ends_s - self._reaction_s, starts_by_s)

    def advance(self, time_s: float) -> None:
        """Submit the local jobs that are due at `time_s`, and hold the load in its band, also when some will end."""
        while self._coming is not None and self._coming.arrival_s <= time_s:
            job = self._coming
            self._submit(Account.LOCAL, job.cluster, job.processors, job.length_s, time_s)
            self._coming = next(self.local_jobs, None)
        self._act(time_s)

    def note_grid(self, cluster: str, processors: int, time_s: float) -> None:
        """Take note that the grid's jobs hold `processors` of a cluster."""
        self._grid[self._names.index(cluster)] = processors
        self._act(time_s)

    def note_report(self, cluster: str, report: Report, time_s: float) -> None:
        """Take note of what became of jobs."""
        match report:
            case Started(job=name) if name in self._jobs:
                self._jobs[name].start(time_s)
            case Ended(job=name):
                self._jobs.pop(name, None)
            case Listed():
                self._reconcile(self._names.index(cluster), report)
        self._act(time_s)

    def ask(self) -> None:
        """Ask every cluster for its jobs, in case that a report was lost."""
        for cluster, name in enumerate(self._names):
            number = next(self._numbers)
            known = frozenset(job.name for job in self._jobs.values() if job.cluster == cluster)
            self._asked[cluster, number] = known
            self.users.list_jobs(name, number)

    @property
    def load(self) -> int:
        """The processors on which jobs of the background load run."""
        return sum(job.processors for job in self._jobs.values() if job.is_running)

    def measures(self, now_s: float) -> BackgroundMeasures:
        """Return how the load has kept to its band until `now_s`."""
        return self._watch.measures(now_s)

    def _reconcile(self, cluster: int, listed: Listed) -> None:
        """Forget the jobs that were known when a list was asked for and are not in it; take note of those that run."""
        for name in self._asked.pop((cluster, listed.number), frozenset()):
            if name not in listed.jobs:
                self._jobs.pop(name, None)
            elif name in self._jobs and listed.jobs[name] is JobState.RUNNING:
                self._jobs[name].is_running = True
        if self.grid_from_lists:
            running = [
                self._jobs[name]
                for name, state in listed.jobs.items()
                if state is JobState.RUNNING and name in self._jobs
            ]
            held = listed.idle + sum(job.processors for job in running)
            self._grid[cluster] = max(0, self._sizes[cluster] - held)

    def _act(self, time_s: float) -> None:
        self._ending_until_s = time_s + self._reaction_s
        waiting = [job for job in self._jobs.values() if _is_dummy(job) and not job.is_running]
        for job in (job for job in waiting if job.starts_by_s <= time_s):
            self._cancel(job)
        for action in self._controller.decide(self._state(), self.rng):
            if isinstance(action, Injection):
                self._submit(Account.DUMMY, action.cluster, action.processors, action.length_s, time_s)
                continue
            job = next(job for job in self._jobs.values() if job.number == action.dummy)
            if isinstance(action, Prolongation):
                self._prolong(job, action.length_s)
            else:
                self._cancel(job)
        dummies_left = any(job.is_running and job.account is Account.DUMMY for job in self._jobs.values())
        self._watch.note(time_s, self.load, dummies_left=dummies_left)
        self._record(time_s)

    def _submit(self, account: Account, cluster: int, processors: int, length_s: float, time_s: float) -> None:
        number = next(self._numbers)
        held = whole(processors, self._together)
        starts_by_s = time_s + self._patience_s
        job = _Job(f"{account.value}-{number}", number, account, cluster, held, length_s, starts_by_s)
        self._jobs[job.name] = job
        host_length_s = self.dilation.host_duration_s(length_s)
        self.users.submit(self._names[cluster], job.name, account, processors, host_length_s)

    def _prolong(self, job: _Job, length_s: float) -> None:
        job.ends_s += length_s
        self.users.prolong(self._names[job.cluster], job.name, self.dilation.host_duration_s(length_s))

    def _cancel(self, job: _Job) -> None:
        job.is_cancelled = True
        self.users.cancel(self._names[job.cluster], job.name)

    def _state(self) -> BackgroundState:
        jobs = self._jobs.values()
        uses = []
        for cluster, size in enumerate(self._sizes):
            promised = sum(job.processors for job in jobs if job.cluster == cluster)
            local = sum(
                job.processors
                for job in jobs
                if job.cluster == cluster and job.is_running and job.account is Account.LOCAL
            )
            uses.append(ClusterUse(size, local, max(0, size - self._grid[cluster] - promised)))
        dummies = [
            DummyJob(job.number, job.cluster, job.processors, job.ends_s <= self._ending_until_s)
            for job in jobs
            if _is_dummy(job)
        ]
        return BackgroundState(tuple(uses), tuple(dummies))

    def _record(self, time_s: float) -> None:
        """Record a row for each cluster whose use changed; a cluster's rows never go back, though reports are late."""
        for cluster, size in enumerate(self._sizes):
            running = [job for job in self._jobs.values() if job.is_running and job.cluster == cluster]
            dummy, local = (sum(job.processors for job in running if job.account is account) for account in Account)
            use = (dummy, local, self._grid[cluster])
            if self._rows.get(cluster) != use:
                self._rows[cluster] = use
                self._recorded_s[cluster] = max(time_s, self._recorded_s.get(cluster, time_s))
                self.on_change(
                    BackgroundRow(
                        time_s=self._recorded_s[cluster],
                        cluster=self._names[cluster],
                        processors=size,
                        dummy_processors=dummy,
                        local_processors=local,
                        grid_processors=self._grid[cluster],
                    )
                )


def _is_dummy(job: _Job) -> bool:
    """Return whether it is a dummy job that is not being killed."""
    return job.account is Account.DUMMY and not job.is_cancelled
