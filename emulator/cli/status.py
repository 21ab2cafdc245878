"""The verb ``status``: the clusters, router and API of a running testbed."""

from __future__ import annotations

import typer

from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.testbeds import show_testbed


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(status)


def status(name: NameOption = DEFAULT_NAME, as_json: JsonOption = False) -> None:
    """Show a running testbed: clusters, idle processors, router and API.

    Example: testbed status --json
    """
    from emulator.containers.state import testbed_state

    show_testbed(testbed_state(name), as_json=as_json)
