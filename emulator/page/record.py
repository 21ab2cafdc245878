"""A run's directory as the page reads it: its jobs with all their timestamps, and what else changed when.

A job has the shape that the broker's API gives it, so that the page has one model of a job, with its verdict added. All
timestamps are emulated seconds of the run's clock.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from emulator.model.errors import InvalidInput
from emulator.model.evidence import HOST_PART, EvidenceRow
from emulator.model.page_views import PageSystem
from emulator.model.records import DECISIONS_FILE, BackgroundRow, ComponentRow, JobRow, LinkRow
from emulator.model.views import EventKind
from emulator.runs.job_rows import verdict_in
from emulator.runs.page_notes import check_note, page_reasons
from emulator.runs.run_directory import read_rows
from emulator.runs.timelines import Timelines, read_timelines

_RESULT: Final = ("iterations", "runtime_s", "iteration_s", "phases", "late_phases", "host_lateness_s", "host_cpu_s")
"""The columns of a job's row that its application reported."""

_EARLY: Final = tuple(f'"kind":"{kind.value}"' for kind in (EventKind.FAILED, EventKind.CANCELLED))
_KIND_WITHIN: Final = 80  # an event's text begins with its sequence, run and kind

_TIMES: Final = (
    "intended_arrival_s",
    "submitted_s",
    "placed_s",
    "estimated_transfer_s",
    "claim_due_s",
    "planned_start_s",
    "additional_claiming_s",
    "claimed_s",
    "started_s",
    "finished_s",
    "released_s",
    "overhead_late_s",
)


def page_record(path: Path) -> dict[str, Any]:
    """Return the run in `path` as the page reads it; of a run with several parts, the first.

    Raises:
        InvalidInput: if there is no run directory, or one of its files holds what it should not.
    """
    run = read_timelines(path)
    manifest = run.records.manifest
    return {
        "system": PageSystem.of(manifest.topology).model_dump(mode="json"),
        "run": _run(run),
        "jobs": _jobs(run.jobs, run.components, _early_ends(path / DECISIONS_FILE)),
        "background": _background(run.records.background),
        "links": [_link(row) for row in run.records.links],
        "checks": [check_note(check).model_dump(mode="json") for check in manifest.link_checks],
        "evidence": _evidence(read_rows(path, EvidenceRow)),
        "end_s": run.end_s,
    }


def _run(run: Timelines) -> dict[str, Any]:
    manifest = run.records.manifest
    return {
        "name": manifest.name,
        "kind": manifest.kind.value,
        "progress": manifest.progress.value,
        "policy": manifest.policy,
        "queue": manifest.queue,
        "dilation": manifest.dilation,
        "time_scale": manifest.time_scale,
        "seed": manifest.seed,
        "jobs": len(run.jobs) if run.parts > 1 else max(manifest.jobs, len(run.jobs)),
        "parts": run.parts,
        "began_at": manifest.host_began_at,
        "verdict": manifest.verdict,
        "reasons": _reasons(manifest.verdict_reasons),
        "band": run.band,
        "is_simulated": manifest.kind.value == "simulation",
    }


def _early_ends(events: Path) -> dict[int, float]:
    """Return when each job failed or was cancelled, by its number; its row says so only of one that was never placed.

    Raises:
        InvalidInput: if a line holds no event.
    """
    ends: dict[int, float] = {}
    if not events.is_file():
        return ends
    with events.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if any(kind in line[:_KIND_WITHIN] for kind in _EARLY) and line.endswith("\n"):
                try:
                    event = json.loads(line)
                    ends[event["job"]["id"]] = float(event["time_s"])
                except (ValueError, LookupError, TypeError) as error:
                    raise InvalidInput(f"{events}, line {number}: is no event of a job.") from error
    return ends


def _jobs(
    rows: Sequence[JobRow], components: Iterable[ComponentRow], early_ends: Mapping[int, float]
) -> list[dict[str, Any]]:
    parts: Mapping[int, list[ComponentRow]] = defaultdict(list)
    for component in components:
        parts[component.job].append(component)
    return [_job(row, parts.get(row.job, [])) | {"ended_s": early_ends.get(row.job, row.given_up_s)} for row in rows]


def _job(row: JobRow, components: Sequence[ComponentRow]) -> dict[str, Any]:
    verdict = verdict_in(row)
    return {
        "id": row.job,
        "specification": {
            "name": row.name,
            "application": row.application,
            "arguments": _arguments(row.arguments),
            "components": row.components,
            "request": row.request,
            "clusters": row.requested_clusters,
            "file": row.file or None,
        },
        "state": row.state,
        "reason": row.reason,
        "placement_tries": row.placement_tries,
        "claiming_tries": row.claiming_tries,
        "components": [
            {
                "cluster": part.cluster,
                "processors": part.processors,
                "allocation": part.allocation,
                "claimed_s": part.claimed_s,
            }
            for part in sorted(components, key=lambda part: part.component)
        ],
        **{name: getattr(row, name) for name in _TIMES},
        "exit_code": row.exit_code,
        "result": {name: value for name in _RESULT if (value := getattr(row, name)) is not None} or None,
        "verdict": verdict.judgement.value,
        "reasons": _reasons(verdict.reasons),
    }


def _arguments(text: str) -> dict[str, Any]:
    """Return a job's arguments, which its row holds as JSON; those of a row that does not are left out."""
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _background(rows: Iterable[BackgroundRow]) -> list[list[Any]]:
    return [[row.time_s, row.cluster, row.dummy_processors, row.local_processors] for row in rows]


def _link(row: LinkRow) -> dict[str, Any]:
    return row.model_dump(mode="json", exclude_none=True)


def _evidence(rows: Iterable[EvidenceRow]) -> list[list[float | None]]:
    """Return per sample of the host its timestamp and the share of the time in which a task waited for a processor."""
    return [
        [row.time_s, None if row.host_cpu_wait_s is None else row.host_cpu_wait_s / row.host_interval_s]
        for row in rows
        if row.part == HOST_PART and row.host_interval_s > 0
    ]


def _reasons(sentences: tuple[str, ...]) -> list[dict[str, Any]]:
    return [reason.model_dump() for reason in page_reasons(sentences)]
