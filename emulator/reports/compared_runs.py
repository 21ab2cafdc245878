"""A live run beside simulations of it, job by job and in all, and beside the spread of live runs of the same seed.

Runs are compared only if they are of one schedule: the same seed, and the same jobs at the same intended arrivals. Jobs
are matched by name. Everything is worked out from records; nothing depends on which driver made them.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.job import JobState
from emulator.model.records import JobRow, RunKind
from emulator.reports.figures.time_groups import quantile
from emulator.reports.figures.times import sorted_times
from emulator.reports.placement_differences import PlacementDifferences, placement_differences
from emulator.reports.summary import gross_utilization
from emulator.runs.run_directory import RunRecords, check_not_cut_short

TIMES: Final = {
    "started_s": "start",
    "wait_time_s": "wait",
    "execution_time_s": "execution",
    "response_time_s": "response",
}
"""The times of a job that are compared, by their column in ``jobs.csv``."""

TRANSFER: Final = "transfer"
MAKESPAN: Final = "makespan"
UTILIZATION: Final = "gross utilization"
STATISTICS: Final[Mapping[str, float | None]] = {"mean": None, "90%": 0.9, "95%": 0.95}
"""The statistics of a time: its mean, and the values below which given shares of the jobs lie."""

ARRIVAL_TOLERANCE_S: Final = 1e-6
"""How far two intended arrivals of the same schedule may differ: rounding, when they are written."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of a live run and of a simulation; `spread` is that among live runs, relative to their mean.

    `error` is relative to the live value; it is None where that is 0.
    """

    name: str
    statistic: str
    live: float
    simulated: float
    spread: float | None

    @property
    def error(self) -> float | None:
        """By which share of the live value the simulated one is larger."""
        return self.simulated / self.live - 1 if self.live else None

    @property
    def within_spread(self) -> bool | None:
        """Whether the error is no larger than the spread of the live runs; None if either is unknown."""
        return None if self.spread is None or self.error is None else abs(self.error) <= self.spread


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """A job in both runs: its times as live and as simulated, by column, and its clusters."""

    job: int
    name: str
    live: JobRow
    simulated: JobRow

    def difference_s(self, column: str) -> float | None:
        """Return by how much a time is longer, or a start later, as simulated."""
        before, after = getattr(self.live, column), getattr(self.simulated, column)
        return None if before is None or after is None else float(after - before)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A live run beside one other run; `finished` jobs did so in each run, and only their times are compared."""

    live: RunRecords
    simulated: RunRecords
    jobs: tuple[ComparedJob, ...]
    quantities: tuple[Quantity, ...]
    placements: PlacementDifferences
    live_runs: int
    finished: int


def compare(live: RunRecords, simulated: RunRecords, repeats: Sequence[RunRecords] = ()) -> Comparison:
    """Compare `simulated` with `live`, beside the spread of `live` and its `repeats`.

    Raises:
        InvalidInput: if a run is not whole, or they are not runs of one schedule.
    """
    for run in (live, simulated, *repeats):
        _check_whole(run)
    _check_sides(live, simulated, repeats)
    for other in (simulated, *repeats):
        _check_same_schedule(live, other)
    same = {job.name: job for job in simulated.jobs}
    jobs = tuple(
        ComparedJob(job.job, job.name, job, same[job.name])
        for job in sorted(live.jobs, key=lambda job: (_arrival_s(job), job.job))
    )
    names = set.intersection(*(finished_names(run) for run in (live, simulated, *repeats)))
    measured = [quantities_of(run, names) for run in (live, *repeats)]
    found = quantities_of(simulated, names)
    quantities = tuple(
        Quantity(*key, value, found[key], _spread([run[key] for run in measured if key in run]))
        for key, value in measured[0].items()
        if key in found
    )
    placements = placement_differences(live, simulated)
    return Comparison(live, simulated, jobs, quantities, placements, len(measured), len(names))


def _check_whole(run: RunRecords) -> None:
    if run.manifest.kind is RunKind.MEASUREMENT:
        raise InvalidInput(f"{run.path}: is a measurement; only streams of jobs are compared.")
    check_not_cut_short(run)


def _check_sides(live: RunRecords, simulated: RunRecords, repeats: Sequence[RunRecords]) -> None:
    """Refuse runs in the wrong places: an error would be relative to the simulation, a spread not that of live runs."""
    if live.manifest.kind is RunKind.SIMULATION and simulated.manifest.kind is RunKind.CAMPAIGN:
        raise InvalidInput(f"{live.path}: is a simulation, and {simulated.path} a live run: name the live run first.")
    for repeat in repeats:
        if repeat.manifest.kind is not live.manifest.kind:
            raise InvalidInput(
                f"--live: {repeat.path} is a {repeat.manifest.kind.value}, and {live.path} a "
                f"{live.manifest.kind.value}: name live runs there."
            )


def _check_same_schedule(live: RunRecords, other: RunRecords) -> None:
    if live.manifest.seed != other.manifest.seed:
        raise InvalidInput(
            f"{other.path}: has seed {other.manifest.seed}, and {live.path} has {live.manifest.seed}: "
            "compare runs of one seed."
        )
    mine_by = (live.manifest.policy, live.manifest.queue)
    theirs_by = (other.manifest.policy, other.manifest.queue)
    if mine_by != theirs_by:
        raise InvalidInput(
            f"{other.path}: was scheduled by {' / '.join(theirs_by)}, and {live.path} by {' / '.join(mine_by)}: "
            "compare runs of one policy and one queue."
        )
    if live.manifest.time_scale != other.manifest.time_scale:
        raise InvalidInput(
            f"{other.path}: has time scale {other.manifest.time_scale:g}, and {live.path} has "
            f"{live.manifest.time_scale:g}: compare runs of one time scale."
        )
    if _clusters(live) != _clusters(other):
        raise InvalidInput(
            f"{other.path}: ran on other clusters ({other.manifest.topology.name}) than {live.path} "
            f"({live.manifest.topology.name}): compare runs of one topology."
        )
    mine, theirs = _schedule(live), _schedule(other)
    if mine.keys() != theirs.keys():
        odd = sorted(mine.keys() ^ theirs.keys())[0]
        raise InvalidInput(f"{other.path}: has another schedule than {live.path}: only one of them has job {odd!r}.")
    for name, (arrival_s, *problem) in mine.items():
        other_arrival_s, *other_problem = theirs[name]
        if abs(arrival_s - other_arrival_s) > ARRIVAL_TOLERANCE_S * max(1.0, arrival_s) or problem != other_problem:
            raise InvalidInput(
                f"{other.path}: has another schedule than {live.path}: job {name!r} differs in its arrival or request."
            )


def _clusters(run: RunRecords) -> list[tuple[str, int]]:
    return [(cluster.name, cluster.processors) for cluster in run.manifest.topology.clusters]


def _schedule(run: RunRecords) -> dict[str, tuple[float, str, int, tuple[int, ...]]]:
    """Return arrival, application, total size and components of each job by name.

    Raises:
        InvalidInput: if two jobs have one name.
    """
    found = {job.name: (_arrival_s(job), job.application, job.processors, job.components) for job in run.jobs}
    if len(found) < len(run.jobs):
        raise InvalidInput(f"{run.path}: two jobs have the same name, so that they cannot be told apart.")
    return found


def _arrival_s(job: JobRow) -> float:
    return job.submitted_s if job.intended_arrival_s is None else job.intended_arrival_s


def finished_names(run: RunRecords) -> set[str]:
    """Return the names of the jobs that finished."""
    return {job.name for job in run.jobs if job.state == JobState.FINISHED}


def quantities_of(run: RunRecords, names: Collection[str]) -> dict[tuple[str, str], float]:
    """Return every quantity of a run, by name and statistic; times and transfers are those of the jobs with `names`.

    The makespan ends with the last of these jobs, and so does the time over which the use by all jobs is counted.
    """
    compared = [job for job in run.jobs if job.state == JobState.FINISHED and job.name in names]
    found: dict[tuple[str, str], float] = {}
    times = {name: sorted_times(compared, column) for column, name in TIMES.items()}
    numbers = {job.job for job in compared}
    times[TRANSFER] = sorted(
        transfer.arrived_s - transfer.began_s for transfer in run.transfers if transfer.job in numbers
    )
    for name, values in times.items():
        if values:
            for statistic, share in STATISTICS.items():
                value = statistics.fmean(values) if share is None else quantile(values, share)
                found[name, statistic] = value
    first_s = min((_arrival_s(job) for job in run.jobs), default=0.0)
    last_s = max((job.finished_s for job in compared if job.finished_s is not None), default=None)
    if last_s is not None:
        found[MAKESPAN, ""] = last_s - first_s
    utilization = gross_utilization(run.jobs, run.components, run.manifest.topology.processors, first_s, last_s)
    if utilization is not None:
        found[UTILIZATION, ""] = utilization
    return found


def _spread(values: Sequence[float]) -> float | None:
    """Return the difference between the largest and the smallest value, relative to their mean."""
    if len(values) < 2 or not statistics.fmean(values):
        return None
    return (max(values) - min(values)) / statistics.fmean(values)
