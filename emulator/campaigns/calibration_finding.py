"""What a calibration finds: a processor profile such that a job takes what is known of it, or such as this host is.

The arithmetic is that of `emulator.fidelity.calibration`, what a standing testbed measures that of `calibration`; here
is what each way to calibrate needs of both, and what is to be said of where its numbers come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from emulator.campaigns.calibration import Trial, measure_host_costs, measure_overhead
from emulator.campaigns.conduct import Tell
from emulator.campaigns.holding import Testbed
from emulator.campaigns.work import largest_share
from emulator.fidelity.calibration import Calibration, Iteration, Work, calibrated, weighed
from emulator.model.processor import REFERENCE_APPLICATION, Processor
from emulator.model.units import seconds_from_nanoseconds


@dataclass(frozen=True, slots=True)
class KnownIteration:
    """Seconds of an iteration on the processor that is to be described, and who says so."""

    iteration_s: float
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A calibration, and what it was solved from; `verdict` is that on what was measured for it."""

    calibration: Calibration
    source: str
    iteration: Iteration | None = None
    overhead_source: str = ""
    verdict: str = ""
    reasons: tuple[str, ...] = ()


def from_stated_overhead(base: Processor, trial: Trial, known: KnownIteration, overhead_s: float) -> Finding:
    """`base` such that an iteration takes what is known, of which `overhead_s` are not computation.

    Raises:
        InvalidInput: if no profile would do.
    """
    iteration = Iteration(known.iteration_s, overhead_s)
    solved = calibrated(base, trial.application, _work(trial), iteration)
    return Finding(solved, known.source, iteration, "--overhead-s")


def from_measured_overhead(
    testbed: Testbed, base: Processor, trial: Trial, known: KnownIteration, path: Path, tell: Tell
) -> Finding:
    """`base` such that an iteration takes what is known; the testbed measures what of it is not computation.

    Raises:
        InvalidInput: if no profile would do.
        TestbedError: as `measure_overhead`.
    """
    measured = measure_overhead(testbed, trial, path, tell)
    iteration = Iteration(known.iteration_s, measured.overhead_s)
    source = f"measured at dilation {trial.dilation:g} on {testbed.topology.name} ({path})"
    solved = calibrated(base, trial.application, _work(trial), iteration)
    return Finding(solved, known.source, iteration, source, measured.verdict.judgement, measured.verdict.reasons)


def from_host(testbed: Testbed, base: Processor, trial: Trial, path: Path, tell: Tell) -> Finding:
    """`base` as this host's own processor: with Poisson's cost of a point here, or another application's weight.

    Raises:
        TestbedError: as `measure_host_costs`.
    """
    costs = measure_host_costs(testbed, trial, path, tell)
    source = f"this host: {costs.host_ns_per_point:.3g} ns of CPU a point"
    if trial.application == REFERENCE_APPLICATION:
        work = _work(trial)
        compute_s = seconds_from_nanoseconds(costs.host_ns_per_point * work.updates)
        solved = calibrated(base, trial.application, work, Iteration(compute_s))
    else:
        source += f", {REFERENCE_APPLICATION} {costs.host_reference_ns_per_point:.3g} ns"
        solved = weighed(base, trial.application, costs.weight)
    return Finding(solved, f"{source} ({path})")


def check_solvable(base: Processor, trial: Trial, known: KnownIteration | None) -> None:
    """Refuse, before anything is run, what could not be solved whatever is measured.

    Raises:
        InvalidInput: if `base` has no costs, or even an iteration without overhead would be too short.
        UnknownName: if the application's work is not a matter of grid points.
    """
    calibrated(base, trial.application, _work(trial), Iteration(1.0 if known is None else known.iteration_s))


def _work(trial: Trial) -> Work:
    return largest_share(trial.application, trial.grid, trial.processors)
