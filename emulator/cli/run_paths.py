"""Where a run's directory goes unless the user says otherwise: ``runs/NAME-DATE-TIME`` in the working directory."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

OutOption = Annotated[
    Path | None, typer.Option("--out", help="The run's directory, new or empty; by default one in ./runs.")
]


def run_path(asked: Path | None, name: str) -> Path:
    """The directory asked for, or a new one that tells the run's name and moment."""
    if asked is not None:
        return asked
    base = Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    taken = (base.with_name(f"{base.name}-{number}") for number in range(2, 1000))
    return base if not base.exists() else next(path for path in taken if not path.exists())
