"""The verb ``output``: what a job wrote."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from emulator.cli.foreign_text import pass_on
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.testbeds import broker_of


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("output")(show_output)


def show_output(
    job: Annotated[int, typer.Argument(help="The job's number.")],
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Print what a job wrote: its standard output, and on standard error its standard error.

    Example: testbed output 3
    """
    with broker_of(name) as client:
        written = client.output(job)
    if as_json:
        print(json.dumps(written.model_dump(mode="json"), indent=2))
        return
    pass_on(written.output, sys.stdout)
    pass_on(written.error, sys.stderr)
