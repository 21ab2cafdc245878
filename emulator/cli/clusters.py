"""The verb ``clusters``: the clusters as their local resource managers report them."""

from __future__ import annotations

import typer

from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.tables import show_rows
from emulator.cli.testbeds import broker_of


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("clusters")(show_clusters)


def show_clusters(name: NameOption = DEFAULT_NAME, as_json: JsonOption = False) -> None:
    """Show the clusters as their local resource managers report them now.

    Example: testbed clusters --json
    """
    with broker_of(name) as client:
        show_rows([cluster.model_dump(mode="json") for cluster in client.clusters()], as_json=as_json)
