"""Recorded runs with other manifests and other times of jobs, for tests of the claims that they decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emulator.runs.timelines import Timelines
from emulator.studies.campaign_claims import decided_claims
from emulator.studies.claims import Decision


def like(run: Timelines, *, jobs: Any = None, workload: dict[str, Any] | None = None, **manifest: Any) -> Timelines:
    """The same run with other entries in its manifest, and with jobs changed by a function."""
    stated = dict(manifest) if workload is None else {**manifest, "workload": workload}
    records = replace(run.records, manifest=run.records.manifest.model_copy(update=stated))
    changed = [job if jobs is None else job.model_copy(update=jobs(job)) for job in run.records.jobs]
    return replace(run, records=replace(records, jobs=changed), jobs=changed)


def waits(factor: float) -> Any:
    """A change of jobs: their wait and response times are `factor` times as long."""
    return lambda job: {"wait_time_s": factor * job.wait_time_s, "response_time_s": factor * job.response_time_s}


def parts(runs: list[Timelines], claim: str) -> dict[str, Decision]:
    (decided,) = (decided for decided in decided_claims(runs) if decided.claim.id == claim)
    return {decision.says: decision for decision in decided.decisions}
