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
            (job.submitted_s, job.placed_s, job.started_s, job.finished_s, job.released_s, job.given_up_s)
            for job in self.jobs
        ]
        return max((time_s for of_job in times for time_s in of_job if time_s is not None), default=0.0)

    @cached_property
    def first_arrival_s(self) -> float:
        """When the first job was submitted."""
        return min((job.submitted_s for job in self.jobs), default=0.0)

    @property
    def shown_from_s(self) -> float:
        """Where figures begin: at second zero, or where the first job arrives if more time passes before than after."""
        return self.first_arrival_s if self.first_arrival_s > self.end_s / 2 else 0.0

    @property
    def sizes(self) -> dict[str, int]:
        """The processors of each cluster, in the topology's order."""
        return {cluster.name: cluster.processors for cluster in self.records.manifest.topology.clusters}

    @property
    def band(self) -> tuple[float, float] | None:
        """The band, in shares of all processors, in which the background load was to be; None if it had none."""
        stated = self.records.manifest.workload.get("background")
        band = stated.get("band") if isinstance(stated, dict) else None
        if not isinstance(band, list | tuple) or len(band) != 2:
            return None
        low, high = band
        return (float(low), float(high)) if isinstance(low, int | float) and isinstance(high, int | float) else None


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


def mean_shares(
    run: Timelines, split: Steps, begin_s: float | None = None, end_s: float | None = None
) -> dict[str, float]:
    """Return the mean share of all processors in each kind of use, by default from first arrival to last finish."""
    last_s = max((job.finished_s for job in run.jobs if job.finished_s is not None), default=run.end_s)
    from_s = run.first_arrival_s if begin_s is None else begin_s
    until_s = last_s if end_s is None else end_s
    processors = sum(run.sizes.values())
    return {
        part: mean_between(split.times_s, values, from_s, until_s) / processors for part, values in split.values.items()
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
    """Return the number of jobs that were submitted, and neither placed nor given up yet.

    Old records do not say when a job was given up: it counts until the end.
    """
    left = [(job, job.given_up_s if job.placed_s is None else job.placed_s) for job in run.jobs]
    waits = [(job.submitted_s, run.end_s if left_s is None else left_s) for job, left_s in left]
    return steps({WAITING: [change for begin_s, end_s in waits for change in ((begin_s, 1), (end_s, -1))]})
