"""The verbs about what stands: ``doctor``, ``up``, ``down``, ``status``, ``shell`` and ``logs``."""

from __future__ import annotations

from typing import Annotated

import typer

NameOption = Annotated[
    str, typer.Option("--name", envvar="TESTBED_NAME", help="Name of the testbed; several may stand side by side.")
]
DEFAULT_NAME = "testbed"


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.command()(doctor)


def doctor() -> None:
    """What this host has and lacks for a testbed, and what to do about it.  Example: testbed doctor"""
