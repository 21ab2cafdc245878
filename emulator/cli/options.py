"""Options that several verbs share, and the directory of a run where the user names none."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.model.errors import InvalidInput
from emulator.model.names import DEFAULT_TESTBED, NAME_VARIABLE

DEFAULT_NAME: Final = DEFAULT_TESTBED

NameOption = Annotated[
    str, typer.Option("--name", envvar=NAME_VARIABLE, help="Name of the testbed; several may run side by side.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="The run's directory, new or empty; by default one in ./runs.")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]


def run_path(requested: Path | None, name: str) -> Path:
    """Return the directory asked for, or a new ``runs/NAME-DATE-TIME`` in the working directory."""
    if requested is not None:
        return requested
    base = Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    taken = (base.with_name(f"{base.name}-{number}") for number in range(2, 1000))
    return base if not base.exists() else next(path for path in taken if not path.exists())


def make_folder(folder: Path) -> Path:
    """Make `folder`, with the folders above it, unless it exists, and return it.

    Raises:
        InvalidInput: if that fails.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder}: cannot be made ({error.strerror or error}).") from error
    return folder
