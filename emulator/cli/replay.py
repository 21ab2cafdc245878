"""The verb ``replay``: a run's decisions, made again without a testbed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.cli.completion import runs
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.model.counts import number_of
from emulator.policies.replay import Replay
from emulator.runs.replay import replay_run

EXIT_DIFFERS: Final = 1
FIRST_DIFFERENCES: Final = 10


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command()(replay)


def replay(
    directory: Annotated[Path, typer.Argument(help="A run's directory.", metavar="DIR", autocompletion=runs)],
    as_json: JsonOption = False,
) -> None:
    """Make every decision of a run again from its record; exits 1 if one of them differs.

    Example: testbed replay runs/first-20260101-120000
    """
    found = replay_run(directory)
    first = [asdict(difference) for difference in found.differences[:FIRST_DIFFERENCES]]
    if as_json:
        print(json.dumps({"decisions": found.decisions, "differences": len(found.differences), "first": first}))
    else:
        print(_sentence(found))
        if first:
            show_rows(first, as_json=False, title="The first that differ")
    if found.differences:
        raise typer.Exit(EXIT_DIFFERS)


def _sentence(found: Replay) -> str:
    return f"{number_of(found.decisions, 'decision')} replayed, {number_of(len(found.differences), 'difference')}"
