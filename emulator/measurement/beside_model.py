"""What the jobs of a recorded run took for an iteration, beside what the model predicts for the same jobs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from apps.descriptor import Arguments
from emulator.fidelity.iteration.once import passed_on_once_s
from emulator.fidelity.iteration.predicted import ModelJob, Part, predicted
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput
from emulator.model.interconnects import WIDE_AREA, Interconnects, WhichInterconnect
from emulator.model.job import PLAIN, JobState
from emulator.model.records import ComponentRow, JobRow
from emulator.runs.run_directory import RunRecords


@dataclass(frozen=True, slots=True)
class BesideModel:
    """Jobs of a run that the model takes for the same one: their mean iteration, and the predicted one.

    Both are shares of the runtime: what a job passes on once, before the first iteration and after the last, is in it.
    `judgement` is the worst of the jobs'. Times are in emulated seconds.
    """

    job: ModelJob
    iteration_s: float
    predicted_s: float
    jobs: int
    judgement: Judgement

    @property
    def error(self) -> float:
        """How much longer the model's iteration is than the measured one, as a share of the measured one."""
        return self.predicted_s / self.iteration_s - 1.0


def beside_model(run: RunRecords) -> tuple[BesideModel, ...]:
    """Return the finished jobs of a live run beside the model, in the order in which each kind first ended.

    The model takes a node's processors to be used as the topology says: a job that asked for fewer processors of each
    node is predicted as if it had not.

    Raises:
        InvalidInput: if no finished job of the run recorded the time of its iterations, as in every simulated run.
    """
    found = _alike(run)
    if not found:
        raise InvalidInput(f"{run.path}: no finished job recorded what an iteration took; name a live run of MPI jobs.")
    return tuple(_beside(run, jobs) for jobs in found)


def _alike(run: RunRecords) -> list[list[JobRow]]:
    """Return the jobs with measured iterations, those together that differ in their lengths and names only."""
    parts = _parts(run.components)
    found: dict[tuple[object, ...], list[JobRow]] = defaultdict(list)
    for row in run.jobs:
        measured = row.state == JobState.FINISHED and row.application != PLAIN and row.iteration_s
        if not measured or row.job not in parts:
            continue
        key = (row.application, _arguments(row).get("grid"), parts[row.job], row.interconnects)
        found[key].append(row)
    return list(found.values())


def _parts(components: Sequence[ComponentRow]) -> dict[int, tuple[Part, ...]]:
    found: dict[int, list[ComponentRow]] = defaultdict(list)
    for row in components:
        found[row.job].append(row)
    return {
        job: tuple((row.cluster, row.processors) for row in sorted(rows, key=lambda row: row.component))
        for job, rows in found.items()
    }


def _beside(run: RunRecords, jobs: Sequence[JobRow]) -> BesideModel:
    """Compare jobs that are alike."""
    first, manifest = jobs[0], run.manifest
    arguments = _arguments(first)
    grid = arguments.get("grid", 0)
    parts = _parts([row for row in run.components if row.job == first.job])[first.job]
    clusters = len({cluster for cluster, _ in parts})
    job = ModelJob(
        first.application, grid if isinstance(grid, int) else 0, parts,
        _which(manifest.topology.interconnects, clusters, first.interconnects),
        arguments=arguments, processor_speed=float(manifest.workload.get("processor_speed", 1.0)),
    )  # fmt: skip
    iteration_s, once_s = predicted(manifest.topology, job).iteration_s, passed_on_once_s(manifest.topology, job)
    return BesideModel(
        job,
        mean(row.iteration_s for row in jobs if row.iteration_s is not None),
        iteration_s + mean(once_s / (row.iterations or 1) for row in jobs),
        len(jobs),
        max((Judgement(row.verdict) for row in jobs), key=lambda judgement: judgement.severity),
    )


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
