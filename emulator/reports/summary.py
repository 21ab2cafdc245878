"""The figures of one run, computed from its directory: times with intervals, utilization, extension factors.

Intervals of mean times take the jobs of a run as independent; those of a campaign are not quite independent, so
several seeds say more than one long run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.campaigns.offered_load import recorded_load
from emulator.fidelity.intervals import Estimate, mean, ratio_of_means
from emulator.model.interconnects import Interconnects
from emulator.model.job import JobState
from emulator.model.records import ComponentRow, JobRow, RunKind
from emulator.reports.executions import end_s
from emulator.reports.held_processors import held_processors
from emulator.runs.equal_jobs import but_for_its_length, is_as_coallocated
from emulator.runs.run_directory import RunRecords

TIMES: Final = ("queue_time_s", "overhead_s", "wait_time_s", "execution_time_s", "response_time_s")
"""The times whose means a summary holds, by their column in ``jobs.csv``."""


@dataclass(frozen=True, slots=True)
class FactorEstimate:
    """An extension factor among the jobs of one run, and the number of runs in one cluster that it is relative to.

    It compares jobs of equal application, total size, and arguments but for their length, by the application's own time
    of an iteration.
    """

    application: str
    arguments: str
    processors: int
    clusters: int
    factor: Estimate
    single_runs: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A run's figures; `times` by column, `utilization` the gross one of a campaign (None without executions).

    `offered_load` is that of a campaign's jobs, None if nobody knows how long they take in one cluster.
    `factors` are those among its jobs. A measurement has none: its records hold the factors that it measured.
    """

    records: RunRecords
    finished: int
    failed: int
    cancelled: int
    times: dict[str, Estimate | None]
    utilization: float | None
    offered_load: float | None
    late_phase_share: float | None
    factors: tuple[FactorEstimate, ...]


def summarize(records: RunRecords) -> Summary:
    """Compute the figures of the run in `records`."""
    finished = [job for job in records.jobs if job.state == JobState.FINISHED]
    is_stream = records.manifest.kind is not RunKind.MEASUREMENT
    return Summary(
        records=records,
        finished=len(finished),
        failed=sum(1 for job in records.jobs if job.state == JobState.FAILED),
        cancelled=sum(1 for job in records.jobs if job.state == JobState.CANCELLED),
        times={column: _mean_time(finished, column) for column in TIMES},
        utilization=_utilization(records, finished) if is_stream else None,
        offered_load=recorded_load(records.manifest),
        late_phase_share=_late_phase_share(finished),
        factors=tuple(factors_by_clusters(finished, records.manifest.topology.interconnects)) if is_stream else (),
    )


def gross_utilization(
    jobs: Sequence[JobRow], components: Iterable[ComponentRow], processors: int, from_s: float, until_s: float | None
) -> float | None:
    """Return the share of the time of all `processors` from the first arrival to `until_s` in which `jobs` executed.

    A job executes from its start to its finish; one that had to be ended did until its processors were released. It
    uses the processors that its `components` held, or without any those that it asked for. Communication over the wide
    area counts as use, as in "Scheduling Policies for Processor Coallocation in Multicluster Systems" defines gross
    utilization.
    """
    if until_s is None or until_s <= from_s:
        return None
    held = held_processors(jobs, components)
    used_s = [
        held[job.job] * (min(ended_s, until_s) - max(begun_s, from_s)) for job, begun_s, ended_s in _executions(jobs)
    ]
    return sum(max(0.0, of_job) for of_job in used_s) / (processors * (until_s - from_s)) if used_s else None


def _executions(jobs: Iterable[JobRow]) -> Iterator[tuple[JobRow, float, float]]:
    for job in jobs:
        until_s = end_s(job)
        if job.started_s is not None and until_s is not None:
            yield job, job.started_s, until_s


def factors_by_clusters(jobs: Sequence[JobRow], interconnects: Interconnects) -> list[FactorEstimate]:
    """Return extension factors wherever jobs that are equal but for their length ran in one cluster and in several.

    In one cluster only those count that used its own interconnect.
    """
    iterations_s: dict[tuple[str, str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for job in jobs:
        if job.clusters is not None and job.runtime_s is not None and not is_as_coallocated(job, interconnects):
            arguments, length = but_for_its_length(job)
            iterations_s[job.application, arguments, job.processors][job.clusters].append(job.runtime_s / length)
    found: list[FactorEstimate] = []
    for (application, arguments, processors), by_clusters in sorted(iterations_s.items()):
        single = by_clusters.get(1, [])
        for clusters in sorted(set(by_clusters) - {1}):
            factor = ratio_of_means(by_clusters[clusters], single)
            if factor is not None:
                found.append(FactorEstimate(application, arguments, processors, clusters, factor, len(single)))
    return found


def _present(jobs: Sequence[JobRow], column: str) -> list[float]:
    values = [getattr(job, column) for job in jobs]
    return [value for value in values if value is not None]


def _mean_time(jobs: Sequence[JobRow], column: str) -> Estimate | None:
    times_s = _present(jobs, column)
    return mean(times_s) if times_s else None


def _utilization(records: RunRecords, finished: Sequence[JobRow]) -> float | None:
    from_s = min((job.submitted_s for job in records.jobs), default=0.0)
    processors, last_s = records.manifest.topology.processors, _last_finish_s(finished)
    return gross_utilization(records.jobs, records.components, processors, from_s, last_s)


def _last_finish_s(jobs: Sequence[JobRow]) -> float | None:
    return max(_present(jobs, "finished_s"), default=None)


def _late_phase_share(jobs: Sequence[JobRow]) -> float | None:
    phases = sum(job.phases or 0 for job in jobs)
    return sum(job.late_phases or 0 for job in jobs) / phases if phases else None
