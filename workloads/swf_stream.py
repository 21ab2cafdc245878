"""Logs in the Standard Workload Format as jobs to simulate; records that cannot be simulated are left out and reported.

The service of a job is its real run time, and its estimate is the requested time. The format has neither components nor
home clusters: a job has one component unless a limit on component sizes splits it, and its queue is drawn at random
from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from workloads.home_queues import drawn_homes
from workloads.job_lists import Check
from workloads.splitting import split_by_limit
from workloads.swf import CANCELLED, MISSING, PARTS, Remark, SwfLog, SwfRecord


@dataclass(frozen=True, slots=True)
class SwfJobs:
    """The jobs of a log in order of arrival, and a remark for each record that was left out."""

    jobs: tuple[StreamJob, ...]
    left_out: tuple[Remark, ...]


def swf_jobs(
    log: SwfLog,
    path: Path,
    *,
    clusters: Sequence[int],
    component_limit: int | None = None,
    seed: int = 0,
    quota: float | None = None,
    check: Check = lambda job: None,
) -> SwfJobs:
    """Return the jobs of `log`, which was read from `path`, for a system of `clusters` of these sizes in processors.

    `quota` is the share of each cluster that they may fill.
    Identities are the job numbers, or the line numbers if job numbers repeat, so that every identity is unique.

    Raises:
        InvalidInput: if `check` refuses a job, or no job remains; the message names the file and the line.
    """
    most = component_limit if component_limit is not None and len(clusters) > 1 else math.inf
    at_home = [record.processors if record.processors <= most else 0 for record in log.records]
    queues = drawn_homes(at_home, clusters, seed, quota)
    numbers = [record.job for record in log.records if _unusable(record) is None]
    repeated = len(set(numbers)) < len(numbers)
    requests: dict[tuple[tuple[int, ...], float], JobRequest] = {}
    jobs: list[StreamJob] = []
    left_out: list[Remark] = []
    for record, line, queue in zip(log.records, log.lines, queues, strict=True):
        reason = _unusable(record)
        if reason is not None:
            left_out.append(Remark(line, *reason))
            continue
        sizes: tuple[int, ...] = (record.processors,)
        if component_limit is not None:
            sizes = split_by_limit(record.processors, component_limit, len(clusters))
        # Equal requests share one object, because the simulator caches its results for a request by identity.
        request = requests.get((sizes, record.requested_s))
        if request is None:
            request = requests[sizes, record.requested_s] = _request(record, sizes)
        job = StreamJob(line if repeated else record.job, record.submit_s, record.run_s, request, queue)
        try:
            check(job)
        except InvalidInput as error:
            too_large = component_limit is None and isinstance(error, ImpossibleRequest)
            remedy = " (--component-limit splits large jobs)" if too_large else ""
            raise InvalidInput(f"{path}, line {line}: {error}{remedy}") from error
        jobs.append(job)
    if not jobs:
        raise InvalidInput(f"{path}: holds no job that could be simulated.")
    return SwfJobs(tuple(sorted(jobs, key=lambda job: (job.arrival_s, job.id))), tuple(left_out))


def swf_record(job: StreamJob, start_s: float | None = None) -> SwfRecord:
    """Return `job` as a record of a log, started at `start_s` if it was; only the sum of its components is kept."""
    return SwfRecord(
        job=job.id,
        submit_s=job.arrival_s,
        wait_s=MISSING if start_s is None else start_s - job.arrival_s,
        run_s=job.service_s,
        allocated_processors=job.request.processors,
        cpu_s=MISSING,
        memory_kilobytes=MISSING,
        requested_processors=job.request.processors,
        requested_s=MISSING if job.request.estimate_s is None else job.request.estimate_s,
        requested_memory_kilobytes=MISSING,
        status=MISSING if start_s is None else 1,
        user=MISSING,
        group=MISSING,
        executable=MISSING,
        queue=MISSING if job.queue is None else job.queue,
        partition=MISSING,
        preceding_job=MISSING,
        think_s=MISSING,
    )


def _unusable(record: SwfRecord) -> tuple[str, str] | None:
    if record.status in PARTS:
        return "status", "left out, for it is a part of a job's execution, and another record is the whole job"
    if record.status == CANCELLED and record.run_s <= 0 and record.allocated_processors < 1:
        return "status", "left out, for the job was cancelled before it started"
    if record.run_s < 0:
        return "run_s", f"left out, for an execution time of {record.run_s:g} s cannot be simulated"
    if record.processors < 1:
        return "requested_processors", f"left out, for a job of {record.processors} processors cannot be simulated"
    if record.submit_s < 0:
        return "submit_s", f"left out, for a submission at {record.submit_s:g} s cannot be simulated"
    return None


def _request(record: SwfRecord, sizes: tuple[int, ...]) -> JobRequest:
    estimate_s = record.requested_s if record.requested_s >= 0 else None
    return JobRequest(RequestKind.UNORDERED, sizes, estimate_s=estimate_s)
