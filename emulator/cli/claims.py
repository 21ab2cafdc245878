"""The verb ``claims``: the published claims on campaigns, decided by recorded runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from emulator.cli.completion import runs
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("claims")(claims)


def claims(
    directories: Annotated[list[Path], typer.Argument(help="Run directories.", metavar="RUN...", autocompletion=runs)],
    as_json: JsonOption = False,
) -> None:
    """Decide the published claims C29 to C40 by runs of W1, W2, W30 and W50, part by part.

    Example: testbed claims runs/w1-* runs/w2-*
    """
    from emulator.reports.reproduction_tables import claim_objects, claim_table, part_table
    from emulator.runs.timelines import read_timelines
    from emulator.studies.campaign_claims import decided_claims

    decided = decided_claims([read_timelines(directory) for directory in directories])
    if as_json:
        print(json.dumps(claim_objects(decided), indent=2))
        return
    show_rows(claim_table(decided), as_json=False, title="Claims")
    show_rows(part_table(decided), as_json=False, title="Their parts")
