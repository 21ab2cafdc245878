"""The verb ``measure``: extension factors over a matrix of configurations, and what communication costs in each."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.campaigns.extension import Measured, measure, resume
from emulator.campaigns.matrix import DEFAULT_DILATION, DEFAULT_REPEAT, Matrix, lay_out
from emulator.campaigns.measured_applications import ArgumentValue
from emulator.campaigns.resuming import is_unfinished
from emulator.campaigns.standing_testbed import testbed_named
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
    dilation: Annotated[float, typer.Option(help="Host seconds per emulated second.")] = DEFAULT_DILATION,
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
    own_arguments, arguments = _settings(settings or [])
    asked = {
        "applications": _names(applications),
        "grids": _numbers("grid", grids),
        "processors": _numbers("processors", processors),
        "clusters": _numbers("clusters", clusters),
        "repeat": repeat,
        "iterations": iterations,
        "dilation": dilation,
        "on": _names(on),
        "arguments": arguments,
        "own_arguments": own_arguments,
        "communication": communication,
    }
    _measure(validate(asked, Matrix, source="measure"), out, name, as_json)


def _measure(matrix: Matrix, out: Path | None, name: str, as_json: bool) -> None:
    with testbed_named(name) as testbed:
        for sentence in lay_out(matrix, testbed.topology).left_out:
            print(f"left out: {sentence}", file=sys.stderr)
        path = run_path(out, matrix.name)
        with _resumable(path), run_progress() as tell:
            measured = measure(testbed, matrix, path, tell)
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


def _refuse_beside_resume(context: typer.Context) -> None:
    for parameter in context.params:
        source = context.get_parameter_source(parameter)
        if source is not None and source.name == "COMMANDLINE" and parameter not in _WITH_RESUME:
            raise InvalidInput("--resume takes the whole matrix from the run's manifest: leave out what describes one.")


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InvalidInput(f"--{option}: must be whole numbers joined by commas, not {text!r}.") from error


def _settings(texts: list[str]) -> tuple[dict[str, dict[str, ArgumentValue]], dict[str, ArgumentValue]]:
    """Arguments by application, and those for all."""
    own: dict[str, dict[str, ArgumentValue]] = {}
    common: dict[str, ArgumentValue] = {}
    for text in texts:
        named, equals, value = text.partition("=")
        application, dot, argument = named.rpartition(".")
        if not (equals and argument):
            raise InvalidInput(f"--set: must be NAME=VALUE or APP.NAME=VALUE, not {text!r}.")
        (own.setdefault(application, {}) if dot else common)[argument] = _value(value)
    return own, common


def _value(text: str) -> ArgumentValue:
    if text in ("true", "false"):
        return text == "true"
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        raise InvalidInput(f"--set: a number must be finite, not {text}.")
    return int(text) if text.lstrip("+-").isdecimal() else number
