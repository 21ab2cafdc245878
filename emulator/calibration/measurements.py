"""The measurements of a calibration on a running testbed: the overhead of an iteration, and the speed of this host.

The same job runs several times in one cluster, at the dilation for which the profile is calibrated, because the host's
part of an iteration does not dilate. Nothing crosses the wide area, so it is neither programmed nor checked. Everything
else is recorded as in any measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveInt

from apps.registry import all_updates, largest_share
from emulator.fidelity.calibration import predicted_compute_s
from emulator.fidelity.verdict import Judgement, Verdict
from emulator.model.documents import DocumentModel, Name, validate
from emulator.model.errors import InvalidInput, RunFailed
from emulator.model.job import MAX_COMPONENT_PROCESSORS
from emulator.model.processor import REFERENCE_APPLICATION
from emulator.model.records import RunKind
from emulator.model.topology import Topology
from emulator.model.units import NANOSECONDS_PER_SECOND
from emulator.model.views import JobView, RunRequest
from emulator.runs.cell_runs import run_in_turn
from emulator.runs.extension_factors import judged, values
from emulator.runs.holding import Testbed, held
from emulator.runs.matrix import DEFAULT_DILATION, DEFAULT_REPEAT, Matrix, lay_out
from emulator.runs.progress import ReportProgress
from emulator.runs.recorded_run import begun_manifest, conclude, evidence_gathered, recorded
from emulator.runs.recording import EndedJob
from emulator.runs.run_directory import check_free

_ONE_CLUSTER = (1,)


class CalibrationTrial(DocumentModel):
    """The job of a calibration, with its repetitions and its dilation."""

    application: Name
    grid: PositiveInt
    processors: Annotated[PositiveInt, Field(le=MAX_COMPONENT_PROCESSORS)]
    iterations: PositiveInt | None = None
    repeat: PositiveInt = DEFAULT_REPEAT
    dilation: Annotated[float, Field(gt=0, le=10_000)] = DEFAULT_DILATION


@dataclass(frozen=True, slots=True)
class MeasuredOverhead:
    """The overhead of an iteration: its emulated seconds, less those that the processor computed."""

    iteration_s: float
    compute_s: float
    verdict: Verdict

    @property
    def overhead_s(self) -> float:
        """Borders, reduction, waiting, and what the host adds; never negative."""
        return max(0.0, self.iteration_s - self.compute_s)


@dataclass(frozen=True, slots=True)
class HostCosts:
    """The CPU time of a grid-point update on this host, in host nanoseconds: of the application, and of Poisson.

    CPU time is counted and not elapsed time, so that late phases change nothing.
    """

    host_ns_per_point: float
    host_reference_ns_per_point: float

    @property
    def weight(self) -> float:
        """The application's update in units of Poisson's."""
        return self.host_ns_per_point / self.host_reference_ns_per_point


def measure_overhead(
    testbed: Testbed, trial: CalibrationTrial, path: Path, report_progress: ReportProgress
) -> MeasuredOverhead:
    """Run `trial` on `testbed`, with its records in the directory `path`.

    Raises:
        InvalidInput: if the job cannot run there, or its processors are unpaced.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if a job failed, or the measurement is void.
    """
    processor = testbed.topology.processor
    if processor.unpaced:
        raise InvalidInput(
            f"The testbed {testbed.name!r} has unpaced processors, on which computation cannot be told from the rest: "
            "bring a paced one up, or give --overhead-s."
        )
    work = largest_share(trial.application, trial.grid, trial.processors)
    jobs = _run(testbed, trial, (trial.application,), path, report_progress)[trial.application]
    verdict = judged(jobs)
    if verdict.judgement is Judgement.VOID:
        raise RunFailed(
            f"What was measured is void ({'; '.join(verdict.reasons[:2])}), so nothing is calibrated: "
            f"use a larger --dilation than {trial.dilation:g}, or a quieter host."
        )
    iterations_s = values(jobs, "iteration_s")
    compute_s = predicted_compute_s(processor, trial.application, work, computing_beside(testbed.topology, trial))
    return MeasuredOverhead(sum(iterations_s) / len(iterations_s), compute_s, verdict)


def computing_beside(topology: Topology, trial: CalibrationTrial) -> int:
    """Return how many processors of its fullest node compute at once in the trial, which runs in one cluster."""
    cluster = topology.clusters[0]
    per_node = topology.whole_nodes.per_node(trial.processors, 1, None, cluster.processors_per_node)
    return min(trial.processors, per_node)


def measure_host_costs(
    testbed: Testbed, trial: CalibrationTrial, path: Path, report_progress: ReportProgress
) -> HostCosts:
    """Run `trial` and the same with Poisson in turns, and compare the CPU times of their kernels on this host.

    Raises:
        InvalidInput: if a job cannot run there.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if a job failed.
    """
    applications = tuple(dict.fromkeys((trial.application, REFERENCE_APPLICATION)))
    jobs = _run(testbed, trial, applications, path, report_progress)
    host_ns = {
        application: _host_ns_per_point(application, trial.grid, jobs[application]) for application in applications
    }
    return HostCosts(host_ns[trial.application], host_ns[REFERENCE_APPLICATION])


def _host_ns_per_point(application: str, grid: int, jobs: Sequence[JobView]) -> float:
    host_cpu_s, iterations = sum(values(jobs, "host_kernel_cpu_s")), sum(values(jobs, "iterations"))
    if not host_cpu_s or not iterations:
        raise RunFailed(f"The records of {application} do not say what its kernel took of the host's processors.")
    return host_cpu_s * NANOSECONDS_PER_SECOND / (iterations * all_updates(application, grid))


def _run(
    testbed: Testbed,
    trial: CalibrationTrial,
    applications: tuple[str, ...],
    path: Path,
    report_progress: ReportProgress,
) -> dict[str, list[EndedJob]]:
    """Run the applications in turns, and return the finished jobs of each."""
    check_free(path)
    matrix = Matrix(
        applications=applications,
        grids=(trial.grid,),
        processors=(trial.processors,),
        clusters=_ONE_CLUSTER,
        repeat=trial.repeat,
        iterations=trial.iterations,
        dilation=trial.dilation,
    )
    layout = lay_out(matrix, testbed.topology)
    if layout.left_out:
        raise InvalidInput(layout.left_out[0])
    stated = {"name": f"calibrate-{trial.application}", "dilation": trial.dilation, "paced_middleware": False}
    request = validate(stated, RunRequest, source="calibrate")
    expected = trial.repeat * len(layout.cells)
    manifest = begun_manifest(testbed, RunKind.MEASUREMENT, request, trial.model_dump(mode="json"), expected)
    with held(testbed, request) as run, recorded(testbed, run, manifest, path) as recorder:
        with evidence_gathered(testbed, recorder):
            runs = run_in_turn(testbed, run, recorder, layout, trial.repeat, {}, report_progress)
        conclude(testbed, run, recorder, [], expected)
    if runs.failures:
        raise RunFailed(f"{runs.failures[0]}.")
    return {cell.problem.application: runs.finished[cell.name] for cell in layout.cells}
