"""What happened on the clusters of a run over time, worked out from its records: stays of components, use, the queue.

Processors are used in four ways, as the Close-to-Files paper splits them: background load; actual co-allocation, in
which grid jobs execute; PWT, in which they hold processors and wait for their start; PGT, in which processors are set
aside for a placed job and others can still use them. The real total is the sum of the first three.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from emulator.model.job import JobState
from emulator.model.records import BackgroundRow, ComponentRow, JobRow
from emulator.runs.run_directory import RunRecords, attempts, counted_jobs, read_rows, read_run
from emulator.runs.steps import Change, Steps, mean_between, steps

BACKGROUND: Final = "background"
COALLOCATION: Final = "coallocation"
PWT: Final = "pwt"
PGT: Final = "pgt"
WAITING: Final = "waiting"


class Stay(NamedTuple):
    """The stay of a component on a cluster: placed, claimed, from start to finish, released."""

    job: int
    name: str
    component: int
    cluster: str
    processors: int
    placed_s: float | None
    claimed_s: float | None
    started_s: float | None
    finished_s: float | None
    released_s: float | None


class BackgroundUse(NamedTuple):
    """The processors of a cluster that each kind of use other than the grid's holds from `time_s` on."""

    time_s: float
    cluster: str
    processors: Mapping[str, int]


@dataclass(frozen=True)
class Timelines:
    """The timelines of a run: those of its first part, which has one clock."""

    records: RunRecords
    jobs: Sequence[JobRow]
    components: Sequence[ComponentRow]
    background: Sequence[BackgroundUse] = field(default=())
    parts: int = 1

    @cached_property
    def finished(self) -> list[JobRow]:
        """The jobs of all parts that finished."""
        return [job for job in self.records.jobs if job.state == JobState.FINISHED]

    @cached_property
    def stays(self) -> list[Stay]:
        """The stays of all components that were placed, in the order of the record."""
        jobs = {job.job: job for job in self.jobs}
        return [_stay(row, jobs[row.job]) for row in self.components if row.job in jobs]

    @cached_property
    def end_s(self) -> float:
        """The last timestamp of the jobs."""
        times = [
            time_s
            for job in self.jobs
            for time_s in (job.submitted_s, job.placed_s, job.started_s, job.finished_s, job.released_s)
            if time_s is not None
        ]
        return max(times, default=0.0)

    @property
    def sizes(self) -> dict[str, int]:
        """The processors of each cluster, in the topology's order."""
        return {cluster.name: cluster.processors for cluster in self.records.manifest.topology.clusters}

    @property
    def band(self) -> tuple[float, float] | None:
        """The band, in shares of all processors, in which the background load was to be; None if it had none."""
        stated = self.records.manifest.workload.get("background")
        band = stated.get("band") if isinstance(stated, dict) else None
        return (float(band[0]), float(band[1])) if isinstance(band, list | tuple) and len(band) == 2 else None


def read_timelines(path: Path) -> Timelines:
    """Read the run in `path`.

    Raises:
        InvalidInput: if there is no run directory, or one of its files holds what it should not.
    """
    records, parts = read_run(path), attempts(path)
    is_one = len(parts) == 1
    jobs = records.jobs if is_one else counted_jobs(path)
    components = records.components if is_one else read_rows(path, ComponentRow)
    return Timelines(records, jobs, components, background_uses(records.background), len(parts))


def background_uses(rows: Iterable[BackgroundRow]) -> list[BackgroundUse]:
    """Return how many processors others than the grid held, by kind, whenever that changed."""
    return [
        BackgroundUse(row.time_s, row.cluster, {"dummy": row.dummy_processors, "local": row.local_processors})
        for row in rows
    ]


def _stay(row: ComponentRow, job: JobRow) -> Stay:
    return Stay(
        row.job,
        job.name,
        row.component,
        row.cluster,
        row.processors,
        row.placed_s,
        row.claimed_s,
        job.started_s,
        job.finished_s,
        row.released_s,
    )


def utilization_split(run: Timelines) -> Steps:
    """Return the processors in each kind of use, whenever one of them changes."""
    return steps(
        {
            BACKGROUND: list(background_changes(run.background)),
            COALLOCATION: [change for stay in run.stays for change in _executing(stay)],
            PWT: [change for stay in run.stays for change in _wasted(stay)],
            PGT: [change for stay in run.stays for change in _gained(stay)],
        }
    )


def mean_shares(run: Timelines, split: Steps, begin_s: float = 0.0, end_s: float | None = None) -> dict[str, float]:
    """Return the mean share of all processors in each kind of use, by default until the last job finished."""
    last_s = max((job.finished_s for job in run.jobs if job.finished_s is not None), default=run.end_s)
    until_s = last_s if end_s is None else end_s
    processors = sum(run.sizes.values())
    return {
        part: mean_between(split.times_s, values, begin_s, until_s) / processors
        for part, values in split.values.items()
    }


def background_changes(uses: Sequence[BackgroundUse], kind: str | None = None) -> Iterator[Change]:
    """Return by how much the processors change that jobs of one kind hold over all clusters; by default of any kind."""
    held: dict[str, int] = defaultdict(int)
    for use in uses:
        now = sum(use.processors.values()) if kind is None else use.processors[kind]
        yield use.time_s, now - held[use.cluster]
        held[use.cluster] = now


def _executing(stay: Stay) -> Iterator[Change]:
    until_s = stay.released_s if stay.finished_s is None else stay.finished_s
    if stay.started_s is not None and until_s is not None:
        yield stay.started_s, stay.processors
        yield until_s, -stay.processors


def _wasted(stay: Stay) -> Iterator[Change]:
    until_s = stay.started_s if stay.started_s is not None else stay.released_s
    if stay.claimed_s is not None and until_s is not None:
        yield stay.claimed_s, stay.processors
        yield until_s, -stay.processors


def _gained(stay: Stay) -> Iterator[Change]:
    if stay.placed_s is not None and stay.claimed_s is not None:
        yield stay.placed_s, stay.processors
        yield stay.claimed_s, -stay.processors


def waiting_jobs(run: Timelines) -> Steps:
    """Return the number of jobs that were submitted and not yet placed; one that never was waits until the end."""
    waits = [(job.submitted_s, run.end_s if job.placed_s is None else job.placed_s) for job in run.jobs]
    return steps({WAITING: [change for begin_s, end_s in waits for change in ((begin_s, 1), (end_s, -1))]})
