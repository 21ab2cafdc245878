"""What the jobs of a recorded run took for an iteration, beside what the model predicts for the same jobs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from emulator.fidelity.iteration.once import PassedOnce
from emulator.fidelity.iteration.predicted import ModelJob, predicted
from emulator.fidelity.judgement import Judgement
from emulator.model.topology import Topology
from emulator.runs.measured_iterations import MeasuredIterations, measured_iterations
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


def beside_model(run: RunRecords, topology: Topology | None = None) -> tuple[BesideModel, ...]:
    """Return the finished jobs of a live run beside the model, in the order in which each kind first ended.

    The model predicts them on `topology`, by default on the one that the run used.

    Raises:
        InvalidInput: if no finished job of the run recorded the time of its iterations, as in every simulated run.
        UnknownName: if `topology` lacks a cluster of the run.
    """
    chosen = run.manifest.topology if topology is None else topology
    return tuple(_beside(chosen, measured) for measured in measured_iterations(run))


def _beside(topology: Topology, measured: MeasuredIterations) -> BesideModel:
    job = measured.job
    found = predicted(topology, job)
    once = PassedOnce(topology, job)
    return BesideModel(
        job,
        measured.iteration_s,
        found.iteration_s + mean(once.takes_s(row.iterations or 1) / (row.iterations or 1) for row in measured.rows),
        len(measured.rows),
        measured.judgement,
    )
