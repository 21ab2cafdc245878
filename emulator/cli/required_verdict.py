"""The option ``--require`` of the verbs that measure: how bad a verdict may be before the command exits with code 3."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from emulator.fidelity.judgement import Judgement
from emulator.model.errors import VerdictTooLow

RequireOption = Annotated[
    Judgement,
    typer.Option("--require", case_sensitive=False, help="Exit with code 3 if a verdict is worse than this."),
]


def check_required(required: Judgement, verdicts: Iterable[str]) -> None:
    """Hold `verdicts` against the one `required`; call it last, when everything is recorded and shown.

    Raises:
        VerdictTooLow: if one of them is worse.
    """
    worst = max(map(Judgement, verdicts), key=lambda judgement: judgement.severity, default=Judgement.VALID)
    if worst.severity > required.severity:
        raise VerdictTooLow(
            f"The verdict is {worst}, and {required} was required: do not use the figures before you have read the "
            f"reasons above (`--require {worst}` accepts them)."
        )
