"""The verbs of campaigns: ``campaign run``, ``sweep``, ``resume``, ``status``, ``list``, ``topology`` and ``stop``.

A shell that completes a name imports this: nothing heavy is imported before a verb runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from emulator.cli import campaign_sweep, completion
from emulator.cli.campaign_options import (
    BandOption,
    CampaignArgument,
    CampaignDilationOption,
    DecisionLimitOption,
    InterarrivalFactorOption,
    JobsOption,
    LocustPageOption,
    NumericsOption,
    PolicyOption,
    QueueOption,
    QuotaOption,
    RepeatVoidOption,
    ReplicasOption,
    ScanAtDeparturesOption,
    ScanIntervalOption,
    TimeScaleOption,
    TopologyOption,
    TriesThresholdOption,
    chosen_campaign,
)
from emulator.cli.dilations import EvenIfHopelessOption, parse_dilation
from emulator.cli.foreign_text import say
from emulator.cli.given_options import given_options, refuse_given
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption, OutOption, SeedOption, run_path
from emulator.cli.required_verdict import RequireOption, check_required
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput, TestbedBusy, TestbedNotUp

if TYPE_CHECKING:
    from emulator.campaigns.live_like_run import RecordedRun
    from workloads.campaign import Campaign

LIKE_OPTIONS: Final = frozenset(
    {"like", "dilation", "even_if_hopeless", "repeat_void", "locust_page", "require", "out", "name", "as_json"}
)
"""The options of `run` that mean something for a run like a recorded one."""

RunnableArgument = Annotated[
    str | None,
    typer.Argument(
        help="Name of a campaign (`testbed list campaigns`), or the path of a campaign file.",
        autocompletion=completion.campaigns,
    ),
]
LikeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Run what this live run did once more: its jobs, policy, seed and dilation, instead of a campaign.",
        autocompletion=completion.runs,
    ),
]

campaigns = typer.Typer(
    help="Run, list and stop campaigns: streams of jobs on a running testbed.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the verbs of campaigns to `app`."""
    campaign_sweep.register(campaigns)
    app.add_typer(campaigns, name="campaign")


@campaigns.command()
def run(
    context: typer.Context,
    campaign: RunnableArgument = None,
    like: LikeOption = None,
    policy: PolicyOption = None,
    topology: TopologyOption = None,
    queue: QueueOption = None,
    quota: QuotaOption = None,
    decision_limit: DecisionLimitOption = None,
    scan_interval: ScanIntervalOption = None,
    tries_threshold: TriesThresholdOption = None,
    scan_at_departures: ScanAtDeparturesOption = None,
    jobs: JobsOption = None,
    seed: SeedOption = 0,
    dilation: CampaignDilationOption = None,
    time_scale: TimeScaleOption = None,
    even_if_hopeless: EvenIfHopelessOption = False,
    band: BandOption = None,
    replicas: ReplicasOption = None,
    interarrival_factor: InterarrivalFactorOption = None,
    numerics: NumericsOption = None,
    repeat_void: RepeatVoidOption = 0,
    locust_page: LocustPageOption = None,
    require: RequireOption = Judgement.SUSPECT,
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Run a campaign and record it, or what a live run did once more (--like).

    Example: testbed campaign run first --jobs 20 --seed 1
    """
    from emulator.campaigns.live import run_campaign
    from emulator.cli.progress import run_progress
    from emulator.cli.run_tables import show_run_directories
    from emulator.runs.container_testbed import testbed_named
    from workloads.custom_sources import carrying_sources

    recorded = None if like is None else _recorded(context, like)
    if recorded is not None:
        seed, (chosen, requested) = recorded.seed, _at_dilation(recorded.campaign, dilation)
    elif campaign is None:
        raise InvalidInput("Give either a campaign to run, or a live run with --like RUN.")
    else:
        chosen, requested = chosen_campaign(
            campaign, queue=queue, policy=policy, dilation=dilation, band=band, replicas=replicas, jobs=jobs,
            topology=topology, time_scale=time_scale, scan_interval_s=scan_interval, tries_threshold=tries_threshold,
            scans_at_departures=scan_at_departures, quota=quota, numerics=numerics,
            decision_limit_cpu_s=decision_limit, interarrival_factor=interarrival_factor, seed=seed,
        )  # fmt: skip
        chosen = carrying_sources(chosen)
    path = run_path(out, chosen.name)
    with testbed_named(name) as testbed, run_progress() as report_progress:
        path = run_campaign(
            testbed, chosen, seed=seed, path=path, report_progress=report_progress, tried=requested is None,
            even_if_hopeless=even_if_hopeless, repeat_void=repeat_void, locust_port=locust_page,
            like=None if recorded is None else recorded.schedule_on(testbed),
        )  # fmt: skip
    verdicts = show_run_directories([path], as_json=as_json)
    print(f"Records: {path}", file=sys.stderr)
    check_required(require, verdicts)


def _recorded(context: typer.Context, like: Path) -> RecordedRun:
    """Return the live run in `like`, which is to be run once more; say whose programs that executes.

    Raises:
        InvalidInput: if it is none, or an option states what the run states.
    """
    from emulator.campaigns.live_like_run import recorded_run

    refuse_given(context, given_options(context) - LIKE_OPTIONS, "a run like another takes this from that run")
    recorded = recorded_run(like)
    if recorded.sources:
        held = ", ".join(recorded.sources)
        say(f"{like}: holds sources of policies ({held}), which are executed now, with your rights.", to_error=True)
    return recorded


def _at_dilation(recorded: Campaign, dilation: str | None) -> tuple[Campaign, float | None]:
    """Return a recorded campaign at the dilation that is asked for, else its own; None if pilots are to find it."""
    if dilation is None:
        return recorded, recorded.dilation
    requested = parse_dilation(dilation)
    return recorded.changed(dilation=requested), requested


@campaigns.command("list")
def list_campaigns(as_json: JsonOption = False) -> None:
    """List the campaigns that come with the testbed.

    Example: testbed campaign list
    """
    from emulator.cli.tables import show_rows
    from workloads.campaign import shipped_campaigns

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
    from workloads.campaign import campaign_named

    say(campaign_named(campaign).topology)


@campaigns.command()
def stop(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[SWEEP]", help="The folder of a sweep that runs, perhaps detached.")
    ] = None,
    name: NameOption = DEFAULT_NAME,
) -> None:
    """End a sweep that runs in the background, or release a testbed still held by a stale run.

    Example: testbed campaign stop runs/w1-sweep-20260101-120000
    """
    if folder is not None:
        from emulator.campaigns.live_sweep_process import end

        number = end(folder)
        say(f"Process {number} has ended (`testbed campaign resume {folder}` goes on with the sweep).")
        return
    from emulator.runs.container_testbed import testbed_named
    from emulator.runs.holding import give_back
    from emulator.runs.input_files import remove_left

    with testbed_named(name) as testbed:
        if testbed.local_users is not None:
            testbed.local_users.clear()
        run = testbed.client.current_run()
        if run is None:
            raise TestbedNotUp("No run holds the testbed, so there is nothing to stop.")
        for failure in give_back(testbed, run):
            raise failure
        left = remove_left(testbed.client, run.request.name)
    if left:
        stays, reason = ", ".join(left), str(next(iter(left.values()))).rstrip(".")
        raise TestbedBusy(
            f"Run {run.id} ({run.request.name}) is ended, but input files of it are left: {stays} ({reason}); remove "
            "each with `testbed files remove`."
        )
    say(f"Run {run.id} ({run.request.name}) is ended; the testbed is free.")
