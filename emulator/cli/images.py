"""The verb ``images``: make what containers are made from, before a testbed is wanted."""

from __future__ import annotations

from dataclasses import asdict

import typer

from emulator.cli.options import JsonOption
from emulator.cli.progress import step_printer
from emulator.cli.tables import show_rows


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(images)


def images(as_json: JsonOption = False) -> None:
    """Make the images that a testbed needs and that do not exist yet.

    `testbed up` does so by itself; this takes the wait out of it.

    Example: testbed images
    """
    from emulator.containers import engine
    from emulator.containers.images import ensure_images

    references = asdict(ensure_images(engine.connect(), step_printer()))
    show_rows([{"image": name, "reference": reference} for name, reference in references.items()], as_json=as_json)
