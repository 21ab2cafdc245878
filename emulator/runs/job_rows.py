"""The rows of a job that has ended: what it was and took, where it ran, and the verdict on it."""

from __future__ import annotations

import json
from typing import Any, Final

from emulator.fidelity.verdict import Judgement, Verdict
from emulator.model.job import Timeline
from emulator.model.records import ComponentRow, JobRow
from emulator.model.views import JobView

_REASONS_JOINED_BY: Final = "; "

_RESULT_COLUMNS: Final = ("iterations", "runtime_s", "iteration_s", "phases", "late_phases", "host_cpu_s")
"""The columns of a job's row that carry the names of their fields in the job's result."""


def job_row(job: JobView, verdict: Verdict, ended_s: float) -> JobRow:
    """Return the row of a job that ended at the emulated timestamp `ended_s`."""
    specification, times = job.specification, _timeline(job)
    result: dict[str, Any] = job.result or {}
    return JobRow(
        job=job.id,
        name=specification.name,
        application=specification.application,
        arguments=json.dumps(specification.arguments),
        request=specification.request,
        components=specification.components,
        requested_clusters=specification.clusters,
        file=specification.file or "",
        processors=sum(specification.components),
        estimate_s=specification.estimate_s,
        state=job.state,
        reason=job.reason,
        placement_tries=job.placement_tries,
        claiming_tries=job.claiming_tries,
        execution_clusters=tuple(part.cluster for part in job.components),
        clusters=len({part.cluster for part in job.components}) or None,
        intended_arrival_s=job.intended_arrival_s,
        submitted_s=job.submitted_s,
        placed_s=job.placed_s,
        estimated_transfer_s=job.estimated_transfer_s,
        claim_due_s=job.claim_due_s,
        planned_start_s=job.planned_start_s,
        additional_claiming_s=job.additional_claiming_s,
        claimed_s=job.claimed_s,
        started_s=job.started_s,
        finished_s=job.finished_s,
        released_s=job.released_s,
        given_up_s=ended_s if job.placed_s is None else None,
        queue_time_s=times.queue_time_s,
        overhead_s=times.overhead_s,
        processor_gained_time_s=times.processor_gained_time_s,
        processor_wasted_time_s=times.processor_wasted_time_s,
        wait_time_s=times.wait_time_s,
        execution_time_s=times.execution_time_s,
        response_time_s=times.response_time_s,
        overhead_late_s=job.overhead_late_s,
        exit_code=job.exit_code,
        **{column: result.get(column) for column in _RESULT_COLUMNS},
        interconnects=result.get("interconnects", ""),
        host_lateness_s=result.get("host_critical_lateness_s"),
        **verdict_columns(verdict),
    )


def verdict_columns(verdict: Verdict) -> dict[str, str]:
    """Return the columns of a job's row that hold its verdict."""
    reasons = "" if verdict.judgement is Judgement.VALID else _REASONS_JOINED_BY.join(verdict.reasons)
    return {"verdict": verdict.judgement, "verdict_reasons": reasons}


def verdict_in(row: JobRow) -> Verdict:
    """Return the verdict that the row of a job holds."""
    reasons = tuple(reason for reason in row.verdict_reasons.split(_REASONS_JOINED_BY) if reason)
    return Verdict(Judgement(row.verdict), reasons)


def component_rows(job: JobView) -> list[ComponentRow]:
    """Return the rows of the components of a job; none if it was never placed."""
    return [
        ComponentRow(
            job=job.id,
            component=number,
            cluster=part.cluster,
            processors=part.processors,
            allocation=part.allocation,
            placed_s=job.placed_s,
            claimed_s=part.claimed_s,
            released_s=job.released_s,
        )
        for number, part in enumerate(job.components)
    ]


def _timeline(job: JobView) -> Timeline:
    return Timeline(job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s)
