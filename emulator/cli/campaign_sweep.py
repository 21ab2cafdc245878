"""The verbs ``campaign sweep``, ``campaign resume`` and ``campaign status``."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from emulator.cli import completion
from emulator.cli.campaign_options import (
    BandOption,
    CampaignArgument,
    CampaignDilationOption,
    InterarrivalFactorOption,
    JobsOption,
    NumericsOption,
    QuotaOption,
    RepeatVoidOption,
    ReplicasOption,
    TimeScaleOption,
    TopologyOption,
    chosen_campaign,
)
from emulator.cli.dilations import EvenIfHopelessOption
from emulator.cli.foreign_text import say
from emulator.cli.given_options import refuse_given
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption, run_path
from emulator.cli.required_verdict import RequireOption, check_required
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput, TestbedNotUp

if TYPE_CHECKING:
    from emulator.campaigns.live_sweep import LiveSweep, RunStatus

MOST_SEEDS: Final = 1000
_HOST_LOOK_ROUND_S: Final = 2.0

SweepArgument = Annotated[
    Path,
    typer.Argument(
        help="Folder of a sweep, or directory of a campaign.", metavar="DIR", autocompletion=completion.runs
    ),
]
PoliciesOption = Annotated[
    str,
    typer.Option(
        "--policy",
        "--policies",
        help="Placement policies, joined by commas.",
        show_default="the campaign's",
        autocompletion=completion.policies,
    ),
]
QueuesOption = Annotated[
    str,
    typer.Option(
        "--queue",
        "--queues",
        help="Queue disciplines, joined by commas.",
        show_default="the campaign's",
        autocompletion=completion.queues,
    ),
]
SeedsOption = Annotated[str, typer.Option(help="Seeds, such as 1-3 or 1,5.")]
RepeatsOption = Annotated[
    int,
    typer.Option("--repeats", metavar="N", min=1, help="Make each run N times with the same seed: their spread shows."),
]
DetachOption = Annotated[bool, typer.Option("--detach", help="Run it in a process of its own, and return at once.")]
DetachRestOption = Annotated[
    bool, typer.Option("--detach", help="Go on with a sweep in a process of its own, and return at once.")
]
VoidOption = Annotated[
    bool, typer.Option("--void", help="Run what is void once more, too; what it recorded is kept beside it.")
]
SweepFolderOption = Annotated[
    Path | None,
    typer.Option("--out", help="The sweep's folder: new, or one to go on with or to extend; else one in ./runs."),
]


def register(campaigns: typer.Typer) -> None:
    """Add the verbs of this file to those of campaigns."""
    for verb in (sweep, resume, status):
        campaigns.command()(verb)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds in a list such as ``1-3`` or ``1,5,7-9``.

    Raises:
        InvalidInput: if it is no such list, or names more than `MOST_SEEDS`.
    """
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InvalidInput(f"--seeds: must be whole numbers such as 1-3 or 1,5, not {text!r}.")
        begin, end = int(first), int(last) if dash else int(first)
        if end < begin:
            raise InvalidInput(f"--seeds: {part.strip()} goes backwards; write {end}-{begin}.")
        if len(seeds) + end - begin >= MOST_SEEDS:
            raise InvalidInput(f"--seeds: at most {MOST_SEEDS} seeds, not as many as {text!r} names.")
        seeds += range(begin, end + 1)
    return tuple(seeds)


def sweep(
    campaign: CampaignArgument,
    policy: PoliciesOption = "",
    seeds: SeedsOption = "1",
    repeats: RepeatsOption = 1,
    topology: TopologyOption = None,
    queues: QueuesOption = "",
    quota: QuotaOption = None,
    jobs: JobsOption = None,
    dilation: CampaignDilationOption = None,
    time_scale: TimeScaleOption = None,
    even_if_hopeless: EvenIfHopelessOption = False,
    band: BandOption = None,
    replicas: ReplicasOption = None,
    interarrival_factor: InterarrivalFactorOption = None,
    numerics: NumericsOption = None,
    repeat_void: RepeatVoidOption = 0,
    detached: DetachOption = False,
    require: RequireOption = Judgement.SUSPECT,
    out: SweepFolderOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Run a campaign under several policies, queues and seeds, one run after another, in one folder.

    Example: testbed campaign sweep W1 --policy wf,cm,fcm --seeds 1-3 --time-scale 10
    """
    from emulator.campaigns import live_sweep
    from emulator.campaigns.live_sweep_process import detach
    from emulator.runs.container_testbed import testbed_named

    numbers = parse_seeds(seeds)
    choose = partial(
        chosen_campaign, campaign, queue=None, dilation=dilation, band=band, replicas=replicas, jobs=jobs,
        time_scale=time_scale, topology=topology, quota=quota, numerics=numerics,
        interarrival_factor=interarrival_factor,
    )  # fmt: skip
    chosen, requested = choose(seed=numbers[0])
    planned = live_sweep.sweep_of(
        chosen, _names(policy), numbers, queues=_names(queues), repeats=repeats, dilation=requested,
        repeat_void=repeat_void, even_if_hopeless=even_if_hopeless, of_seed=lambda seed: choose(seed=seed)[0],
    )  # fmt: skip
    _say_what_seeds_draw(planned)
    path = run_path(out, f"{chosen.name}-sweep")
    joined = live_sweep.joined_sweep(path, planned)
    with testbed_named(name) as testbed:
        live_sweep.check_sweep(testbed, path, joined)
    live_sweep.begin_sweep(path, planned)
    if detached:
        _say_detached(detach(path, name), path, as_json=as_json)
        return
    _run(path, name, require, as_json=as_json)


def _say_what_seeds_draw(planned: LiveSweep) -> None:
    """Say it if a sweep has several seeds, and the jobs are the same with all of them."""
    from emulator.model.catalogue import topology_named
    from emulator.runs.seeds import drawn_by_seed, same_jobs_in_words

    campaigns = {(run.campaign.policy, run.campaign.queue): run.campaign for run in planned.runs}.values()
    drawn = dict.fromkeys(
        name
        for campaign in campaigns
        for name in drawn_by_seed(campaign.model_dump(mode="json"), campaign.queue, topology_named(campaign.topology))
    )
    said = same_jobs_in_words(planned.runs[0].campaign.name, tuple(drawn))
    if said and len({run.seed for run in planned.runs}) > 1:
        say(said, to_error=True)


def resume(
    context: typer.Context,
    directory: SweepArgument,
    void_again: VoidOption = False,
    even_if_hopeless: EvenIfHopelessOption = False,
    repeat_void: RepeatVoidOption = 0,
    detached: DetachRestOption = False,
    require: RequireOption = Judgement.SUSPECT,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Run what is left of a sweep, or a campaign that was interrupted once more from its first job.

    Example: testbed campaign resume runs/w1-sweep-20260101-120000
    """
    from emulator.campaigns import live_sweep
    from emulator.campaigns.live_sweep_process import detach
    from emulator.campaigns.run_again import rerun_campaign
    from emulator.cli.progress import run_progress
    from emulator.cli.run_tables import show_run_directories
    from emulator.runs.container_testbed import testbed_named

    if live_sweep.is_sweep(directory):
        refuse_given(context, {"even_if_hopeless", "repeat_void"}, "a sweep goes on as it began")
        if detached:
            with testbed_named(name) as testbed:
                live_sweep.check_sweep(testbed, directory, live_sweep.read_sweep(directory), void_again=void_again)
            _say_detached(detach(directory, name, void_again=void_again), directory, as_json=as_json)
        else:
            _run(directory, name, require, void_again=void_again, as_json=as_json)
        return
    refuse_given(context, {"detached"}, f"{directory} is no sweep's folder")
    with testbed_named(name) as testbed, run_progress() as report_progress:
        path = rerun_campaign(
            testbed, directory, report_progress, void_again=void_again, repeat_void=repeat_void,
            even_if_hopeless=even_if_hopeless,
        )  # fmt: skip
    check_required(require, show_run_directories([path], as_json=as_json))


def status(
    directory: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of a sweep, or directory of a campaign; else what holds the testbed.",
            metavar="[DIR]",
            autocompletion=completion.runs,
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Show it again at every change, until it has ended.")
    ] = False,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Show how far a sweep or a campaign is.

    Example: testbed campaign status runs/w1-sweep-20260101-120000 --follow
    """  # fmt: skip
    from emulator.cli.tables import show_rows

    before: list[dict[str, object]] | None = None
    while True:
        rows, ended = _on_testbed(name, before) if directory is None else _recorded(directory)
        if rows != before:
            show_rows(rows, as_json=as_json)
            before = rows
        if ended and directory is not None:
            _say_if_left(directory, rows)
        if ended or not follow:
            return
        time.sleep(_HOST_LOOK_ROUND_S)


def _say_detached(process: int, path: Path, *, as_json: bool) -> None:
    """Print which process runs the sweep in `path`."""
    if as_json:
        print(json.dumps([{"process": process, "folder": str(path)}], indent=2))
    else:
        say(f"Process {process} runs the sweep in {path} (`testbed campaign status {path} --follow`).")


def _names(text: str) -> tuple[str, ...]:
    """Return the names in `text`, which commas join."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def _run(path: Path, name: str, require: Judgement, *, as_json: bool, void_again: bool = False) -> None:
    """Run what is left of the sweep in `path`, with `void_again` also what is void, and show all of its runs."""
    from emulator.campaigns import live_sweep
    from emulator.cli.progress import run_progress
    from emulator.cli.run_tables import show_run_directories
    from emulator.runs.container_testbed import testbed_named

    with testbed_named(name) as testbed, run_progress() as report_progress:
        begun = live_sweep.read_sweep(path)
        found = live_sweep.run_sweep(testbed, path, begun, report_progress, void_again=void_again)
    verdicts = show_run_directories([each.path for each in found], as_json=as_json)
    print(f"Records: {path}", file=sys.stderr)
    check_required(require, verdicts)


def _recorded(directory: Path) -> tuple[list[dict[str, object]], bool]:
    """Return how far the runs in `directory` are, and whether nothing more will happen there."""
    from emulator.campaigns import live_sweep
    from emulator.campaigns.live_sweep_process import is_running
    from emulator.model.process_lock import is_locked
    from emulator.model.records import JobRow, RunProgress
    from emulator.runs.run_directory import WRITING, read_manifest, read_rows

    if live_sweep.is_sweep(directory):
        going = is_running(directory)
        found = live_sweep.statuses(directory, live_sweep.read_sweep(directory))
        return [_row(each) for each in found], not going
    written = is_locked(directory / WRITING)  # asked before the manifest is read, whose last change it makes
    manifest = read_manifest(directory)
    ended = len(read_rows(directory, JobRow))
    is_left = manifest.progress is RunProgress.RUNNING and not written
    state = live_sweep.RunState.INTERRUPTED if is_left else manifest.progress
    row: dict[str, object] = {
        "run": str(directory), "policy": manifest.policy, "queue": manifest.queue, "seed": manifest.seed,
        "state": state.value, "jobs": f"{ended} of {manifest.jobs}",
        "verdict": manifest.verdict if manifest.progress is RunProgress.COMPLETE else "",
    }  # fmt: skip
    return [row], is_left or manifest.progress is not RunProgress.RUNNING


def _say_if_left(directory: Path, rows: list[dict[str, object]]) -> None:
    """Say in a line that nothing runs in `directory` though not all of `rows` are complete, or some are void."""
    from emulator.model.records import RunProgress

    if any(row["state"] != RunProgress.COMPLETE.value for row in rows):
        say(f"No process runs {directory}, and it is not complete ({_how_to_go_on(directory)}).", to_error=True)
    elif any(row["verdict"] == Judgement.VOID.value for row in rows) and _can_run_again(directory):
        say(f"What is void can run once more: `testbed campaign resume {directory} --void`.", to_error=True)


def _how_to_go_on(directory: Path) -> str:
    """Return, as words in brackets, which command completes what is in `directory`; a simulation has none."""
    from emulator.model.records import RunKind
    from emulator.runs.run_directory import read_manifest

    if _can_run_again(directory):
        command = f"testbed campaign resume {directory}"
    elif read_manifest(directory).kind is RunKind.MEASUREMENT:
        command = f"testbed measure --resume {directory}"
    else:
        return "no simulation goes on: remove it, and give the command that made it again"
    return f"`{command}` runs what is left; if the testbed is still held, `testbed campaign stop` frees it first"


def _can_run_again(directory: Path) -> bool:
    """Return whether `directory` holds a sweep or a live campaign, which `campaign resume` takes."""
    from emulator.campaigns.live_sweep import is_sweep
    from emulator.model.records import RunKind
    from emulator.runs.run_directory import read_manifest

    return is_sweep(directory) or read_manifest(directory).kind is RunKind.CAMPAIGN


def _row(found: RunStatus) -> dict[str, object]:
    campaign = found.run.campaign
    return {
        "run": found.path.name, "policy": campaign.policy, "queue": campaign.queue, "seed": found.run.seed,
        "state": found.state.value, "jobs": f"{found.ended} of {found.jobs}", "verdict": found.verdict,
    }  # fmt: skip


def _on_testbed(name: str, before: list[dict[str, object]] | None) -> tuple[list[dict[str, object]], bool]:
    """Return the run that holds the testbed, with its jobs by state; if it has ended since `before`, that.

    Beside it stands whether nothing more will happen; if so because its process is gone, a line says it.

    Raises:
        TestbedNotUp: if none does.
    """
    from emulator.runs.container_testbed import testbed_named

    with testbed_named(name) as testbed:
        run = testbed.client.current_run()
        if run is None:
            if before is not None:
                return before, True
            raise TestbedNotUp("No run holds the testbed (name the folder of one: `testbed campaign status DIR`).")
        states = Counter(job.state.value for job in testbed.client.jobs(run.id))
        is_orphaned = testbed.is_orphaned(run)
    jobs = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    row: dict[str, object] = {
        "run": run.request.name, "policy": run.request.policy, "queue": run.request.queue, "seed": run.request.seed,
        "state": run.state.value, "dilation": run.request.dilation, "jobs": jobs,
    }  # fmt: skip
    if is_orphaned:
        say(
            f"The process of run {run.id} ({run.request.name}) is gone, and its run still holds the testbed "
            "(`testbed campaign stop` frees it).",
            to_error=True,
        )
    return [row], is_orphaned
