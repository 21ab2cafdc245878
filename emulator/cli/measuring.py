"""The verb ``measure``: extension factors over a matrix of configurations, and what communication costs in each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.campaigns.control_runs import control_runs_of
from emulator.campaigns.extension import Measured, measure, resume
from emulator.campaigns.matrix import DEFAULT_REPEAT, Matrix, lay_out
from emulator.campaigns.planning import planned_layout
from emulator.campaigns.resuming import is_unfinished
from emulator.campaigns.standing_testbed import testbed_named
from emulator.cli.dilations import (
    AUTO,
    DilationOption,
    EvenIfHopelessOption,
    announce,
    asked_dilation,
    keep_and_show,
    settle,
)
from emulator.cli.matrix_words import names, numbers
from emulator.cli.matrix_words import settings as settings_of
from emulator.cli.measured_tables import show_measured
from emulator.cli.run_paths import OutOption, run_path
from emulator.cli.run_progress import run_progress
from emulator.cli.standing import DEFAULT_NAME, NameOption
from emulator.cli.tables import JsonOption
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput, RunFailed, TestbedError
from emulator.model.topology import Topology

_WITH_RESUME: Final = ("resume_directory", "name", "as_json")
"""What may be said beside --resume: all else is in the run's manifest."""


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("measure")(measure_factors)


def measure_factors(
    context: typer.Context,
    applications: Annotated[str, typer.Option("--app", help="Applications, for instance poisson,laplace.")] = "poisson",
    grids: Annotated[str, typer.Option("--grid", help="Interior points on each side of the grid.")] = "400",
    processors: Annotated[str, typer.Option(help="Processors of a job, whatever it is spread over.")] = "16",
    clusters: Annotated[str, typer.Option(help="Numbers of clusters, for instance 1,2,4.")] = "1,2,4",
    repeat: Annotated[int, typer.Option(help="Runs of each cell.")] = DEFAULT_REPEAT,
    iterations: Annotated[
        int | None,
        typer.Option(help="Length of a run: iterations, heat's steps, ensflow's days; chosen by default."),
    ] = None,
    dilation: DilationOption = AUTO,
    even_if_hopeless: EvenIfHopelessOption = False,
    on: Annotated[str, typer.Option(help="Names of the clusters to use, in order, for instance delft,leiden.")] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="[APP.]NAME=VALUE", help="An application's argument, for instance exchange=overlapped."
        ),
    ] = None,
    communication: Annotated[
        bool, typer.Option("--communication", help="Measure border exchange too, synchronized and not.")
    ] = False,
    as_coallocated: Annotated[
        bool, typer.Option("--as-coallocated", help="One cluster also over the interconnect of co-allocated jobs.")
    ] = False,
    time_scale: Annotated[float, typer.Option(help="Divides what computing takes; times stay scaled.")] = 1.0,
    attribute: Annotated[
        bool, typer.Option("--attribute", help="Split each factor into its parts, by control runs.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Repeat all at twice the dilation, which must agree.")] = False,
    resume_directory: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Run what an interrupted measurement still lacks.")
    ] = None,
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Measure extension factors: how much longer a job takes when it is spread over clusters.

    Lists make a matrix; combinations that are impossible are left out, each with a sentence.

    Example: testbed measure --app poisson --grid 100,400 --processors 8,16 --clusters 1,2,4
    """
    if resume_directory is not None:
        _refuse_beside_resume(context)
        _resume(resume_directory, name, as_json)
        return
    own_arguments, arguments = settings_of(settings or [])
    asked = {
        "applications": names(applications),
        "grids": numbers("grid", grids),
        "processors": numbers("processors", processors),
        "clusters": numbers("clusters", clusters),
        "repeat": repeat,
        "iterations": iterations,
        "on": names(on),
        "arguments": arguments,
        "own_arguments": own_arguments,
        "communication": communication,
        "as_coallocated": as_coallocated,
        "time_scale": time_scale,
        "attribute": attribute,
        "check": check,
    }
    factor = asked_dilation(dilation)
    if factor is not None:
        asked["dilation"] = factor
    matrix = validate(asked, Matrix, source="measure")
    _measure(matrix, out, name, as_json, planned=factor is None, even_if_hopeless=even_if_hopeless)


def _measure(
    matrix: Matrix, out: Path | None, name: str, as_json: bool, *, planned: bool, even_if_hopeless: bool
) -> None:
    """Measure, at the dilation of `matrix` or at one that is `planned`."""
    with testbed_named(name) as testbed:
        layout = lay_out(matrix, testbed.topology)
        for sentence in layout.left_out:
            print(f"left out: {sentence}", file=sys.stderr)
        path = run_path(out, matrix.name)
        with _resumable(path), run_progress() as tell:
            run = planned_layout(layout, testbed.topology, control_runs_of(matrix))
            settled = settle(run, None if planned else matrix.dilation, tell, even_if_hopeless=even_if_hopeless)
            announce(settled, planned=planned)
            measured = measure(testbed, matrix.model_copy(update={"dilation": settled.dilation}), path, tell)
        keep_and_show(settled, path, as_json=as_json)
        _report(measured, path, testbed.topology, as_json)


def _resume(path: Path, name: str, as_json: bool) -> None:
    with testbed_named(name) as testbed:
        with _resumable(path), run_progress() as tell:
            measured = resume(testbed, path, tell)
        _report(measured, path, testbed.topology, as_json)


@contextmanager
def _resumable(path: Path) -> Iterator[None]:
    """If what is done in here ends early and leaves finished jobs in `path`, say how it is taken up again."""
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


def _refuse_beside_resume(context: typer.Context) -> None:
    for parameter in context.params:
        source = context.get_parameter_source(parameter)
        if source is not None and source.name == "COMMANDLINE" and parameter not in _WITH_RESUME:
            raise InvalidInput("--resume takes the whole matrix from the run's manifest: leave out what describes one.")
