"""The verb ``images``: make what containers are made from, before a testbed is wanted."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from emulator.cli.options import JsonOption
from emulator.cli.progress import step_printer
from emulator.cli.tables import show_rows


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(images)


def images(
    push: Annotated[
        str | None, typer.Option(metavar="REGISTRY/FOLDER", help="Push them there, too, for other machines.")
    ] = None,
    base: Annotated[
        bool, typer.Option("--base", help="Make the base image, too, on which programs of your own are compiled.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the images that a testbed needs and that do not exist yet.

    `testbed up` does so by itself; this takes the wait out of it. If the variable TESTBED_IMAGES names the folder of a
    registry, both pull what they find there instead of building it.

    Example: testbed images --push registry.example:5000/group
    """
    from emulator.containers import engine
    from emulator.containers.image_registry import there
    from emulator.containers.images import ensure_base, ensure_images, push_images

    if push is not None:
        there(push, "")
    client = engine.connect()
    references = ensure_images(client, step_printer())
    rows = [{"image": name, "reference": reference} for name, reference in asdict(references).items()]
    base_rows = [{"image": "base", "reference": ensure_base(client, step_printer())}] if base else []
    if push is not None:
        pushed = push_images(client, references, push, step_printer())
        rows = [row | {"pushed": target} for row, target in zip(rows, pushed, strict=True)]
        base_rows = [row | {"pushed": ""} for row in base_rows]
    show_rows(base_rows + rows, as_json=as_json)
