"""The verbs of a standing background load: ``background start``, ``background status`` and ``background stop``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.tables import show_rows
from emulator.model.background import NO_LOCAL_JOBS, Background, Scope, parse_band
from emulator.model.documents import validate

if TYPE_CHECKING:
    from emulator.campaigns.standing_background import StandingStatus

loads = typer.Typer(
    help="Hold a load of other users' jobs on a running testbed, outside of campaigns.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.add_typer(loads, name="background")


@loads.command()
def start(
    band: Annotated[str, typer.Option(metavar="LOW-HIGH", help="Band of the load in percent of all processors.")],
    scope: Annotated[Scope, typer.Option(help="Where the lower end holds.", case_sensitive=False)] = Scope.SYSTEM,
    local_jobs: Annotated[
        Path | None, typer.Option(metavar="FILE.swf", help="A log of local users' jobs.", show_default="none")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
    name: NameOption = DEFAULT_NAME,
) -> None:
    """Start a background load, which a process of its own holds until it is stopped.

    Example: testbed background start --band 30-40
    """
    from emulator.campaigns.standing_background import start as start_holding
    from emulator.containers.state import testbed_state
    from workloads.local_jobs import local_jobs as read_local_jobs

    log = NO_LOCAL_JOBS if local_jobs is None else str(local_jobs.absolute())
    stated = {"band": parse_band(band), "scope": scope, "local_jobs": log}
    background = validate(stated, Background, source="background")
    # What can be wrong with the load is said here, not by the process.
    read_local_jobs(background, testbed_state(name).topology, seed)
    found = start_holding(name, background, seed)
    print(f"Background load of {band}% on the testbed {name!r}, held by process {found.pid}.")


@loads.command()
def status(name: NameOption = DEFAULT_NAME, as_json: JsonOption = False) -> None:
    """Show the background load: processors of dummy, local and grid jobs per cluster, and how the band is kept.

    Example: testbed background status
    """
    from emulator.campaigns.standing_background import status as read_status

    found = read_status(name)
    if as_json:
        print(json.dumps(None if found is None else _record(found), indent=2))
    elif found is None:
        print(f"No standing background load on the testbed {name!r}.")
    else:
        _show(found)


@loads.command()
def stop(name: NameOption = DEFAULT_NAME) -> None:
    """End the background load and cancel all its jobs.

    Example: testbed background stop
    """
    from emulator.campaigns.standing_background import stop as stop_holding

    stop_holding(name)
    print(f"The background load on the testbed {name!r} is ended.")


def _record(found: StandingStatus) -> dict[str, object]:
    return {**found.model_dump(mode="json"), "load": found.load}


def _show(found: StandingStatus) -> None:
    low, high = found.background.band
    rows = [row.model_dump(exclude={"time_s"}) for row in found.clusters]
    kept = "" if found.share_in_band is None else f", in its band for {found.share_in_band:.1%} after the first minute"
    show_rows(rows, as_json=False, title=f"Background load {found.load:.1%} of {low:.0%} to {high:.0%}{kept}")
