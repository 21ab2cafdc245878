"""The verb ``validate``: the faults of a document, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.completion import documents, topologies
from emulator.cli.exit_codes import EXIT_FAILED
from emulator.cli.foreign_text import say
from emulator.cli.options import JsonOption

if TYPE_CHECKING:
    from emulator.cli.document_kinds import DocumentKind


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(validate)


def validate(
    file: Annotated[Path, typer.Argument(help="The document, in YAML or JSON.", autocompletion=documents)],
    topology: Annotated[
        str | None,
        typer.Option(
            help="Check a job or a campaign on this topology; a campaign otherwise on its own.",
            autocompletion=topologies,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a topology, a campaign, a job, a processor profile or an inventory of hosts, before a verb takes it.

    What the file holds is told by its keys. Each fault is one line, with the key's path; exits 1 if there is one.

    Example: testbed validate job.yaml --topology das2
    """
    kind, faults = _examined(file, topology)
    if as_json:
        print(json.dumps({"file": str(file), "kind": kind.name, "valid": not faults, "faults": faults}, indent=2))
    elif faults:
        for fault in faults:
            say(f"{file}: {fault}")
    else:
        say(f"{file}: a valid {kind.title}.")
    if faults:
        raise typer.Exit(EXIT_FAILED)


def _examined(file: Path, topology: str | None) -> tuple[DocumentKind, list[str]]:
    """Return what kind of document `file` holds, and its faults.

    Raises:
        InvalidInput: if it cannot be read, or no kind has its keys.
        UnknownName: if there is no such topology.
    """
    from emulator.cli.document_kinds import keys_in, kind_of
    from emulator.model.catalogue import topology_named

    content = keys_in(file)
    kind = kind_of(content, file)
    if topology is not None:
        topology_named(topology)
    return kind, kind.faults(content, file, topology)
