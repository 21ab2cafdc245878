"""The verb ``down``: take a testbed down without a trace."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from emulator.cli.options import DEFAULT_NAME, NameOption
from emulator.cli.progress import step_printer
from emulator.model.errors import TestbedNotUp


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(down)


def down(
    name: NameOption = DEFAULT_NAME,
    everything: Annotated[bool, typer.Option("--all", help="Take every testbed of yours on this host down.")] = False,
) -> None:
    """Take a testbed down: containers, networks, volumes and state.

    Example: testbed down --name second
    """
    from emulator.containers.down import take_all_down, take_down

    begun = time.monotonic()
    if everything:
        names = take_all_down(step_printer())
        if not names:
            raise TestbedNotUp("No testbed runs, so there is nothing to take down.")
    else:
        take_down(name, step_printer())
        names = [name]
    print(f"Down: {', '.join(names)} ({time.monotonic() - begun:.1f} s).", file=sys.stderr)
