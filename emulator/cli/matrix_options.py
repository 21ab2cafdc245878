"""The options that describe a matrix of cells: lists joined by commas, and arguments of applications as NAME=VALUE."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from apps.descriptor import ArgumentValue
from apps.registry import APPLICATIONS
from emulator.model.errors import InvalidInput

ApplicationsOption = Annotated[
    str, typer.Option("--app", help=f"Applications, joined by commas: {', '.join(APPLICATIONS)}.")
]
GridsOption = Annotated[str, typer.Option("--grid", help="Interior points on each side of the grid.")]
ProcessorsOption = Annotated[str, typer.Option(help="Processors of a job, whatever it is spread over.")]
ClustersOption = Annotated[str, typer.Option(help="Numbers of clusters, for instance 1,2,4.")]
SplitsOption = Annotated[
    list[str] | None,
    typer.Option("--split", metavar="SIZE,SIZE,..", help="Parts of any sizes, for instance 24,12; repeatable."),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="[APP.]NAME=VALUE", help="An application's argument, for instance exchange=overlapped."
    ),
]


def names(text: str) -> tuple[str, ...]:
    """Return the names in a list joined by commas."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def numbers(option: str, text: str) -> tuple[int, ...]:
    """Return the whole numbers in a list joined by commas, the value of `option`.

    Raises:
        InvalidInput: if something else is among them.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InvalidInput(f"--{option}: must be whole numbers joined by commas, not {text!r}.") from error


def described_cells(
    applications: str, grids: str, processors: str, clusters: str, iterations: int | None, settings: list[str] | None
) -> dict[str, Any]:
    """Return what the options that `measure` and `plan` share say, as keys of a `Matrix`.

    Raises:
        InvalidInput: if one of them has another form.
    """
    own_arguments, arguments = split_settings(settings or [])
    return {
        "applications": names(applications),
        "grids": numbers("grid", grids),
        "processors": numbers("processors", processors),
        "clusters": numbers("clusters", clusters),
        "iterations": iterations,
        "arguments": arguments,
        "own_arguments": own_arguments,
    }


def described_splits(splits: list[str] | None, given: set[str]) -> dict[str, Any]:
    """Return what `--split` says, as keys of a `Matrix`.

    Unless other options are `given`, a job has as many processors as its parts, and is measured in one cluster beside.

    Raises:
        InvalidInput: if a split is no list of whole numbers.
    """
    if not splits:
        return {}
    sizes = [numbers("split", split) for split in splits]
    stated: dict[str, Any] = {"splits": sizes}
    if "processors" not in given:
        stated["processors"] = tuple(dict.fromkeys(map(sum, sizes)))
    if "clusters" not in given:
        stated["clusters"] = (1,)
    return stated


def split_settings(texts: list[str]) -> tuple[dict[str, dict[str, ArgumentValue]], dict[str, ArgumentValue]]:
    """Return arguments by application, and those for all, from texts like ``exchange=steps`` or ``heat.ratio=0.1``.

    Raises:
        InvalidInput: if a text has another form, or a number is not finite.
    """
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
