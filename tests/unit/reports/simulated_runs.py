"""Run directories for tests of reports, with what the simulator did with a campaign: small, and the same every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emulator.campaigns.simulated import SimulationOptions, prepared
from emulator.model.records import ComponentRow, JobRow, LinkRow, Manifest, RunKind, RunProgress, UtilizationRow
from emulator.runs.run_directory import RunDirectory
from emulator.runs.steps import steps
from emulator.simulator.engine import FinishedJob
from emulator.simulator.simulation import simulate

CLAIM_DELAY_S = 0.5
"""How long after its placement a job's processors are claimed in these records."""


def simulated_run(
    path: Path,
    campaign: str = "W1",
    *,
    policy: str = "wf",
    jobs: int = 30,
    seed: int = 1,
    factor: float = 1.0,
    workload: dict[str, Any] | None = None,
    manifest: dict[str, Any] | None = None,
    job: dict[str, Any] | None = None,
) -> Path:
    """Simulate a campaign and write what it did to a run directory; `manifest` and `job` are changes to its records."""
    options = SimulationOptions(policy=policy, jobs=jobs, seed=seed)
    subject = prepared(campaign, options)
    result = simulate(
        subject.jobs, clusters=subject.topology, queue=subject.queue, policy=subject.policy, runtime=factor, seed=seed,
        keep_jobs=True, scanning=subject.scanning, middleware=subject.middleware, surroundings=subject.surroundings,
    )  # fmt: skip
    names = [cluster.name for cluster in subject.topology.clusters]
    header = Manifest.model_validate(
        {
            "kind": RunKind.CAMPAIGN, "name": subject.name, "progress": RunProgress.COMPLETE, "verdict": "valid",
            "topology": subject.topology, "workload": workload or {}, "jobs": len(result.finished),
            "policy": subject.policy, "queue": subject.queue, "seed": seed, "dilation": 1.0, "paced_middleware": True,
            "host_began_at": "", "host": {}, "versions": {}, **(manifest or {}),
        }
    )  # fmt: skip
    with RunDirectory(path, header) as directory:
        for finished in result.finished:
            directory.append(_job_row(finished, subject.name, names, job or {}))
            for row in _component_rows(finished, names):
                directory.append(row)
        for cluster in subject.topology.clusters:
            for change in _usage(result.finished, names.index(cluster.name), cluster.name, cluster.processors):
                directory.append(change)
        directory.append(
            LinkRow(moment="before", dilation=1, source=names[0], target=names[1], quantity="delay", asked_s=0.002,
                    measured_s=0.0021, within=True)
        )  # fmt: skip
        directory.append(
            LinkRow(moment="after", dilation=1, source=names[0], target=names[1], quantity="rate", asked_mbit=100,
                    measured_mbit=80, within=False)
        )  # fmt: skip
    return path


def _job_row(job: FinishedJob, campaign: str, clusters: list[str], changes: dict[str, Any]) -> JobRow:
    places = tuple(clusters[cluster] for cluster in job.clusters)
    claimed_s = min(job.placed_s + CLAIM_DELAY_S, job.start_s)
    return JobRow.model_validate(
        {
            "job": job.id, "name": f"{campaign}-{job.id}", "application": job.application, "arguments": "{}",
            "request": "non-fixed", "components": job.components, "processors": sum(job.components),
            "state": "finished", "placement_tries": job.tries, "claiming_tries": 1, "execution_clusters": places,
            "clusters": len(set(places)), "intended_arrival_s": job.arrival_s, "submitted_s": job.arrival_s,
            "placed_s": job.placed_s, "estimated_transfer_s": 0.0, "additional_claiming_s": 0.0,
            "claimed_s": claimed_s, "started_s": job.start_s, "finished_s": job.finish_s,
            "released_s": job.finish_s, "queue_time_s": job.placed_s - job.arrival_s,
            "overhead_s": job.start_s - job.placed_s, "processor_gained_time_s": claimed_s - job.placed_s,
            "processor_wasted_time_s": job.start_s - claimed_s, "wait_time_s": job.start_s - job.arrival_s,
            "execution_time_s": job.finish_s - job.start_s, "response_time_s": job.finish_s - job.arrival_s,
            "runtime_s": job.finish_s - job.start_s, "verdict": "valid", **changes,
        }
    )  # fmt: skip


def _component_rows(job: FinishedJob, clusters: list[str]) -> list[ComponentRow]:
    return [
        ComponentRow(
            job=job.id, component=number, cluster=clusters[cluster], processors=size, placed_s=job.placed_s,
            claimed_s=min(job.placed_s + CLAIM_DELAY_S, job.start_s), released_s=job.finish_s,
        )
        for number, (size, cluster) in enumerate(zip(job.components, job.clusters, strict=True))
    ]  # fmt: skip


def _usage(jobs: tuple[FinishedJob, ...], cluster: int, name: str, processors: int) -> list[UtilizationRow]:
    held = [
        (job.start_s, job.finish_s, size)
        for job in jobs
        for size, at in zip(job.components, job.clusters, strict=True)
        if at == cluster
    ]
    use = steps({"use": [(0.0, 0), *((t, by) for start, end, n in held for t, by in ((start, n), (end, -n)))]})
    return [
        UtilizationRow(time_s=time_s, cluster=name, processors=processors, claimed_processors=int(value),
                       executing_processors=int(value))
        for time_s, value in zip(use.times_s, use.values["use"], strict=True)
    ]  # fmt: skip
