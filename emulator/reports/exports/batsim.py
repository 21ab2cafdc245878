"""A run in the formats of Batsim: the workload that it simulates, and the outcomes of jobs that it writes.

A run records how many processors of which cluster a job executed on, not which ones. Batsim's tools draw processors, so
each component gets the lowest ones of its cluster that are idle while it executes, clusters in the topology's order.
Jobs that never executed are left out of both. `stretch` is Batsim's: turnaround over execution.
"""

from __future__ import annotations

import csv
import heapq
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.job import JobState
from emulator.model.records import JobRow
from emulator.model.topology import Topology
from emulator.reports.executions import end_s, execution_s
from emulator.reports.exports.jobs_in_order import jobs_in_order
from emulator.reports.exports.placed_parts import Parts, placed_parts
from emulator.reports.held_processors import held_processors
from emulator.runs.run_directory import RunRecords

WORKLOAD_FILE: Final = "workload.json"
OUTCOMES_FILE: Final = "jobs.csv"
UNKNOWN: Final = -1
LEAST_DELAY_S: Final = 1e-6
"""The delay of a job that took no time: Batsim refuses one of zero."""
COLUMNS: Final = (
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time",
    "success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time",
    "stretch", "allocated_resources", "consumed_energy", "metadata",
)  # fmt: skip

_FINAL_STATES: Final = {
    JobState.FINISHED.value: "COMPLETED_SUCCESSFULLY",
    JobState.FAILED.value: "COMPLETED_FAILED",
    JobState.CANCELLED.value: "COMPLETED_KILLED",
}


def executed_jobs(run: RunRecords) -> list[JobRow]:
    """Return the jobs of `run` that executed, in order of submission.

    Raises:
        InvalidInput: if there is none, or the run was resumed.
    """
    jobs = [job for job in jobs_in_order(run) if job.started_s is not None and end_s(job) is not None]
    if not jobs:
        raise InvalidInput(f"{run.path}: holds no job that executed.")
    return jobs


def batsim_files(run: RunRecords) -> dict[str, str]:
    """Return Batsim's files, by name.

    Raises:
        InvalidInput: as `executed_jobs`, or if more executed on a cluster at a time than it has processors.
    """
    jobs = executed_jobs(run)
    return {WORKLOAD_FILE: _workload(run, jobs), OUTCOMES_FILE: _outcomes(run, jobs)}


def _workload(run: RunRecords, jobs: Sequence[JobRow]) -> str:
    held = held_processors(jobs, run.components)
    content = {
        "nb_res": run.manifest.topology.processors,
        "jobs": [
            {"id": str(job.job), "subtime": job.submitted_s, "res": held[job.job], "profile": _profile(job)}
            | _walltime(job)
            for job in jobs
        ],
        "profiles": {_profile(job): {"type": "delay", "delay": _delay_s(job)} for job in jobs},
    }
    return json.dumps(content, indent=1) + "\n"


def _outcomes(run: RunRecords, jobs: list[JobRow]) -> str:
    allocated = _allocations(run.manifest.topology, jobs, placed_parts(jobs, run.components))
    text = io.StringIO()
    rows = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    rows.writeheader()
    for job in sorted(jobs, key=lambda job: (end_s(job), job.job)):
        rows.writerow(_outcome(job, run.manifest.name, allocated[job.job]))
    return text.getvalue()


def _outcome(job: JobRow, workload: str, allocated: list[int]) -> dict[str, object]:
    took_s, finish_s = execution_s(job), end_s(job)
    turnaround_s = None if finish_s is None else finish_s - job.submitted_s
    return {
        "job_id": job.job,
        "workload_name": workload,
        "profile": _profile(job),
        "submission_time": job.submitted_s,
        "requested_number_of_resources": len(allocated),
        "requested_time": UNKNOWN if job.estimate_s is None else job.estimate_s,
        "success": int(job.state == JobState.FINISHED.value),
        "final_state": _FINAL_STATES.get(job.state, "COMPLETED_FAILED"),
        "starting_time": job.started_s,
        "execution_time": took_s,
        "finish_time": finish_s,
        "waiting_time": job.wait_time_s,
        "turnaround_time": turnaround_s,
        "stretch": turnaround_s / took_s if took_s and turnaround_s else UNKNOWN,
        "allocated_resources": interval_set(allocated),
        "consumed_energy": UNKNOWN,
        "metadata": "",
    }


def _walltime(job: JobRow) -> dict[str, float]:
    """Return the user's estimate, unless the job took longer: Batsim ends a job at its walltime."""
    estimate_s = job.estimate_s
    return {} if estimate_s is None or estimate_s <= _delay_s(job) else {"walltime": estimate_s}


def _delay_s(job: JobRow) -> float:
    return max(execution_s(job) or 0.0, LEAST_DELAY_S)


def _profile(job: JobRow) -> str:
    return f"{job.application}-{job.job}"


def interval_set(numbers: Iterable[int]) -> str:
    """Return numbers as Batsim writes them: ``1-2 5 10-50``."""
    intervals: list[list[int]] = []
    for number in sorted(numbers):
        if intervals and number == intervals[-1][1] + 1:
            intervals[-1][1] = number
        else:
            intervals.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in intervals)


def _allocations(topology: Topology, jobs: Iterable[JobRow], parts: Mapping[int, Parts]) -> dict[int, list[int]]:
    """Return the processors of each job: the lowest of its clusters that are idle from its start to its end."""
    firsts = accumulate((cluster.processors for cluster in topology.clusters), initial=0)
    idle = {
        cluster.name: list(range(first, first + cluster.processors))
        for cluster, first in zip(topology.clusters, firsts, strict=False)
    }
    executing: list[tuple[float, int, list[tuple[str, int]]]] = []
    allocated: dict[int, list[int]] = {}
    for job in sorted(jobs, key=lambda job: (job.started_s, job.job)):
        while executing and executing[0][0] <= (job.started_s or 0.0):
            for cluster, processor in heapq.heappop(executing)[2]:
                heapq.heappush(idle[cluster], processor)
        taken = [(cluster, _lowest(idle.get(cluster), cluster, job)) for cluster in _places(parts[job.job])]
        heapq.heappush(executing, (end_s(job) or 0.0, job.job, taken))
        allocated[job.job] = [processor for _, processor in taken]
    return allocated


def _places(parts: Parts) -> Iterable[str]:
    """Return the cluster of each of a job's processors."""
    for cluster, size in parts:
        yield from [cluster] * size


def _lowest(idle: list[int] | None, cluster: str, job: JobRow) -> int:
    if idle is None:
        raise InvalidInput(f"job {job.job}: executed on {cluster!r}, which is no cluster of the run's topology.")
    if not idle:
        raise InvalidInput(f"job {job.job}: more processors of {cluster} executed at a time than it has.")
    return heapq.heappop(idle)
