"""What iterations took in a recorded run: its jobs as the model of an iteration takes them, equal ones together."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from apps.descriptor import Arguments
from apps.registry import application_named
from emulator.fidelity.iteration.predicted import ModelJob, Part
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput
from emulator.model.held_nodes import ranks
from emulator.model.interconnects import WIDE_AREA, Interconnects, WhichInterconnect
from emulator.model.job import PLAIN, JobState
from emulator.model.placement import Component, Placement
from emulator.model.records import ComponentRow, JobRow
from emulator.model.request import JobRequest, RequestKind
from emulator.model.topology import Topology
from emulator.runs.matrix import SYNCHRONIZED
from emulator.runs.run_directory import RunRecords, attempts, counted_jobs, read_rows

_Kind = tuple[str, str, tuple[Part, ...], str]
"""What the jobs of a kind have in common: application, problem, parts and interconnects."""


@dataclass(frozen=True, slots=True)
class MeasuredIterations:
    """The finished jobs of a run that differ in their lengths and names only; `job` is what they have in common.

    The model takes a node's processors to be used as the topology says: a job that asked for fewer processors of each
    node counts as if it had not.
    """

    job: ModelJob
    rows: tuple[JobRow, ...]

    @property
    def iteration_s(self) -> float:
        """The mean iteration, in emulated seconds: a runtime divided by its iterations."""
        return mean(row.iteration_s for row in self.rows if row.iteration_s is not None)

    @property
    def judgement(self) -> Judgement:
        """The worst of the jobs' verdicts."""
        return max((Judgement(row.verdict) for row in self.rows), key=lambda judgement: judgement.severity)


def measured_iterations(run: RunRecords) -> tuple[MeasuredIterations, ...]:
    """Return the jobs of a live run whose iterations were measured, in the order in which each kind first ended.

    Synchronized jobs are left out: the model has no barrier.

    Raises:
        InvalidInput: if no finished job recorded the time of its iterations, as in every simulated run.
    """
    found: dict[_Kind, list[JobRow]] = defaultdict(list)
    for folder in attempts(run.path):
        for row, parts in _placed_jobs(folder, run.manifest.topology):
            is_measured = row.state == JobState.FINISHED and row.application != PLAIN and row.iteration_s
            if is_measured and not _arguments(row).get(SYNCHRONIZED):
                found[row.application, _problem(row), parts, row.interconnects].append(row)
    if not found:
        raise InvalidInput(f"{run.path}: no finished job recorded what an iteration took; name a live run of MPI jobs.")
    return tuple(MeasuredIterations(_job(run, rows[0], parts), tuple(rows)) for (_, _, parts, _), rows in found.items())


def _problem(row: JobRow) -> str:
    """Return what equal jobs have in common of their arguments: all of them except the length of the run."""
    length = application_named(row.application).length
    return json.dumps({name: value for name, value in _arguments(row).items() if name != length}, sort_keys=True)


def _placed_jobs(folder: Path, topology: Topology) -> list[tuple[JobRow, tuple[Part, ...]]]:
    """Return the jobs in one folder of a run, with how many processes of each ran in which clusters.

    A job of which that is unknown is left out. Numbers of jobs are those of one folder: a testbed that was brought up
    anew in between counts from 1 again.
    """
    held: dict[int, list[Part]] = defaultdict(list)
    for component in sorted(read_rows(folder, ComponentRow), key=lambda row: (row.job, row.component)):
        held[component.job].append((component.cluster, component.processors))
    found: list[tuple[JobRow, tuple[Part, ...]]] = []
    for row in counted_jobs(folder):
        # Of a flexible job the record keeps neither the splits nor the least size that it asked for.
        with suppress(InvalidInput):
            if row.job in held:
                found.append((row, _as_run(held[row.job], row, topology)))
    return found


def _as_run(held: Sequence[Part], row: JobRow, topology: Topology) -> tuple[Part, ...]:
    """Return the processes of a job in each component, of which the record says what it held.

    Raises:
        InvalidInput: if that is not what the job asked for, in whole nodes.
    """
    is_flexible = row.request == RequestKind.FLEXIBLE
    kind = RequestKind.FLEXIBLE if is_flexible else RequestKind.NON_FIXED
    request = JobRequest(kind, (row.processors,) if is_flexible else row.components)
    placement = Placement(tuple(Component(topology.index(cluster), size) for cluster, size in held))
    sizes = ranks(request, placement, topology.processors_taken_together)
    return tuple((cluster, size) for (cluster, _), size in zip(held, sizes, strict=True))


def _job(run: RunRecords, row: JobRow, parts: tuple[Part, ...]) -> ModelJob:
    manifest, arguments = run.manifest, _arguments(row)
    grid = arguments.get("grid", 0)
    clusters = len({cluster for cluster, _ in parts})
    return ModelJob(
        row.application, grid if isinstance(grid, int) else 0, parts,
        _which(manifest.topology.interconnects, clusters, row.interconnects),
        arguments=arguments, processor_speed=float(manifest.workload.get("processor_speed", 1.0)),
    )  # fmt: skip


def _arguments(row: JobRow) -> Arguments:
    found: Arguments = json.loads(row.arguments or "{}")
    return found


def _which(interconnects: Interconnects, clusters: int, recorded: str) -> WhichInterconnect | None:
    """Return which interconnect carried a job's messages inside clusters, if it was not the usual one."""
    names = [name for name in recorded.split("+") if name != WIDE_AREA]
    for which in WhichInterconnect:
        stated = interconnects.of(clusters, which)
        if stated is not None and stated != interconnects.of(clusters) and stated.name in names:
            return which
    return None
