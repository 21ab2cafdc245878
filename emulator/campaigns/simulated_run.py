"""A simulation as a run's directory, with the same files as a live run, so that reports and comparisons take both.

In the simulator a job holds its processors from its placement on: it is claimed when it is placed, and its PGT is 0.
There are no claiming tries, and nothing is said of the host, on which no result depends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from emulator.model.job import JobState
from emulator.model.records import ComponentRow, JobRow, Manifest, RunKind, RunProgress, UtilizationRow
from emulator.model.stream import StreamJob
from emulator.model.topology import Topology
from emulator.policies.registry import default_policy, placement_policy
from emulator.policies.request_kinds import as_taken
from emulator.runs.run_directory import RunDirectory
from emulator.runs.steps import steps
from emulator.runs.surroundings import host_now, versions
from emulator.simulator.engine import FinishedJob

VALID = "valid"
"""The verdict on a simulated run: no measurement of a host or a link can speak against it."""

UNNAMED = "unnamed"
"""The application of jobs whose source names none."""


def write_simulated_run(
    path: Path,
    *,
    name: str,
    topology: Topology,
    policy: str | None,
    queue: str,
    seed: int,
    workload: Mapping[str, Any],
    jobs: Sequence[StreamJob],
    finished: Sequence[FinishedJob],
) -> None:
    """Write the run directory of a simulation of `jobs`, of which `finished` ended; the others were given up.

    Raises:
        InvalidInput: if `path` is taken.
    """
    used = policy or default_policy(queue)
    manifest = Manifest(
        kind=RunKind.SIMULATION, name=name, progress=RunProgress.COMPLETE, verdict=VALID, topology=topology,
        workload=dict(workload), jobs=len(jobs), policy=used, queue=queue, seed=seed, dilation=1.0,
        paced_middleware=True, time_scale=float(workload.get("time_scale", 1.0)), host_began_at=host_now(),
        host_ended_at=host_now(), host={}, versions=versions(),
    )  # fmt: skip
    ends = {job.id: job for job in finished}
    with RunDirectory(path, manifest) as directory:
        for job in jobs:
            directory.append(_job_row(job, ends.get(job.id), name, used, topology))
        for end in finished:
            for row in _component_rows(end, topology):
                directory.append(row)
        for change in _usage(finished, topology):
            directory.append(change)


def _job_row(job: StreamJob, end: FinishedJob | None, campaign: str, policy: str, topology: Topology) -> JobRow:
    request = as_taken(job.request, placement_policy(policy))
    times: dict[str, Any] = {"state": JobState.FAILED.value, "reason": "given up by the queue, or still waiting"}
    if end is not None:
        clusters = tuple(_name(topology, cluster) for cluster in end.clusters)
        times = {
            "state": JobState.FINISHED.value, "placement_tries": end.tries, "execution_clusters": clusters,
            "clusters": len(set(clusters)), "placed_s": end.placed_s, "claimed_s": end.placed_s,
            "started_s": end.start_s, "finished_s": end.finish_s, "released_s": end.finish_s,
            "queue_time_s": end.placed_s - end.arrival_s, "overhead_s": end.start_s - end.placed_s,
            "processor_gained_time_s": 0.0, "processor_wasted_time_s": end.start_s - end.placed_s,
            "wait_time_s": end.start_s - end.arrival_s, "execution_time_s": end.finish_s - end.start_s,
            "response_time_s": end.finish_s - end.arrival_s,
        }  # fmt: skip
    return JobRow(
        job=job.id, name=f"{campaign}-{job.id}", application=job.application or UNNAMED, request=request.kind.value,
        components=request.components, file=request.file or "", processors=request.processors,
        intended_arrival_s=job.arrival_s, submitted_s=job.arrival_s, verdict=VALID, **times,
    )  # fmt: skip


def _component_rows(end: FinishedJob, topology: Topology) -> list[ComponentRow]:
    return [
        ComponentRow(
            job=end.id, component=number, cluster=_name(topology, cluster), processors=processors,
            placed_s=end.placed_s, claimed_s=end.placed_s, released_s=end.finish_s,
        )
        for number, (processors, cluster) in enumerate(zip(end.components, end.clusters, strict=True))
    ]  # fmt: skip


def _usage(finished: Sequence[FinishedJob], topology: Topology) -> Iterable[UtilizationRow]:
    """Return the use of each cluster whenever it changes, at first that of an empty system."""
    for number, cluster in enumerate(topology.clusters):
        here = [(end, size) for end in finished for size, at in zip(end.components, end.clusters, strict=True)
                if at == number]  # fmt: skip
        use = steps(
            {
                "claimed": [(0.0, 0), *_held([(end.placed_s, end.finish_s, size) for end, size in here])],
                "executing": _held([(end.start_s, end.finish_s, size) for end, size in here]),
            }
        )
        for time_s, claimed, executing in zip(use.times_s, use.values["claimed"], use.values["executing"], strict=True):
            yield UtilizationRow(
                time_s=time_s, cluster=cluster.name, processors=cluster.processors, claimed_processors=int(claimed),
                executing_processors=int(executing),
            )  # fmt: skip


def _held(periods: Iterable[tuple[float, float, int]]) -> list[tuple[float, int]]:
    return [change for begin_s, end_s, size in periods for change in ((begin_s, size), (end_s, -size))]


def _name(topology: Topology, cluster: int) -> str:
    return topology.clusters[cluster].name
