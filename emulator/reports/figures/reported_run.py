"""A run as figures need it: its records, and the stays of components on clusters on one clock."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from emulator.model.errors import InvalidInput
from emulator.model.job import JobState
from emulator.model.records import ComponentRow, JobRow
from emulator.reports.summary import Summary, summarize
from emulator.runs.run_directory import RunRecords, attempts, counted_jobs, read_rows, read_run

BACKGROUND_FILE: Final = "background.csv"
_PROCESSORS: Final = "_processors"
GRID: Final = "grid"
"""The use of processors in ``background.csv`` that is not background load."""


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
class ReportedRun:
    """A run under the label that a report gives it; its timelines are those of its first part, which has one clock."""

    label: str
    records: RunRecords
    jobs: Sequence[JobRow]
    components: Sequence[ComponentRow]
    background: Sequence[BackgroundUse] = field(default=())
    parts: int = 1

    @cached_property
    def summary(self) -> Summary:
        """The figures of the run that the tables show."""
        return summarize(self.records)

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


def reported_run(path: Path, label: str | None = None) -> ReportedRun:
    """Read the run in `path` for a report.

    Raises:
        InvalidInput: if there is no run directory, or one of its files holds what it should not.
    """
    records, parts = read_run(path), attempts(path)
    is_one = len(parts) == 1
    jobs = records.jobs if is_one else counted_jobs(path)
    components = records.components if is_one else read_rows(path, ComponentRow)
    return ReportedRun(label or path.name, records, jobs, components, read_background(path), len(parts))


def labels_of(paths: Sequence[Path]) -> list[str]:
    """Return a name for each path: that of its folder, with as many of the folders above as make it unique."""
    resolved = [path.resolve().parts for path in paths]
    for depth in range(1, max(map(len, resolved), default=1) + 1):
        labels = ["/".join(parts[-depth:]) for parts in resolved]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{'/'.join(parts[-1:])} ({number})" for number, parts in enumerate(resolved, start=1)]


def read_background(path: Path) -> list[BackgroundUse]:
    """Read how many processors others than the grid held; empty if the run recorded no background load.

    Raises:
        InvalidInput: if a line is not a timestamp, a cluster, and numbers of processors.
    """
    file = path / BACKGROUND_FILE
    if not file.is_file():
        return []
    text = file.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1].splitlines()
    found: list[BackgroundUse] = []
    for number, row in enumerate(csv.DictReader(whole), start=2):
        try:
            held = {column.removesuffix(_PROCESSORS): int(row[column] or 0) for column in row if _is_use(column)}
            found.append(BackgroundUse(float(row["time_s"]), row["cluster"], held))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"{file}, line {number}: is no use of processors ({error}).") from error
    return found


def _is_use(column: str) -> bool:
    return column.endswith(_PROCESSORS) and column != f"{GRID}{_PROCESSORS}"


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
