"""The options of the verbs that report on runs and compare them.

A shell that completes a name imports this: nothing heavy is imported before a verb runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.cli.completion import policies
from emulator.model.errors import InvalidInput
from emulator.reports.figures.figure import DEFAULT_FORMATS, FORMATS

FiguresOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Write every figure in the formats of --formats, and its data as CSV."),
]
FormatsOption = Annotated[
    str, typer.Option("--formats", metavar="LIST", help="Formats of figures: svg, png, pdf, joined by commas.")
]
FirstOption = Annotated[
    str | None,
    typer.Option(
        "--first",
        metavar="POLICY",
        help="The policy that others are compared with.",
        show_default="that of the first run",
        autocompletion=policies,
    ),
]
DEFAULT_FORMATS_TEXT: Final = ",".join(DEFAULT_FORMATS)


def parsed_formats(text: str) -> tuple[str, ...]:
    """Return the formats in a list such as ``svg,pdf``, each once.

    Raises:
        InvalidInput: if figures cannot have one of them.
    """
    asked = dict.fromkeys(part.strip().lower() for part in text.split(","))
    unknown = [name for name in asked if name not in FORMATS]
    if unknown:
        raise InvalidInput(f"--formats: must be some of {', '.join(FORMATS)}, not {unknown[0]!r}.")
    return tuple(asked)
