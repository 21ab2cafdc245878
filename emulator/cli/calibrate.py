"""The verb ``calibrate``: a processor profile from a published, a known or a measured runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.calibration.measurements import CalibrationTrial
from emulator.calibration.profile import (
    Finding,
    KnownIteration,
    check_solvable,
    from_host,
    from_measured_overhead,
    from_stated_overhead,
)
from emulator.calibration.profile_files import profile_in, profile_name, write_profile
from emulator.cli.foreign_text import say
from emulator.cli.given_options import given_options, refuse_given
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption, OutOption, run_path
from emulator.cli.prediction_options import DEFAULT_TOPOLOGY
from emulator.cli.progress import run_progress
from emulator.cli.table_fits import calibrate_from_table
from emulator.cli.tables import show_rows
from emulator.containers.state import testbed_state
from emulator.model.counts import number_of
from emulator.model.documents import document_text, validate
from emulator.model.errors import InvalidInput, TestbedNotUp
from emulator.model.processor import Processor, processor_named
from emulator.runs.container_testbed import testbed_named
from emulator.runs.matrix import DEFAULT_DILATION, DEFAULT_REPEAT
from emulator.studies.published_runtimes import published_runtime

DEFAULT_PROFILE: Final = "das2-pentium3"

_ONLY_WITH_TABLE: Final = {"topology", "day"}
_WITH_TABLE: Final = _ONLY_WITH_TABLE | {"table", "into", "out", "as_json"}
_OF_MEASURING: Final = frozenset({"dilation", "repeat", "out", "name"})

ApplicationOption = Annotated[str, typer.Option("--app", help="The application whose runtime is known.")]
GridOption = Annotated[int, typer.Option(help="Its grid points along a side.")]
ProcessorsOption = Annotated[int, typer.Option(help="Its processors, in one cluster.")]
KnownIterationOption = Annotated[float | None, typer.Option(help="Known: seconds of an iteration.")]
KnownRuntimeOption = Annotated[float | None, typer.Option(help="Known: seconds of --iterations iterations.")]
IterationsOption = Annotated[int | None, typer.Option(help="Iterations that took --runtime-s.")]
FromPublishedOption = Annotated[
    bool, typer.Option("--from-published", help="Take the runtime that was published for this job on DAS-2.")
]
FromHostOption = Annotated[
    bool,
    typer.Option("--from-host", help="Measure this host: poisson's cost of a point, another application's weight."),
]
OverheadOption = Annotated[
    float | None,
    typer.Option(help="Seconds of an iteration that are not computation; by default the testbed measures them."),
]
TableOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="Known: runtimes, a CSV table or a run's directory, to which all numbers of --topology are fitted; "
        "repeatable."
    ),
]
TopologyOption = Annotated[
    str, typer.Option(help="The topology that --table starts from: a name in compose/, or a YAML file.")
]
DayOption = Annotated[
    str | None, typer.Option(help="The set of the table whose numbers of the day --into gets; by default its first.")
]
ProfileOption = Annotated[
    str | None, typer.Option(help="Profile to start from; else that of --into, or of the testbed.")
]
IntoOption = Annotated[Path | None, typer.Option(help="Topology or profile to write into; a new file is a profile's.")]
CalledOption = Annotated[str | None, typer.Option("--as", help="What to call the calibrated profile.")]
DilationOption = Annotated[float, typer.Option(help="Host seconds per emulated second.")]
RepeatOption = Annotated[int, typer.Option(help="Runs of what the testbed measures.")]


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("calibrate")(calibrate)


def calibrate(
    context: typer.Context,
    application: ApplicationOption = "poisson",
    grid: GridOption = 400,
    processors: ProcessorsOption = 16,
    iteration_s: KnownIterationOption = None,
    runtime_s: KnownRuntimeOption = None,
    iterations: IterationsOption = None,
    from_published: FromPublishedOption = False,
    on_this_host: FromHostOption = False,
    overhead_s: OverheadOption = None,
    table: TableOption = None,
    topology: TopologyOption = DEFAULT_TOPOLOGY,
    day: DayOption = None,
    profile: ProfileOption = None,
    into: IntoOption = None,
    called: CalledOption = None,
    dilation: DilationOption = DEFAULT_DILATION,
    repeat: RepeatOption = DEFAULT_REPEAT,
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Derive a processor profile: the cost of a grid-point update, or the weight of an application other than poisson.

    Example: testbed calibrate --app poisson --grid 400 --processors 16 --iteration-s 0.001298
    """
    _check_used(context, by_table=bool(table))
    if table:
        calibrate_from_table(table, topology, day, into, out, as_json=as_json)
        return
    stated = {
        "application": application, "grid": grid, "processors": processors, "repeat": repeat, "dilation": dilation,
    }  # fmt: skip
    trial = validate(stated, CalibrationTrial, source="calibrate")
    known = _known(trial, iteration_s, runtime_s, iterations, from_published, on_this_host)
    if known is None:
        refuse_given(context, {"overhead_s"}, "with --from-host only kernels are compared")
    base = _base(profile, into, _testbed_processor(name, known) if overhead_s is None else None)
    called = profile_name(called, into, base)
    finding = _find(base, trial, known, overhead_s, name, run_path(out, f"calibrate-{application}"))
    named = finding.calibration.processor.model_copy(update={"name": called})
    if into is not None:
        write_profile(into, named)
    _show(trial, finding, named, into, as_json)


def _check_used(context: typer.Context, *, by_table: bool) -> None:
    """Check that every given option has an effect.

    Raises:
        InvalidInput: if one describes the other way of calibrating.
    """
    given = given_options(context)
    if by_table:
        refuse_given(context, given - _WITH_TABLE, "--table says what is known")
        return
    refuse_given(context, _ONLY_WITH_TABLE, "only --table has this")
    if "overhead_s" in given:
        refuse_given(context, _OF_MEASURING, "with --overhead-s nothing is measured")


def _known(
    trial: CalibrationTrial,
    iteration_s: float | None,
    runtime_s: float | None,
    iterations: int | None,
    from_published: bool,
    on_this_host: bool,
) -> KnownIteration | None:
    """Return what is known of an iteration; None if the host is to be measured instead.

    Raises:
        InvalidInput: unless exactly one source of it is named.
    """
    given = [iteration_s is not None, runtime_s is not None, from_published, on_this_host]
    if sum(given) != 1:
        raise InvalidInput("Say one of --iteration-s, --runtime-s, --from-published, --from-host and --table.")
    if (runtime_s is None) != (iterations is None):
        raise InvalidInput(
            "--runtime-s and --iterations go together: the seconds that a run took, and its number of iterations."
        )
    if on_this_host:
        return None
    if from_published:
        published = published_runtime(trial.application, trial.grid, trial.processors)
        return KnownIteration(published.iteration_s, f"published: {published.source}")
    if iteration_s is not None:
        return KnownIteration(iteration_s, "--iteration-s")
    if runtime_s is None or iterations is None or iterations < 1:
        raise InvalidInput(f"--iterations: must be at least 1, not {iterations}.")
    return KnownIteration(runtime_s / iterations, f"--runtime-s over {number_of(iterations, 'iteration')}")


def _testbed_processor(name: str, known: KnownIteration | None) -> Processor:
    """Return the profile of the running testbed that measures.

    Raises:
        TestbedNotUp: if it does not run; the message says what it would measure.
    """
    try:
        return testbed_state(name).topology.processor
    except TestbedNotUp as error:
        if known is None:
            raise
        raise TestbedNotUp(
            f"{str(error).rstrip('.')}: it would measure what of an iteration is not computation "
            "(or state it by --overhead-s; 0 counts everything as computation)."
        ) from error


def _base(profile: str | None, into: Path | None, of_testbed: Processor | None) -> Processor:
    """Return the profile to start from: as asked, else that of the file to write into, of the testbed, or of DAS-2."""
    if profile is not None:
        return processor_named(profile)
    in_file = profile_in(into) if into is not None else None
    return in_file or of_testbed or processor_named(DEFAULT_PROFILE)


def _find(
    base: Processor,
    trial: CalibrationTrial,
    known: KnownIteration | None,
    overhead_s: float | None,
    name: str,
    path: Path,
) -> Finding:
    if known is not None and overhead_s is not None:
        return from_stated_overhead(base, trial, known, overhead_s)
    check_solvable(base, trial, known)
    with testbed_named(name) as testbed, run_progress() as report_progress:
        if known is None:
            return from_host(testbed, base, trial, path, report_progress)
        return from_measured_overhead(testbed, base, trial, known, path, report_progress)


def _show(trial: CalibrationTrial, finding: Finding, profile: Processor, into: Path | None, as_json: bool) -> None:
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
        say(f"iteration   {finding.source}")
        if finding.overhead_source:
            say(f"overhead    {finding.overhead_source}")
        for reason in finding.reasons:
            say(f"  {reason}")
        if into is None:
            say(f"\n{document_text(profile).rstrip()}")
    if into is not None:
        say(f"Written: {profile.name} in {into} (a running testbed keeps its profile).", to_error=True)
