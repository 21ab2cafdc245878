"""The figures of one run, computed from its directory: times with intervals, utilization, extension factors.

Intervals of mean times take the jobs of a run as independent; those of a campaign are not quite independent, so
several seeds say more than one long run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emulator.fidelity.intervals import Estimate, mean, ratio_of_means
from emulator.model.job import JobState
from emulator.model.records import JobRow, RunKind
from emulator.runs.equal_jobs import but_for_its_length
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
    """A run's figures; `times` by column, `utilization` the gross one of a campaign (None without executions)."""

    records: RunRecords
    finished: int
    failed: int
    cancelled: int
    times: dict[str, Estimate | None]
    utilization: float | None
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
        utilization=gross_utilization(records, _last_finish_s(finished)) if is_stream else None,
        late_phase_share=_late_phase_share(finished),
        factors=tuple(factors_by_clusters(finished)),
    )


def gross_utilization(records: RunRecords, until_s: float | None) -> float | None:
    """Return the share of all processor time from second zero to `until_s` in which the jobs of a run executed.

    Communication over the wide area counts as use, as "Scheduling Policies for Processor Coallocation in Multicluster
    Systems" defines gross utilization. A job that did not finish executes until its processors are released.
    """
    if not until_s or not records.jobs:
        return None
    used = sum(job.processors * _executing_s(job, until_s) for job in records.jobs)
    return used / (sum(cluster.processors for cluster in records.manifest.topology.clusters) * until_s)


def _executing_s(job: JobRow, until_s: float) -> float:
    """Return how long a job executed until `until_s`."""
    end_s = job.released_s if job.finished_s is None else job.finished_s
    return 0.0 if job.started_s is None or end_s is None else max(0.0, min(end_s, until_s) - job.started_s)


def factors_by_clusters(jobs: Sequence[JobRow]) -> list[FactorEstimate]:
    """Return extension factors wherever jobs that are equal but for their length ran in one cluster and in several."""
    iterations_s: dict[tuple[str, str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for job in jobs:
        if job.clusters is not None and job.runtime_s is not None:
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


def _last_finish_s(jobs: Sequence[JobRow]) -> float | None:
    return max(_present(jobs, "finished_s"), default=None)


def _late_phase_share(jobs: Sequence[JobRow]) -> float | None:
    phases = sum(job.phases or 0 for job in jobs)
    return sum(job.late_phases or 0 for job in jobs) / phases if phases else None
