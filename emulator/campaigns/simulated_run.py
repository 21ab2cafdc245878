"""A simulation as a run's directory, with the same files as a live run, so that reports and comparisons take both.

A job without a file claims its processors when it is placed, so its PGT is 0. Nothing is said of the host, on which no
result depends. The verdict follows the rule of live runs: a background load outside its band, or jobs that never ran,
speak against a simulation, too.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from emulator.fidelity.background import BackgroundMeasures
from emulator.fidelity.measures import RunMeasures
from emulator.fidelity.verdict import Verdict, judge_run, judge_unfinished
from emulator.model.job import LIMIT_REACHED, JobSpecification, JobState
from emulator.model.records import (
    BackgroundRow,
    ComponentRow,
    JobRow,
    Manifest,
    RunKind,
    RunProgress,
    UtilizationRow,
)
from emulator.model.request import JobRequest
from emulator.model.rows import Row
from emulator.model.stream import StreamJob
from emulator.model.topology import Topology
from emulator.policies.registry import default_policy, placement_policy, places_singles_at_home
from emulator.policies.request_kinds import as_taken
from emulator.runs.run_directory import RunDirectory
from emulator.runs.steps import Change, steps
from emulator.runs.surroundings import host_now, versions
from emulator.simulator.background import BackgroundChange
from emulator.simulator.parallel_simulations import OUTCOMES_VERSION
from emulator.simulator.simulated_job import FinishedJob, GivenUpJob
from emulator.simulator.simulation import SimulationResult

UNNAMED: Final = "unnamed"
"""The application of jobs whose source names none."""

OUTCOMES: Final = "outcomes"
"""Stands among the versions in a record before that of all outcomes of simulations."""


class NamedJob(NamedTuple):
    """The parts of a job's record that the simulator does not need: its name, and its arguments as JSON."""

    name: str
    arguments: str = ""

    @classmethod
    def of(cls, specification: JobSpecification) -> NamedJob:
        """Return these parts of a job as it was submitted."""
        return cls(specification.name, json.dumps(specification.arguments))


class Ends(Protocol):
    """What came of a simulation's jobs and background load: a `SimulationResult` that kept its jobs, for instance."""

    @property
    def finished(self) -> Sequence[FinishedJob]:
        """The jobs that finished, and those that were ended at the run-time limit."""
        ...

    @property
    def given_up(self) -> Sequence[GivenUpJob]:
        """The jobs that were given up."""
        ...

    @property
    def background(self) -> BackgroundMeasures | None:
        """How a background load kept to its band; None without one."""
        ...

    @property
    def background_changes(self) -> Sequence[BackgroundChange]:
        """How it changed."""
        ...


@dataclass(frozen=True)
class SimulatedRun:
    """A simulation that is to be recorded: what was simulated, and the result.

    `workload` is what the manifest says of the workload, `provenance` what it says of the simulation itself. `rows` are
    further rows of the directory. Jobs without an entry in `named` are called after the run and their number.
    """

    name: str
    topology: Topology
    policy: str | None
    queue: str
    seed: int
    jobs: Sequence[StreamJob]
    result: Ends
    workload: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    named: Mapping[int, NamedJob] = field(default_factory=dict)
    rows: Sequence[Row] = ()

    @property
    def used_policy(self) -> str:
        """The name of the placement policy."""
        return self.policy or default_policy(self.queue)


def judged(jobs: int, result: SimulationResult) -> Verdict:
    """Judge a simulation of a number of `jobs` by the rule of live runs; there are no measurements to judge."""
    return _judged(jobs, result.statistics.jobs_finished, result.background)


def _judged(jobs: int, finished: int, background: BackgroundMeasures | None) -> Verdict:
    measures = RunMeasures(jobs_expected=jobs, jobs_failed=jobs - finished, jobs_cancelled=0, background=background)
    return judge_run(measures, [Verdict()] * finished)


def write_simulated_run(path: Path, run: SimulatedRun) -> None:
    """Write the run directory of a simulation.

    Raises:
        InvalidInput: if `path` is taken.
    """
    background = run.result.background
    verdict = _judged(len(run.jobs), sum(not end.reached_limit for end in run.result.finished), background)
    sources = run.workload.get("sources") or None
    policy = placement_policy(run.used_policy, sources)
    singles_stay = places_singles_at_home(run.queue, sources)
    manifest = Manifest(
        kind=RunKind.SIMULATION, name=run.name, progress=RunProgress.RUNNING, verdict=verdict.judgement,
        verdict_reasons=verdict.reasons, topology=run.topology, workload=dict(run.workload), jobs=len(run.jobs),
        policy=run.used_policy, queue=run.queue, seed=run.seed, dilation=1.0, paced_middleware=True,
        time_scale=float(run.workload.get("time_scale", 1.0)),
        background=None if background is None else background.record(),
        simulated=dict(run.provenance) or None, host_began_at=host_now(), host_ended_at=host_now(), host={},
        versions=versions() | {OUTCOMES: str(OUTCOMES_VERSION)},
    )  # fmt: skip
    ends: dict[int, FinishedJob | GivenUpJob] = {job.id: job for job in run.result.finished}
    ends |= {job.id: job for job in run.result.given_up}
    with RunDirectory(path, manifest) as directory:
        for job in run.jobs:
            request = as_taken(job.request, policy, singles_stay=singles_stay)
            directory.append(_job_row(job, request, ends[job.id], run))
        for row in _all_rows(run):
            directory.append(row)
        directory.update_manifest({"progress": RunProgress.COMPLETE})


def _all_rows(run: SimulatedRun) -> Iterator[Row]:
    for end in run.result.finished:
        yield from _component_rows(end, run.topology)
    for use in sorted(_uses(run), key=_timestamp_s):
        yield _utilization_row(use, run.topology)
        if use.dummy is not None and use.local is not None:
            yield BackgroundRow(
                time_s=use.time_s, cluster=_name(run.topology, use.cluster),
                processors=run.topology.clusters[use.cluster].processors, dummy_processors=use.dummy,
                local_processors=use.local, grid_processors=use.claimed,
            )  # fmt: skip
    yield from run.rows


def _job_row(job: StreamJob, request: JobRequest, end: FinishedJob | GivenUpJob, run: SimulatedRun) -> JobRow:
    named = run.named.get(job.id) or NamedJob(f"{run.name}-{job.id}")
    if isinstance(end, GivenUpJob):
        found = _given_up(end)
        verdict = judge_unfinished(JobState.FAILED, found["reason"])
    elif end.reached_limit:
        found = _times(end, run.topology) | _AT_LIMIT
        verdict = judge_unfinished(JobState.FAILED, found["reason"])
    else:
        found, verdict = _times(end, run.topology), Verdict()
    return JobRow(
        job=job.id, name=named.name, application=job.application or UNNAMED, arguments=named.arguments,
        request=request.kind.value, components=request.components,
        requested_clusters=tuple(_name(run.topology, cluster) for cluster in request.clusters),
        file=request.file or "", processors=request.processors,
        estimate_s=request.estimate_s, intended_arrival_s=job.arrival_s,
        submitted_s=job.arrival_s, verdict=verdict.judgement, verdict_reasons="; ".join(verdict.reasons), **found,
    )  # fmt: skip


def _times(end: FinishedJob, topology: Topology) -> dict[str, Any]:
    clusters = tuple(_name(topology, cluster) for cluster in end.clusters)
    return {
        "state": JobState.FINISHED.value, "placement_tries": end.tries, "execution_clusters": clusters,
        "clusters": len(set(clusters)), "placed_s": end.placed_s, "claimed_s": end.claimed_s,
        "claiming_tries": end.claiming_tries, "estimated_transfer_s": end.transfer_s, "claim_due_s": end.claimed_s,
        "planned_start_s": end.placed_s + end.transfer_s + end.additional_s, "additional_claiming_s": end.additional_s,
        "started_s": end.start_s, "finished_s": end.finish_s, "released_s": end.released_s,
        "queue_time_s": end.placed_s - end.arrival_s, "overhead_s": end.start_s - end.placed_s,
        "processor_gained_time_s": end.claimed_s - end.placed_s,
        "processor_wasted_time_s": end.start_s - end.claimed_s,
        "wait_time_s": end.start_s - end.arrival_s, "execution_time_s": end.finish_s - end.start_s,
        "response_time_s": end.finish_s - end.arrival_s,
    }  # fmt: skip


_AT_LIMIT: Final[dict[str, Any]] = {
    "state": JobState.FAILED.value, "reason": LIMIT_REACHED, "finished_s": None, "execution_time_s": None,
    "response_time_s": None,
}  # fmt: skip
"""What is different of a job that was ended at the run-time limit: as live, it has no end of its own."""


def _given_up(end: GivenUpJob) -> dict[str, Any]:
    """Return what is known of a job that the queue gave up, with the reason in the words of the broker."""
    return {
        "state": JobState.FAILED.value, "reason": f"Given up: {end.reason}.", "placement_tries": end.tries,
        "given_up_s": end.given_up_s,
    }  # fmt: skip


def _component_rows(end: FinishedJob, topology: Topology) -> list[ComponentRow]:
    return [
        ComponentRow(
            job=end.id, component=number, cluster=_name(topology, cluster), processors=processors,
            placed_s=end.placed_s, claimed_s=end.claimed_s, released_s=end.released_s,
        )
        for number, (processors, cluster) in enumerate(zip(end.components, end.clusters, strict=True))
    ]  # fmt: skip


class _Use(NamedTuple):
    """The processors of a cluster in each kind of use from `time_s` on; `dummy` and `local` without a load are None."""

    time_s: float
    cluster: int
    claimed: int
    executing: int
    gained: int
    dummy: int | None
    local: int | None


def _uses(run: SimulatedRun) -> Iterator[_Use]:
    """Return the use of each cluster whenever it changes, at first that of an empty system."""
    result = run.result
    stays: dict[int, list[tuple[FinishedJob, int]]] = defaultdict(list)
    for end in result.finished:
        for size, cluster in zip(end.components, end.clusters, strict=True):
            stays[cluster].append((end, size))
    background: dict[int, list[BackgroundChange]] = defaultdict(list)
    for change in result.background_changes:
        background[change.cluster].append(change)
    for cluster in range(len(run.topology.clusters)):
        of_load = {} if result.background is None else _background_changes(background[cluster])
        yield from _uses_of(cluster, stays[cluster], of_load)


def _uses_of(
    cluster: int, stays: Sequence[tuple[FinishedJob, int]], background: Mapping[str, Sequence[Change]]
) -> Iterator[_Use]:
    found = steps(
        {
            "claimed": [(0.0, 0), *_held([(end.claimed_s, end.released_s, size) for end, size in stays])],
            "gained": _held([(end.placed_s, end.claimed_s, size) for end, size in stays]),
            "executing": _held([(end.start_s, end.finish_s, size) for end, size in stays]),
            **background,
        }
    )
    none: list[None] = [None] * len(found.times_s)
    columns = [found.values.get(kind, none) for kind in ("claimed", "executing", "gained", "dummy", "local")]
    before: tuple[int | None, ...] = ()
    for time_s, *held in zip(found.times_s, *columns, strict=True):
        use = tuple(None if number is None else int(number) for number in held)
        if use != before:
            claimed, executing, gained, dummy, local = use
            yield _Use(time_s, cluster, claimed or 0, executing or 0, gained or 0, dummy, local)
        before = use


def _background_changes(changes: Sequence[BackgroundChange]) -> dict[str, list[Change]]:
    """Return by how much the processors of dummy and of local jobs change in a cluster."""
    found: dict[str, list[Change]] = {"dummy": [], "local": []}
    dummy = local = 0
    for change in changes:
        found["dummy"].append((change.time_s, change.dummy - dummy))
        found["local"].append((change.time_s, change.local - local))
        dummy, local = change.dummy, change.local
    return found


def _utilization_row(use: _Use, topology: Topology) -> UtilizationRow:
    cluster = topology.clusters[use.cluster]
    background = None if use.dummy is None or use.local is None else use.dummy + use.local
    return UtilizationRow(
        time_s=use.time_s, cluster=cluster.name, processors=cluster.processors, claimed_processors=use.claimed,
        executing_processors=use.executing, wasted_processors=use.claimed - use.executing,
        gained_processors=use.gained,
        background_processors=background,
    )  # fmt: skip


def _timestamp_s(use: _Use) -> float:
    return use.time_s


def _held(periods: Iterable[tuple[float, float, int]]) -> list[Change]:
    return [change for begin_s, end_s, size in periods for change in ((begin_s, size), (end_s, -size))]


def _name(topology: Topology, cluster: int) -> str:
    return topology.clusters[cluster].name
