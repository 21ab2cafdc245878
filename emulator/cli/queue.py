"""The verb ``queue``: the jobs that wait."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.tables import show_rows
from emulator.cli.testbeds import broker_of

if TYPE_CHECKING:
    from emulator.model.views import QueueEntryView


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("queue")(show_queue)


def show_queue(name: NameOption = DEFAULT_NAME, as_json: JsonOption = False) -> None:
    """List the waiting jobs in the order in which they would be tried.

    Example: testbed queue --json
    """
    with broker_of(name) as client:
        entries = client.queue()
    if as_json:
        print(json.dumps([entry.model_dump(mode="json") for entry in entries], indent=2))
    elif entries:
        show_rows([_row(entry) for entry in entries], as_json=False)
    else:
        print("No job waits.")


def _row(entry: QueueEntryView) -> dict[str, Any]:
    return {
        "position": entry.position,
        "job": entry.job,
        "name": entry.name,
        "application": entry.application,
        "request": entry.request,
        "components": "+".join(str(size) for size in entry.components),
        "waited (s)": entry.waited_s,
        "tries": entry.placement_tries,
    }
