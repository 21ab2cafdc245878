"""The verbs of campaigns: ``campaign run``, ``campaign list`` and ``campaign stop``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from emulator.campaigns.live import run_campaign
from emulator.cli import completion
from emulator.cli.dilations import EvenIfHopelessOption, parse_dilation
from emulator.cli.foreign_text import say
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption, OutOption, run_path
from emulator.cli.progress import run_progress
from emulator.cli.report import show_summaries
from emulator.cli.required_verdict import RequireOption, check_required
from emulator.cli.tables import show_rows
from emulator.fidelity.verdict import Judgement
from emulator.model.errors import TestbedNotUp
from emulator.policies.names import LIVE_QUEUE_CHOICES, POLICY_CHOICES
from emulator.reports.summary import summarize
from emulator.runs.container_testbed import testbed_named
from emulator.runs.holding import give_back
from emulator.runs.run_directory import read_run
from workloads.campaign import campaign_named, shipped_campaigns
from workloads.custom_sources import carrying_sources

campaigns = typer.Typer(
    help="Run, list and stop campaigns: streams of jobs on a running testbed.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.add_typer(campaigns, name="campaign")


CampaignArgument = Annotated[
    str,
    typer.Argument(
        help="Name of a campaign (`testbed list campaigns`), or the path of a campaign file.",
        autocompletion=completion.campaigns,
    ),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        help="Placement policy, instead of the campaign's or, with another queue, what goes with it: "
        f"{POLICY_CHOICES}.",
        autocompletion=completion.policies,
    ),
]
QueueOption = Annotated[
    str | None,
    typer.Option(
        help=f"Queue discipline, instead of the campaign's: {LIVE_QUEUE_CHOICES}.", autocompletion=completion.queues
    ),
]
QuotaOption = Annotated[
    float | None, typer.Option(help="Share of each cluster that its jobs may fill, instead of the campaign's.")
]
ScanIntervalOption = Annotated[
    float | None,
    typer.Option(metavar="S", help="Emulated seconds between scans of the queue, instead of the campaign's."),
]
TriesThresholdOption = Annotated[
    int | None, typer.Option(metavar="N", help="A job tried more often is given up, instead of the campaign's.")
]
ScanAtDeparturesOption = Annotated[
    bool | None, typer.Option(help="Try all waiting jobs also at once when another departs, instead of the campaign's.")
]
CampaignDilationOption = Annotated[
    str | None,
    typer.Option(
        metavar="K|auto", help="Host seconds per emulated second; auto: found by pilots. [the campaign's, or auto]"
    ),
]
TimeScaleOption = Annotated[
    float | None, typer.Option(metavar="S", help="Divides times and files, not the links. [the campaign's, or 1]")
]
RepeatVoidOption = Annotated[
    int, typer.Option(metavar="N", min=0, max=10, help="Repeat it up to N times if its background load makes it void.")
]
BandOption = Annotated[
    str | None,
    typer.Option(metavar="LOW-HIGH|none", help="Band of the background load in percent, instead of the campaign's."),
]
ReplicasOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Replicas of every input file, at different sites. [the campaign's]"),
]


@campaigns.command()
def run(
    campaign: CampaignArgument,
    policy: PolicyOption = None,
    queue: QueueOption = None,
    quota: QuotaOption = None,
    scan_interval: ScanIntervalOption = None,
    tries_threshold: TriesThresholdOption = None,
    scan_at_departures: ScanAtDeparturesOption = None,
    jobs: Annotated[int | None, typer.Option(help="Number of jobs, instead of the campaign's.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    dilation: CampaignDilationOption = None,
    time_scale: TimeScaleOption = None,
    even_if_hopeless: EvenIfHopelessOption = False,
    band: BandOption = None,
    replicas: ReplicasOption = None,
    repeat_void: RepeatVoidOption = 0,
    require: RequireOption = Judgement.SUSPECT,
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Run a campaign and record it.

    Example: testbed campaign run first --jobs 20 --seed 1
    """
    requested = None if dilation is None else parse_dilation(dilation)
    scheduled = carrying_sources(campaign_named(campaign).scheduled(queue, policy))
    chosen = scheduled.changed(
        jobs=jobs,
        dilation=requested,
        time_scale=time_scale,
        scan_interval_s=scan_interval,
        tries_threshold=tries_threshold,
        scans_at_departures=scan_at_departures,
        quota=quota,
    )
    chosen = chosen.under_band(band).replicated(replicas)
    if dilation is None and chosen.states_dilation:
        requested = chosen.dilation
    path = run_path(out, chosen.name)
    with testbed_named(name) as testbed, run_progress() as report_progress:
        path = run_campaign(
            testbed,
            chosen,
            seed=seed,
            path=path,
            report_progress=report_progress,
            tried=requested is None,
            even_if_hopeless=even_if_hopeless,
            repeat_void=repeat_void,
        )
    recorded = read_run(path)
    show_summaries([summarize(recorded)], as_json=as_json)
    print(f"Records: {path}", file=sys.stderr)
    check_required(require, [recorded.manifest.verdict])


@campaigns.command("list")
def list_campaigns(as_json: JsonOption = False) -> None:
    """List the campaigns that come with the testbed.

    Example: testbed campaign list
    """
    rows = [
        {"name": name, "topology": found.topology, "jobs": found.jobs, "description": found.description}
        for name, found in shipped_campaigns().items()
    ]
    show_rows(rows, as_json=as_json)


@campaigns.command("topology")
def show_topology(campaign: CampaignArgument) -> None:
    """Print the name of the topology that a campaign runs on.

    Example: testbed campaign topology W1
    """
    print(campaign_named(campaign).topology)


@campaigns.command()
def stop(name: NameOption = DEFAULT_NAME) -> None:
    """Release a testbed still held by a stale run.

    Example: testbed campaign stop
    """
    with testbed_named(name) as testbed:
        if testbed.local_users is not None:
            testbed.local_users.clear()
        run = testbed.client.current_run()
        if run is None:
            raise TestbedNotUp("No run holds the testbed, so there is nothing to stop.")
        for failure in give_back(testbed, run):
            raise failure
    say(f"Run {run.id} ({run.request.name}) is ended; the testbed is free.")
