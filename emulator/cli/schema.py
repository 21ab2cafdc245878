"""The verb ``schema``: what a document may hold, as JSON schema."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class SchemaName(StrEnum):
    """The documents that have a schema."""

    TOPOLOGY = "topology"
    CAMPAIGN = "campaign"
    JOB = "job"
    PROCESSOR = "processor"
    HOSTS = "hosts"


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("schema")(show_schema)


def show_schema(
    name: Annotated[SchemaName, typer.Argument(help="Which document.", case_sensitive=False)],
) -> None:
    """Print the JSON schema of a document, for editors and other programs.

    Example: testbed schema topology
    """
    from emulator.cli.document_kinds import schema_text

    print(schema_text(name.value), end="")
