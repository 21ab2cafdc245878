"""Runs as a trace of co-allocated jobs: one table of all their jobs, and tables of the components and of the runs.

Public logs of jobs do not record co-allocation: which clusters a job asked for, which it got, and when each component
was placed and claimed. The tables have the column ``run`` in common. Times are emulated seconds since the start of the
run, divided by its time scale. `data_package` describes the tables for other programs.
"""

from __future__ import annotations

import csv
import io
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from emulator.model.interconnects import Interconnects
from emulator.model.job import JobState
from emulator.model.records import ComponentRow, JobRow
from emulator.model.rows import Names, Row, Sizes
from emulator.reports.exports.jobs_in_order import jobs_in_order
from emulator.reports.exports.placed_parts import placed_parts
from emulator.runs.equal_jobs import but_for_its_length, is_as_coallocated
from emulator.runs.run_directory import RunRecords

Problem = tuple[str, str, int]
"""An application, its arguments without the length, and a number of processors."""


class TraceRun(Row):
    """A run of the trace: the system, the scheduler and the background load that its jobs met, and its verdict."""

    run: str = Field(description="name of the run")
    kind: str = Field(description="campaign: jobs ran under real local schedulers; simulation: they were simulated")
    verdict: str = Field(description="fidelity of the run as a whole: valid, suspect or void")
    workload: str = Field(description="name of the workload")
    seed: int = Field(description="seed of the workload and of the policy")
    jobs: int = Field(description="number of jobs")
    topology: str = Field(description="name of the multicluster")
    clusters: Names = Field(description="names of its clusters, joined by +")
    processors: Sizes = Field(description="processors of each cluster, joined by +")
    policy: str = Field(description="placement policy: worst fit (wf), cluster minimization (cm), ...")
    queue: str = Field(description="discipline of the queue or queues")
    time_scale: float = Field(description="number by which execution times, arrivals and middleware were divided")
    dilation: float = Field(description="host seconds per emulated second")
    band_low: float | None = Field(None, description="least share of the processors for local and dummy jobs")
    band_high: float | None = Field(None, description="largest such share")
    share_in_band: float | None = Field(None, description="share of the time in which it was kept")


class TraceJob(Row):
    """A job of the trace: its request, its placement, every timestamp and time, its extension factor and verdict."""

    run: str = Field(description="run to which it belongs")
    job: int = Field(description="number in the run")
    application: str = Field(description="name of the application")
    arguments: str = Field("", description="its arguments as JSON")
    request: str = Field(description="fixed, unordered, non-fixed, flexible or total: what is left to the policy")
    processors: int = Field(description="processors asked for, in all")
    components: Sizes = Field(description="components asked for: their processors, joined by +")
    requested_clusters: Names = Field((), description="clusters asked for, one for each component, joined by +")
    file: str = Field("", description="input file")
    estimate_s: float | None = Field(None, description="user's estimate of the execution time")
    state: str = Field(description="finished, failed or cancelled")
    placement_tries: int = Field(0, description="times that the policy tried to place it")
    claiming_tries: int = Field(0, description="times that its processors were claimed")
    placed_components: Sizes = Field((), description="components as placed: their processors, joined by +")
    placed_clusters: Names = Field((), description="cluster of each placed component, joined by +")
    clusters: int | None = Field(None, description="number of different clusters on which it executed")
    submitted_s: float = Field(description="time of its submission")
    placed_s: float | None = Field(None, description="time of its placement")
    claimed_s: float | None = Field(None, description="time at which all its processors were claimed")
    started_s: float | None = Field(None, description="time of its start")
    finished_s: float | None = Field(None, description="time of its end")
    released_s: float | None = Field(None, description="time at which its processors were idle again")
    queue_time_s: float | None = Field(None, description="submission to placement")
    overhead_s: float | None = Field(None, description="placement to start")
    processor_gained_time_s: float | None = Field(None, description="placement to claim")
    processor_wasted_time_s: float | None = Field(None, description="claim to start")
    wait_time_s: float | None = Field(None, description="submission to start")
    execution_time_s: float | None = Field(None, description="start to end")
    response_time_s: float | None = Field(None, description="submission to end")
    iterations: int | None = Field(None, description="iterations that the application made")
    runtime_s: float | None = Field(None, description="first to last iteration, a part of the execution time")
    extension_factor: float | None = Field(
        None,
        description="of a job over several clusters: its time of an iteration over the mean one of the jobs of this "
        "run that differ at most in length and executed in one cluster over its own interconnect",
    )
    interconnects: str = Field("", description="networks that carried its messages, joined by +")
    verdict: str = Field(description="fidelity of the job: valid, suspect or void")
    verdict_reasons: str = Field("", description="what disturbed it")


class TraceComponent(Row):
    """A placed component of a job of the trace."""

    run: str = Field(description="run to which its job belongs")
    job: int = Field(description="number of its job in the run")
    component: int = Field(description="number of the component, from 0")
    cluster: str = Field(description="cluster in which it was placed")
    processors: int = Field(description="processors that it held")
    placed_s: float | None = Field(None, description="time of its placement")
    claimed_s: float | None = Field(None, description="time at which its processors were claimed")
    released_s: float | None = Field(None, description="time at which they were idle again")


@dataclass(frozen=True, slots=True)
class Trace:
    """The tables of a trace."""

    runs: tuple[TraceRun, ...]
    jobs: tuple[TraceJob, ...]
    components: tuple[TraceComponent, ...]


def coallocation_trace(runs: Sequence[RunRecords]) -> Trace:
    """Return the trace of `runs`, each under the name of its directory, jobs in order of submission.

    Raises:
        InvalidInput: if one of them has no jobs, or was resumed.
    """
    return Trace(
        tuple(_run(run) for run in runs),
        tuple(job for run in runs for job in _jobs(run)),
        tuple(component for run in runs for component in _components(run)),
    )


def _components(run: RunRecords) -> Iterator[TraceComponent]:
    """Yield the components of the run's jobs, without those of cells that were run again."""
    known = {job.job for job in run.jobs}
    return (_component(run, row) for row in run.components if row.job in known)


def csv_text(kind: type[Row], rows: Sequence[Row]) -> str:
    """Return rows of a `kind` as a table in CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kind.columns())
    writer.writerows(row.cells() for row in rows)
    return text.getvalue()


def _run(run: RunRecords) -> TraceRun:
    manifest = run.manifest
    topology = manifest.topology
    stated = manifest.workload.get("background") or {}
    low, high = stated.get("band") or (None, None)
    return TraceRun(
        run=_name(run),
        kind=manifest.kind.value,
        verdict=manifest.verdict,
        workload=manifest.name,
        seed=manifest.seed,
        jobs=manifest.jobs,
        topology=topology.name,
        clusters=tuple(topology.cluster_names),
        processors=tuple(cluster.processors for cluster in topology.clusters),
        policy=manifest.policy,
        queue=manifest.queue,
        time_scale=manifest.time_scale,
        dilation=manifest.dilation,
        band_low=low,
        band_high=high,
        share_in_band=(manifest.background or {}).get("share_in_band"),
    )


def _jobs(run: RunRecords) -> Iterator[TraceJob]:
    jobs = jobs_in_order(run)
    parts = placed_parts(jobs, run.components)
    single_s = _iterations_in_one_cluster_s(jobs, run.manifest.topology.interconnects)
    for job in jobs:
        placed = [part for part in parts[job.job] if part[0]]
        shared = {name: getattr(job, name) for name in TraceJob.columns() if name in JobRow.model_fields}
        yield TraceJob(
            run=_name(run),
            placed_clusters=tuple(cluster for cluster, _ in placed),
            placed_components=tuple(size for _, size in placed),
            extension_factor=_extension_factor(job, single_s),
            **shared,
        )


def _component(run: RunRecords, row: ComponentRow) -> TraceComponent:
    shared = {name: getattr(row, name) for name in TraceComponent.columns() if name in ComponentRow.model_fields}
    return TraceComponent(run=_name(run), **shared)


def _name(run: RunRecords) -> str:
    return run.path.resolve().name


def _iteration_of(job: JobRow) -> tuple[Problem, float] | None:
    """Return the problem that a job solved, and its time of an iteration; None if it did not finish."""
    if job.state != JobState.FINISHED or job.runtime_s is None:
        return None
    arguments, length = but_for_its_length(job)
    return (job.application, arguments, job.processors), job.runtime_s / length


def _iterations_in_one_cluster_s(jobs: Sequence[JobRow], interconnects: Interconnects) -> Mapping[Problem, float]:
    found: dict[Problem, list[float]] = defaultdict(list)
    for job in jobs:
        iteration = _iteration_of(job)
        if job.clusters == 1 and iteration is not None and not is_as_coallocated(job, interconnects):
            found[iteration[0]].append(iteration[1])
    return {problem: statistics.fmean(times_s) for problem, times_s in found.items()}


def _extension_factor(job: JobRow, single_s: Mapping[Problem, float]) -> float | None:
    iteration = _iteration_of(job)
    if iteration is None or job.clusters in (None, 1):
        return None
    problem, iteration_s = iteration
    return iteration_s / single_s[problem] if single_s.get(problem) else None
