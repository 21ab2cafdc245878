"""The verb ``calibrate``: a processor profile from a published, a known or a measured runtime."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.campaigns.calibration import Trial, measure_host_costs, measure_overhead
from emulator.campaigns.matrix import DEFAULT_DILATION, DEFAULT_REPEAT
from emulator.campaigns.profile_files import profile_in, profile_name, write_profile
from emulator.campaigns.published import published_runtime
from emulator.campaigns.standing_testbed import testbed_named
from emulator.campaigns.work import largest_share
from emulator.cli.run_paths import OutOption, run_path
from emulator.cli.run_progress import run_progress
from emulator.cli.standing import DEFAULT_NAME, NameOption
from emulator.cli.tables import JsonOption, show_rows
from emulator.containers.state import standing
from emulator.fidelity.calibration import Calibration, Iteration, Work, calibrated, weighed
from emulator.model.documents import document_text, validate
from emulator.model.errors import InvalidInput, NotStanding
from emulator.model.processor import REFERENCE_APPLICATION, Processor, processor_named
from emulator.model.units import seconds_from_nanoseconds

DEFAULT_PROFILE: Final = "das2-pentium3"


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("calibrate")(calibrate)


def calibrate(
    application: Annotated[str, typer.Option("--app", help="The application whose runtime is known.")] = "poisson",
    grid: Annotated[int, typer.Option(help="Its grid points along a side.")] = 400,
    processors: Annotated[int, typer.Option(help="Its processors, in one cluster.")] = 16,
    iteration_s: Annotated[float | None, typer.Option(help="Known: seconds of an iteration.")] = None,
    runtime_s: Annotated[float | None, typer.Option(help="Known: seconds of --iterations iterations.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Iterations that took --runtime-s.")] = None,
    from_published: Annotated[
        bool, typer.Option("--from-published", help="Take the runtime that was published for this job on DAS-2.")
    ] = False,
    from_host: Annotated[
        bool,
        typer.Option("--from-host", help="Measure this host: poisson's cost of a point, another application's weight."),
    ] = False,
    overhead_s: Annotated[
        float | None,
        typer.Option(help="Seconds of an iteration that are not computation; by default the testbed measures them."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Profile to start from; else that of --into, or of the testbed.")
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Topology or profile to write into; a new file is a profile's.")
    ] = None,
    called: Annotated[str | None, typer.Option("--as", help="What to call the calibrated profile.")] = None,
    dilation: Annotated[float, typer.Option(help="Host seconds per emulated second.")] = DEFAULT_DILATION,
    repeat: Annotated[int, typer.Option(help="Runs of what the testbed measures.")] = DEFAULT_REPEAT,
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Derive a processor profile: the cost of a grid-point update, or the weight of an application other than poisson.

    Example: testbed calibrate --app poisson --grid 400 --processors 16 --iteration-s 0.001298
    """
    asked = {
        "application": application, "grid": grid, "processors": processors, "repeat": repeat, "dilation": dilation,
    }  # fmt: skip
    trial = validate(asked, Trial, source="calibrate")
    known = _known(trial, iteration_s, runtime_s, iterations, from_published, from_host)
    if known is None and overhead_s is not None:
        raise InvalidInput("--overhead-s: with --from-host only kernels are compared; leave it out.")
    measures = overhead_s is None
    base = _base(profile, into, _standing_processor(name, known) if measures else None)
    called = profile_name(called, into, base)
    measuring = _Measuring(trial, name, run_path(out, f"calibrate-{application}"))
    finding = measuring.from_host(base) if known is None else measuring.solve(base, known, overhead_s)
    named = finding.calibration.processor.model_copy(update={"name": called})
    if into is not None:
        write_profile(into, named)
    _show(trial, finding, named, into, as_json)


@dataclass(frozen=True, slots=True)
class _Known:
    """Seconds of an iteration on the processor that is to be described, and who says so."""

    iteration_s: float
    source: str


@dataclass(frozen=True, slots=True)
class _Finding:
    """A calibration, and what it was solved from; `verdict` is that on what was measured for it."""

    calibration: Calibration
    source: str
    iteration: Iteration | None = None
    overhead_source: str = ""
    verdict: str = ""
    reasons: tuple[str, ...] = ()


def _known(
    trial: Trial,
    iteration_s: float | None,
    runtime_s: float | None,
    iterations: int | None,
    from_published: bool,
    from_host: bool,
) -> _Known | None:
    """What is known of an iteration; nothing if the host is to be asked instead."""
    given = [iteration_s is not None, runtime_s is not None, from_published, from_host]
    if sum(given) != 1:
        raise InvalidInput("Say one of --iteration-s, --runtime-s, --from-published and --from-host.")
    if (runtime_s is None) != (iterations is None):
        raise InvalidInput("--runtime-s and --iterations go together: so many seconds for so many iterations.")
    if from_host:
        return None
    if from_published:
        published = published_runtime(trial.application, trial.grid, trial.processors)
        return _Known(published.iteration_s, f"published: {published.source}")
    if iteration_s is not None:
        return _Known(iteration_s, "--iteration-s")
    if runtime_s is None or iterations is None or iterations < 1:
        raise InvalidInput(f"--iterations: must be at least 1, not {iterations}.")
    return _Known(runtime_s / iterations, f"--runtime-s over {iterations} iterations")


def _standing_processor(name: str, known: _Known | None) -> Processor:
    """The profile of the testbed that is to measure."""
    try:
        return standing(name).topology.processor
    except NotStanding as error:
        if known is None:
            raise
        raise NotStanding(
            f"{str(error).rstrip('.')}: it would measure what of an iteration is not computation "
            "(or say it by --overhead-s; 0 counts everything as computation)."
        ) from error


def _base(profile: str | None, into: Path | None, stands: Processor | None) -> Processor:
    """The profile to start from: as asked, else that of the file to write into, of the testbed, or of the DAS-2."""
    if profile is not None:
        return processor_named(profile)
    in_file = profile_in(into) if into is not None else None
    return in_file or stands or processor_named(DEFAULT_PROFILE)


@dataclass(frozen=True, slots=True)
class _Measuring:
    """What the standing testbed is asked, if it is asked at all, and where its records go."""

    trial: Trial
    testbed_name: str
    path: Path

    def solve(self, base: Processor, known: _Known, overhead_s: float | None) -> _Finding:
        """`base` such that an iteration takes what is known."""
        trial, work = self.trial, largest_share(self.trial.application, self.trial.grid, self.trial.processors)
        if overhead_s is not None:
            iteration = Iteration(known.iteration_s, overhead_s)
            solved = calibrated(base, trial.application, work, iteration)
            return _Finding(solved, known.source, iteration, "--overhead-s")
        _check_solvable(base, trial, work, known)
        with testbed_named(self.testbed_name) as testbed, run_progress() as tell:
            measured = measure_overhead(testbed, trial, self.path, tell)
        iteration = Iteration(known.iteration_s, measured.overhead_s)
        source = f"measured at dilation {trial.dilation:g} on {testbed.topology.name} ({self.path})"
        solved = calibrated(base, trial.application, work, iteration)
        return _Finding(solved, known.source, iteration, source, measured.verdict.judgement, measured.verdict.reasons)

    def from_host(self, base: Processor) -> _Finding:
        """`base` as this host's own processor: with Poisson's cost of a point here, or another application's weight."""
        trial, work = self.trial, largest_share(self.trial.application, self.trial.grid, self.trial.processors)
        _check_solvable(base, trial, work, _Known(1.0, ""))
        with testbed_named(self.testbed_name) as testbed, run_progress() as tell:
            costs = measure_host_costs(testbed, trial, self.path, tell)
        source = f"this host: {costs.host_ns_per_point:.3g} ns of CPU a point"
        if trial.application == REFERENCE_APPLICATION:
            compute_s = seconds_from_nanoseconds(costs.host_ns_per_point * work.updates)
            solved = calibrated(base, trial.application, work, Iteration(compute_s))
        else:
            source += f", {REFERENCE_APPLICATION} {costs.host_reference_ns_per_point:.3g} ns"
            solved = weighed(base, trial.application, costs.weight)
        return _Finding(solved, f"{source} ({self.path})")


def _check_solvable(base: Processor, trial: Trial, work: Work, known: _Known) -> None:
    """Refuse before anything is run what no overhead, however small, would make solvable."""
    calibrated(base, trial.application, work, Iteration(known.iteration_s))


def _show(trial: Trial, finding: _Finding, profile: Processor, into: Path | None, as_json: bool) -> None:
    iteration, solved = finding.iteration, finding.calibration
    row = {
        "application": trial.application,
        "grid": trial.grid,
        "processors": trial.processors,
        "iteration_s": None if iteration is None else iteration.iteration_s,
        "overhead_s": None if iteration is None else iteration.overhead_s,
        "compute_s": None if iteration is None else iteration.compute_s,
        "key": solved.key,
        "before": solved.before,
        "after": solved.after,
        "verdict": finding.verdict,
    }
    if as_json:
        beside = {
            "source": finding.source,
            "overhead_source": finding.overhead_source,
            "verdict_reasons": list(finding.reasons),
            "profile": profile.model_dump(mode="json", exclude_none=True),
            "into": None if into is None else str(into),
        }
        show_rows([row | beside], as_json=True)
    else:
        show_rows([row], as_json=False, title="Calibration")
        print(f"iteration   {finding.source}")
        if finding.overhead_source:
            print(f"overhead    {finding.overhead_source}")
        for reason in finding.reasons:
            print(f"  {reason}")
        if into is None:
            print(f"\n{document_text(profile)}", end="")
    if into is not None:
        print(f"Written: {profile.name} in {into} (a testbed that stands keeps the profile it has).", file=sys.stderr)
