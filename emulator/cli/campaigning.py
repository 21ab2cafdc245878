"""The verbs of campaigns: ``campaign run``, ``campaign list`` and ``campaign stop``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from emulator.campaigns.holding import give_back
from emulator.campaigns.live import planned, run_campaign
from emulator.campaigns.planning import planned_campaign
from emulator.campaigns.run_directory import read_run
from emulator.campaigns.standing_testbed import testbed_named
from emulator.cli.dilations import (
    EvenIfHopelessOption,
    announce,
    asked_dilation,
    keep_and_show,
    settle,
)
from emulator.cli.reporting import show_summaries
from emulator.cli.run_paths import OutOption, run_path
from emulator.cli.run_progress import run_progress
from emulator.cli.standing import DEFAULT_NAME, NameOption
from emulator.cli.tables import JsonOption, show_rows
from emulator.model.errors import NotStanding
from emulator.reports.summary import summarize
from workloads.campaign import campaign_named, shipped_campaigns
from workloads.own_sources import carrying_sources

campaigns = typer.Typer(help="Campaigns: streams of jobs on a standing testbed.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.add_typer(campaigns, name="campaign")


@campaigns.command()
def run(
    campaign: Annotated[str, typer.Argument(help="Name of a campaign, or the path of a campaign file.")],
    policy: Annotated[
        str | None,
        typer.Option(
            help="Placement policy, instead of the campaign's or, with another queue, what goes with it: a name, or "
            "mypolicy.py:Mine."
        ),
    ] = None,
    queue: Annotated[
        str | None, typer.Option(help="Queue discipline, instead of the campaign's: a name, or mypolicy.py:Mine.")
    ] = None,
    scan_interval: Annotated[
        float | None,
        typer.Option(metavar="S", help="Emulated seconds between scans of the queue, instead of the campaign's."),
    ] = None,
    tries_threshold: Annotated[
        int | None, typer.Option(metavar="N", help="A job tried more often is given up, instead of the campaign's.")
    ] = None,
    scan_at_departures: Annotated[
        bool | None,
        typer.Option(help="Try all waiting jobs also at once when another departs, instead of the campaign's."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Number of jobs, instead of the campaign's.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    dilation: Annotated[
        str | None,
        typer.Option(
            metavar="K|auto", help="Host seconds per emulated second; auto: as planned. [the campaign's, or auto]"
        ),
    ] = None,
    time_scale: Annotated[
        float | None,
        typer.Option(metavar="S", help="Divides times and files, not the links. [the campaign's, or 1]"),
    ] = None,
    even_if_hopeless: EvenIfHopelessOption = False,
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Run a campaign and record it.

    Example: testbed campaign run first --jobs 20 --seed 1
    """
    asked = None if dilation is None else asked_dilation(dilation)
    scheduled = carrying_sources(campaign_named(campaign).scheduled(queue, policy))
    chosen = scheduled.changed(
        jobs=jobs,
        dilation=asked,
        time_scale=time_scale,
        scan_interval_s=scan_interval,
        tries_threshold=tries_threshold,
        scans_at_departures=scan_at_departures,
    )
    if dilation is None and chosen.states_dilation:
        asked = chosen.dilation
    path = run_path(out, chosen.name)
    with testbed_named(name) as testbed, run_progress() as tell:
        planned_run = planned_campaign(chosen, planned(testbed, chosen, seed), seed, testbed.topology)
        settled = settle(planned_run, asked, tell, even_if_hopeless=even_if_hopeless)
        announce(settled, planned=asked is None)
        run_campaign(testbed, chosen.changed(dilation=settled.dilation), seed=seed, path=path, tell=tell)
    keep_and_show(settled, path, as_json=as_json)
    show_summaries([summarize(read_run(path))], as_json=as_json)
    print(f"Records: {path}", file=sys.stderr)


@campaigns.command("list")
def list_campaigns(as_json: JsonOption = False) -> None:
    """The campaigns that come with the testbed.

    Example: testbed campaign list
    """
    rows = [
        {"name": name, "topology": it.topology, "jobs": it.jobs, "description": it.description}
        for name, it in shipped_campaigns().items()
    ]
    show_rows(rows, as_json=as_json)


@campaigns.command()
def stop(name: NameOption = DEFAULT_NAME) -> None:
    """End the run that holds the testbed, whose own command may be gone.

    Example: testbed campaign stop
    """
    with testbed_named(name) as testbed:
        run = testbed.client.current_run()
        if run is None:
            raise NotStanding("No run holds the testbed, so there is nothing to stop.")
        for failure in give_back(testbed, run):
            raise failure
    Console().print(f"Run {run.id} ({run.request.name}) is ended; the testbed is free.")
