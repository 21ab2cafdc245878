"""A run as a log in the Standard Workload Format, and a table beside it for what that format has no field for.

Times are emulated seconds. The log has no components and clusters of a job: they are in the table, by the job's
number. An executable is an application, numbered in the log's header. The requested time is the user's estimate. An
unknown value is -1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from emulator.model.job import JobState
from emulator.model.records import JobRow, Manifest
from emulator.reports.executions import execution_s
from emulator.reports.exports.jobs_in_order import jobs_in_order
from emulator.reports.exports.placed_parts import placed_parts
from emulator.reports.held_processors import held_processors
from emulator.runs.run_directory import RunRecords
from workloads.swf import MISSING, SwfRecord

COMPONENT_COLUMNS: Final = ("job", "component", "processors", "cluster")

_STATUS: Final = {JobState.FINISHED.value: 1, JobState.FAILED.value: 0, JobState.CANCELLED.value: 5}


def swf_log(run: RunRecords) -> tuple[list[str], list[SwfRecord]]:
    """Return the header's lines and the records of `run`, in order of submission.

    Raises:
        InvalidInput: if the run has no jobs, or was resumed.
    """
    jobs = jobs_in_order(run)
    applications = sorted({job.application for job in jobs})
    held = held_processors(jobs, run.components)
    records = [_record(job, held[job.job], applications) for job in jobs]
    return _header(run.manifest, len(jobs), applications), records


def component_lines(run: RunRecords) -> Iterable[str]:
    """Yield the table of components as lines of CSV; the cluster is empty where a job was never placed.

    Raises:
        InvalidInput: as `swf_log`.
    """
    yield ",".join(COMPONENT_COLUMNS)
    jobs = jobs_in_order(run)
    parts = placed_parts(jobs, run.components)
    for job in jobs:
        for index, (cluster, size) in enumerate(parts[job.job]):
            yield f"{job.job},{index},{size},{cluster}"


def _header(manifest: Manifest, jobs: int, applications: Sequence[str]) -> list[str]:
    topology = manifest.topology
    return [
        "Version: 2.2",
        f"Computer: {topology.name}, emulated by the Multicluster Testbed",
        f"MaxJobs: {jobs}",
        f"MaxRecords: {jobs}",
        f"MaxNodes: {sum(cluster.nodes for cluster in topology.clusters)}",
        f"MaxProcs: {topology.processors}",
        f"Note: run {manifest.name}, policy {manifest.policy}, queue {manifest.queue}, seed {manifest.seed}",
        f"Note: times are emulated seconds since the run's start; dilation {manifest.dilation:g}",
        *([f"Note: all times were divided by {manifest.time_scale:g}"] if manifest.time_scale != 1.0 else []),
        f"Note: the run's verdict is {manifest.verdict}",
        *(f"Executable: {number} {name}" for number, name in enumerate(applications, start=1)),
    ]


def _record(job: JobRow, held: int, applications: Sequence[str]) -> SwfRecord:
    ran = job.started_s is not None
    return SwfRecord(
        job=job.job,
        submit_s=job.submitted_s,
        wait_s=_known(job.wait_time_s),
        run_s=_known(execution_s(job)),
        allocated_processors=held if ran else MISSING,
        cpu_s=MISSING,
        memory_kilobytes=MISSING,
        requested_processors=job.processors,
        requested_s=_known(job.estimate_s),
        requested_memory_kilobytes=MISSING,
        status=_STATUS.get(job.state, MISSING),
        user=MISSING,
        group=MISSING,
        executable=applications.index(job.application) + 1,
        queue=MISSING,
        partition=MISSING,
        preceding_job=MISSING,
        think_s=MISSING,
    )


def _known(value_s: float | None) -> float:
    return MISSING if value_s is None else value_s
