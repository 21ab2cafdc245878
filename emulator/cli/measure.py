"""The verb ``measure``: extension factors over a matrix of configurations, and what communication costs in each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.cli.campaign_options import NumericsOption
from emulator.cli.completion import runs
from emulator.cli.dilations import AUTO, DilationOption, EvenIfHopelessOption, parse_dilation
from emulator.cli.estimate_tables import show_estimates
from emulator.cli.foreign_text import say
from emulator.cli.given_options import given_options, refuse_given
from emulator.cli.matrix_options import (
    ApplicationsOption,
    ClustersOption,
    GridsOption,
    ProcessorsOption,
    SettingsOption,
    SplitsOption,
    described_cells,
    described_splits,
    names,
)
from emulator.cli.measured_tables import show_measured
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption, OutOption, run_path
from emulator.cli.progress import run_progress
from emulator.cli.required_verdict import RequireOption, check_required
from emulator.containers.state import testbed_state
from emulator.fidelity.verdict import Judgement
from emulator.measurement.extension import Measured, measure, resume
from emulator.model.catalogue import topology_named
from emulator.model.documents import validate
from emulator.model.errors import RunFailed, TestbedError, TestbedNotUp
from emulator.model.job import Numerics
from emulator.model.topology import Topology
from emulator.model.traffic import parse_traffic
from emulator.runs.container_testbed import testbed_named
from emulator.runs.matrix import DEFAULT_REPEAT, Matrix, lay_out
from emulator.runs.resuming import is_unfinished

RepeatOption = Annotated[int, typer.Option(help="Runs of each cell.")]
LengthOption = Annotated[
    int | None, typer.Option(help="Length of a run: iterations, heat's steps, ensflow's days; chosen by default.")
]
OnOption = Annotated[str, typer.Option(help="Names of the clusters to use, in order, for instance delft,leiden.")]
TrafficOption = Annotated[
    str,
    typer.Option(
        metavar="CLUSTER:SHARE,..",
        help="Background traffic on access links while jobs run, both ways, for instance utrecht:30%.",
    ),
]
CommunicationOption = Annotated[
    bool, typer.Option("--communication", help="Measure border exchange too, synchronized and not.")
]
AsCoallocatedOption = Annotated[
    bool, typer.Option("--as-coallocated", help="One cluster also over the interconnect of co-allocated jobs.")
]
ProcessorSpeedOption = Annotated[
    float, typer.Option(help="How many times as fast processors compute as the topology's.")
]
AttributeOption = Annotated[
    bool, typer.Option("--attribute", help="Split each factor into its parts, by control runs.")
]
CheckOption = Annotated[bool, typer.Option("--check", help="Repeat all at twice the dilation, which must agree.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say how long it will take, cell by cell, and run nothing.")
]
TopologyOption = Annotated[
    str | None, typer.Option(help="With --dry-run: a topology's name or file; else that of the testbed, or mini.")
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        "--resume", metavar="DIR", help="Run what an interrupted measurement still lacks.", autocompletion=runs
    ),
]

_WITH_RESUME: Final = {"resume_directory", "require", "name", "as_json"}
"""The options that go with --resume; all else is in the run's manifest."""


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("measure")(measure_factors)


def measure_factors(
    context: typer.Context,
    applications: ApplicationsOption = "poisson",
    grids: GridsOption = "400",
    processors: ProcessorsOption = "16",
    clusters: ClustersOption = "1,2,4",
    splits: SplitsOption = None,
    repeat: RepeatOption = DEFAULT_REPEAT,
    iterations: LengthOption = None,
    dilation: DilationOption = AUTO,
    even_if_hopeless: EvenIfHopelessOption = False,
    on: OnOption = "",
    traffic: TrafficOption = "",
    settings: SettingsOption = None,
    communication: CommunicationOption = False,
    as_coallocated: AsCoallocatedOption = False,
    processor_speed: ProcessorSpeedOption = 1.0,
    numerics: NumericsOption = None,
    attribute: AttributeOption = False,
    check: CheckOption = False,
    dry_run: DryRunOption = False,
    topology: TopologyOption = None,
    resume_directory: ResumeOption = None,
    require: RequireOption = Judgement.SUSPECT,
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Measure extension factors: how much longer a job takes when it is spread over clusters.

    Lists make a matrix; combinations that are impossible are left out, each with a sentence.

    Example: testbed measure --app poisson --grid 100,400 --processors 8,16 --clusters 1,2,4
    """
    if resume_directory is not None:
        unused = given_options(context) - _WITH_RESUME
        refuse_given(context, unused, "--resume takes the whole matrix from the run's manifest")
        _check(_resume(resume_directory, name, as_json), require)
        return
    if not dry_run:
        own = "a testbed has the topology that it was brought up with"
        refuse_given(context, {"topology"}, own, instead="state --dry-run")
    described = described_cells(applications, grids, processors, clusters, iterations, settings)
    stated = described | described_splits(splits, given_options(context)) | {
        "repeat": repeat, "on": names(on), "traffic": parse_traffic(traffic),
        "communication": communication, "as_coallocated": as_coallocated,
        "processor_speed": processor_speed, "numerics": numerics or Numerics.REAL,
        "attribute": attribute, "check": check, "dilation": parse_dilation(dilation),
    }  # fmt: skip
    matrix = validate(stated, Matrix, source="measure")
    if dry_run:
        show_estimates(matrix, _topology(topology, name), as_json=as_json)
        return
    _check(_measure(matrix, out, name, as_json, even_if_hopeless=even_if_hopeless), require)


def _topology(stated: str | None, name: str) -> Topology:
    """Return the topology that is stated, else that of the testbed called `name`, else mini."""
    if stated is None:
        with suppress(TestbedNotUp):
            return testbed_state(name).topology
    return topology_named(stated or "mini")


def _measure(matrix: Matrix, out: Path | None, name: str, as_json: bool, *, even_if_hopeless: bool) -> Measured:
    with testbed_named(name) as testbed:
        layout = lay_out(matrix, testbed.topology)
        for sentence in layout.left_out:
            say(f"left out: {sentence}", to_error=True)
        path = run_path(out, matrix.name)
        with _resumable(path), run_progress() as report_progress:
            measured = measure(testbed, matrix, path, report_progress, even_if_hopeless=even_if_hopeless)
        _report(measured, path, testbed.topology, as_json)
    return measured


def _resume(path: Path, name: str, as_json: bool) -> Measured:
    with testbed_named(name) as testbed:
        with _resumable(path), run_progress() as report_progress:
            measured = resume(testbed, path, report_progress)
        _report(measured, path, testbed.topology, as_json)
    return measured


def _check(measured: Measured, require: Judgement) -> None:
    check_required(require, [measured.verdict.judgement, *(cell.verdict.judgement for cell in measured.cells)])


@contextmanager
def _resumable(path: Path) -> Iterator[None]:
    """Say how to resume the measurement in `path` if the context ends early and leaves finished jobs there."""
    try:
        yield
    except (KeyboardInterrupt, TestbedError):
        if is_unfinished(path):
            print(f"What has finished is kept: `testbed measure --resume {path}` runs the rest.", file=sys.stderr)
        raise


def _report(measured: Measured, path: Path, topology: Topology, as_json: bool) -> None:
    show_measured(measured, path, topology, as_json=as_json)
    if measured.failures:
        count = len(measured.failures)
        raise RunFailed(
            f"{'A cell was' if count == 1 else f'{count} cells were'} given up: {measured.failures[0]} "
            f"(try again with `testbed measure --resume {path}`)."
        )
    if measured.defects:
        more = f" (And {len(measured.defects) - 1} more.)" if len(measured.defects) > 1 else ""
        raise RunFailed(f"A figure does not hold. {measured.defects[0]} (report it as a defect).{more}")
