"""The option ``--dilation K|auto`` of the verbs that run something."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from emulator.model.errors import InvalidInput

AUTO: Final = "auto"

DilationOption = Annotated[
    str, typer.Option("--dilation", metavar="K|auto", help="Host seconds per emulated second; auto: found by pilots.")
]
EvenIfHopelessOption = Annotated[
    bool, typer.Option("--even-if-hopeless", help="Run even what this host's memory or disk cannot hold.")
]


def parse_dilation(text: str) -> float | None:
    """Return the number that ``--dilation`` states; None if pilots are to find it.

    Raises:
        InvalidInput: if it is neither.
    """
    if text == AUTO:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput(f"--dilation: must be a number or {AUTO!r}, not {text!r}.") from error
