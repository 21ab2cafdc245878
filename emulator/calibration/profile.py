"""Finding a processor profile: one with which a job takes its known time, or that of this host.

The arithmetic is in `emulator.fidelity.calibration`, the measurements are in `measurements`. This module combines both
for each kind of calibration, and states the source of its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from apps.descriptor import Work
from apps.registry import largest_share
from emulator.calibration.measurements import (
    CalibrationTrial,
    computing_beside,
    measure_host_costs,
    measure_overhead,
)
from emulator.fidelity.calibration import Calibration, Iteration, calibrated, weighed
from emulator.model.processor import REFERENCE_APPLICATION, Processor
from emulator.model.units import seconds_from_nanoseconds
from emulator.runs.holding import Testbed
from emulator.runs.progress import ReportProgress


@dataclass(frozen=True, slots=True)
class KnownIteration:
    """Seconds of an iteration on the processor to be described, and their source."""

    iteration_s: float
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A calibration and what it was solved from; `verdict` is that on the measurements for it."""

    calibration: Calibration
    source: str
    iteration: Iteration | None = None
    overhead_source: str = ""
    verdict: str = ""
    reasons: tuple[str, ...] = ()


def from_stated_overhead(base: Processor, trial: CalibrationTrial, known: KnownIteration, overhead_s: float) -> Finding:
    """Calibrate `base` for a known iteration, of which `overhead_s` are not computation.

    Raises:
        InvalidInput: if no profile would do.
    """
    iteration = Iteration(known.iteration_s, overhead_s)
    solved = calibrated(base, trial.application, _work(trial), iteration)
    return Finding(solved, known.source, iteration, "--overhead-s")


def from_measured_overhead(
    testbed: Testbed,
    base: Processor,
    trial: CalibrationTrial,
    known: KnownIteration,
    path: Path,
    report_progress: ReportProgress,
) -> Finding:
    """Calibrate `base` for a known iteration, whose overhead the testbed measures.

    Raises:
        InvalidInput: if no profile would do.
        TestbedError: as `measure_overhead`.
    """
    measured = measure_overhead(testbed, trial, path, report_progress)
    iteration = Iteration(known.iteration_s, measured.overhead_s)
    source = f"measured at dilation {trial.dilation:g} on {testbed.topology.name} ({path})"
    computing = computing_beside(testbed.topology, trial)
    solved = calibrated(base, trial.application, _work(trial), iteration, computing)
    return Finding(solved, known.source, iteration, source, measured.verdict.judgement, measured.verdict.reasons)


def from_host(
    testbed: Testbed, base: Processor, trial: CalibrationTrial, path: Path, report_progress: ReportProgress
) -> Finding:
    """Calibrate `base` as this host's own processor: Poisson's cost of a point, or another application's weight.

    Raises:
        TestbedError: as `measure_host_costs`.
    """
    costs = measure_host_costs(testbed, trial, path, report_progress)
    source = f"this host: {costs.host_ns_per_point:.3g} ns of CPU a point"
    if trial.application == REFERENCE_APPLICATION:
        work = _work(trial)
        compute_s = seconds_from_nanoseconds(costs.host_ns_per_point * work.updates)
        solved = calibrated(base, trial.application, work, Iteration(compute_s))
    else:
        source += f", {REFERENCE_APPLICATION} {costs.host_reference_ns_per_point:.3g} ns"
        solved = weighed(base, trial.application, costs.weight)
    return Finding(solved, f"{source} ({path})")


def check_solvable(base: Processor, trial: CalibrationTrial, known: KnownIteration | None) -> None:
    """Refuse, before anything is run, a calibration that no measurement could solve.

    Raises:
        InvalidInput: if `base` has no costs, or even an iteration without overhead would be too short.
        UnknownName: if the application's work is not a matter of grid points.
    """
    calibrated(base, trial.application, _work(trial), Iteration(1.0 if known is None else known.iteration_s))


def _work(trial: CalibrationTrial) -> Work:
    return largest_share(trial.application, trial.grid, trial.processors)
