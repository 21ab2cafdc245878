"""The verb ``claims``: the published claims on campaigns, decided by recorded and by simulated runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.cli.compiling import compile_simulator
from emulator.cli.completion import runs, topologies
from emulator.cli.foreign_text import say
from emulator.cli.given_options import refuse_given
from emulator.cli.options import JsonOption, make_folder
from emulator.cli.progress import simulations_progress
from emulator.cli.tables import show_rows
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.runs.folders import whole_runs_in

_OF_SIMULATIONS: Final = {"jobs", "topology", "workers", "out"}


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("claims")(claims)


def claims(
    context: typer.Context,
    directories: Annotated[
        list[Path] | None,
        typer.Argument(help="Run directories, or folders of runs.", metavar="[RUN...]", autocompletion=runs),
    ] = None,
    simulate: Annotated[
        int | None,
        typer.Option(metavar="SEEDS", help="Simulate every published campaign too, each with this number of seeds."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Number of jobs of each simulation; by default the published.")
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(help="Topology of the simulations; by default each campaign's own.", autocompletion=topologies),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per processor.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of the simulations; one used before is resumed.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Decide the published claims C29 to C48 by runs of the published campaigns, part by part.

    C29 to C40 are about W1, W2, W30 and W50, and C41 to C48 about SIT and DIT.

    Example: testbed claims runs/w1-* runs/w2-* --simulate 30
    """
    if not directories and simulate is None:
        raise InvalidInput("claims: give run directories, or --simulate SEEDS, or both.")
    if simulate is None:
        refuse_given(context, _OF_SIMULATIONS, "only simulations have this", instead="state --simulate SEEDS")
    recorded = _recorded(directories or ())
    if simulate is not None:
        recorded += _simulated(simulate, jobs, topology, workers, out)
    from emulator.reports.claim_tables import OF_ONE_RUN, claim_objects, claim_table, part_table
    from emulator.runs.timelines import read_timelines
    from emulator.studies.campaign_claims import decided_claims

    decided = decided_claims(read_timelines(directory) for directory in recorded)
    if as_json:
        print(json.dumps(claim_objects(decided), indent=2))
        return
    show_rows(claim_table(decided), as_json=False, title="Claims")
    show_rows(part_table(decided), as_json=False, title=f"Their parts ({OF_ONE_RUN})")


def _recorded(paths: Iterable[Path]) -> list[Path]:
    """Return the runs at `paths`; what does not count in a folder of runs is left out, and named."""
    found: list[Path] = []
    for path in paths:
        whole, left_out = whole_runs_in(path)
        if left_out:
            say(f"left out: {', '.join(left_out)}", to_error=True)
        found += whole
    return found


def _simulated(seeds: int, jobs: int | None, topology: str | None, workers: int | None, out: Path | None) -> list[Path]:
    """Simulate the published campaigns, and return their run directories."""
    compile_simulator()
    from emulator.campaigns.published_cases import published_cases, simulate_cases
    from emulator.simulator.parallel_simulations import Workforce

    if topology is not None:
        topology_named(topology)
    folder = make_folder(out or Path("runs") / f"claims-{datetime.now():%Y%m%d-%H%M%S}")
    cases = published_cases(folder.resolve(), seeds, jobs, topology)
    with Workforce(workers).assembled() as client, simulations_progress("campaigns") as report_progress:
        simulate_cases(cases, client, report_progress)
    print(f"Simulations: {folder}", file=sys.stderr)
    return [case.path for case in cases]
