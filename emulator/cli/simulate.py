"""The verb ``simulate``: a workload through the simulator, with the policies that the live broker runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from emulator.cli.compiling import compile_simulator
from emulator.cli.completion import policies, queues, runs, topologies, workloads
from emulator.cli.foreign_text import say
from emulator.cli.given_options import given_options, refuse_given
from emulator.cli.options import JsonOption
from emulator.cli.required_verdict import RequireOption, check_required
from emulator.cli.simulation_options import (
    EstimateFactorOption,
    FactorsOption,
    GeneratedOption,
    InterarrivalFactorOption,
    JobsOption,
    JobsPerLinkOption,
    MiddlewareOption,
    ReplicasOption,
    TimeScaleOption,
    WarmUpOption,
)
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput
from emulator.model.times import Times
from emulator.policies.names import POLICY_CHOICES, QUEUE_CHOICES, check_policy_name, check_queue_name

if TYPE_CHECKING:
    from emulator.campaigns.simulated_workload import SimulatedWorkload, SimulationOptions

    Preparing = Callable[[Path | None], tuple[SimulatedWorkload, SimulationOptions]]

LIKE_OPTIONS: Final = frozenset(
    {"like", "times", "extension_factors", "grid", "estimate_factor", "jobs_per_link", "warm_up", "seed"}
    | {"jobs_out", "out", "require", "as_json"}
)
"""The options that mean something for a simulation like a run."""

WorkloadArgument = Annotated[
    str | None,
    typer.Argument(
        help="A campaign, a job list FILE.jsonl, a log FILE.swf, or a study's stream.", autocompletion=workloads
    ),
]
PolicyOption = Annotated[str | None, typer.Option(help=f"Placement policy: {POLICY_CHOICES}.", autocompletion=policies)]
QueueOption = Annotated[str | None, typer.Option(help=f"Queue discipline: {QUEUE_CHOICES}.", autocompletion=queues)]
QuotaOption = Annotated[
    float | None,
    typer.Option(help="Share of each cluster that jobs may fill.", show_default="the campaign's, or all of it"),
]
TopologyOption = Annotated[
    str | None, typer.Option(help="Topology: a name (`testbed list topologies`) or a file.", autocompletion=topologies)
]
GridOption = Annotated[
    int | None, typer.Option(help="Which grid's factors count, where a table holds several of an application.")
]
BandOption = Annotated[
    str | None,
    typer.Option(metavar="LOW-HIGH|none", help="Band of a campaign's background load in percent, instead of its own."),
]
LoadOption = Annotated[float | None, typer.Option(help="Gross utilization of a study's stream.")]
ComponentLimitOption = Annotated[int | None, typer.Option(help="Split the jobs of a log by this size.")]
JobsOutOption = Annotated[Path | None, typer.Option(help="Where to write the outcome of each job (JSON lines).")]
RunOutOption = Annotated[
    Path | None, typer.Option("--out", help="Leave a run's directory here, new or empty, as a live run does.")
]
LikeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Simulate what this live run did, or each of the live runs in a folder, instead of a workload.",
        autocompletion=runs,
    ),
]
TimesOption = Annotated[
    Times | None,
    typer.Option(
        help="With --like: execution times by the model, or those that the run measured.", show_default="model"
    ),
]


SeedOption = Annotated[
    int,
    typer.Option(
        min=0,
        help="Seed of every random choice; with --like, of how long releases, logins and checks took, each in place of "
        "its mean.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("simulate")(simulate)


def simulate(
    context: typer.Context,
    workload: WorkloadArgument = None,
    like: LikeOption = None,
    times: TimesOption = None,
    policy: PolicyOption = None,
    queue: QueueOption = None,
    quota: QuotaOption = None,
    topology: TopologyOption = None,
    clusters: GeneratedOption = None,
    extension_factors: FactorsOption = None,
    grid: GridOption = None,
    estimate_factor: EstimateFactorOption = None,
    jobs_per_link: JobsPerLinkOption = None,
    band: BandOption = None,
    replicas: ReplicasOption = None,
    interarrival_factor: InterarrivalFactorOption = None,
    time_scale: TimeScaleOption = None,
    jobs: JobsOption = None,
    load: LoadOption = None,
    component_limit: ComponentLimitOption = None,
    warm_up: WarmUpOption = 0,
    middleware: MiddlewareOption = None,
    jobs_out: JobsOutOption = None,
    out: RunOutOption = None,
    seed: SeedOption = 0,
    require: RequireOption = Judgement.SUSPECT,
    as_json: JsonOption = False,
) -> None:
    """Simulate a workload under a placement policy and a queue discipline, or what a live run did (--like).

    Example: testbed simulate jobs.jsonl --queue ls-do --topology four-by-32 --jobs-out outcomes.jsonl
    """
    from emulator.runs.folders import is_folder_of_runs

    _check_subject(context, workload, like)
    if policy is not None:
        check_policy_name(policy)
    if queue is not None:
        check_queue_name(queue)
    draw = seed if "seed" in given_options(context) else None
    prepare = partial(
        _prepared, workload, times, tuple(extension_factors or ()), grid, draw, topology=topology, clusters=clusters,
        policy=policy, queue=queue, quota=quota, band=band, replicas=replicas, jobs=jobs, load=load,
        interarrival_factor=interarrival_factor, time_scale=time_scale,
        component_limit=component_limit, warm_up_jobs=warm_up, seed=seed, middleware=middleware,
        estimate_factor=estimate_factor, jobs_per_link=jobs_per_link,
    )  # fmt: skip
    if like is not None and is_folder_of_runs(like):
        verdicts = _simulate_folder(like, prepare, jobs_out, out, as_json=as_json)
        _say_what_is_recorded(out, warm_up)
        check_required(require, verdicts)
        return
    compile_simulator(partial(prepare, like))
    from emulator.campaigns.simulated import simulate_prepared
    from emulator.cli.simulation_tables import show_simulation

    subject, options = prepare(like)
    result = simulate_prepared(subject, options, jobs_out, out)
    verdict = show_simulation(subject, result, as_json=as_json)
    _say_what_is_recorded(out, warm_up)
    check_required(require, [verdict])


def _simulate_folder(
    folder: Path, prepare: Preparing, jobs_out: Path | None, out: Path | None, *, as_json: bool
) -> list[Judgement]:
    """Simulate what each live run in `folder` did, each into a folder of the same name in `out`; return the verdicts.

    Simulations of these runs that are in `out` are kept. If it fails or is interrupted, it leaves no new one there.

    Raises:
        InvalidInput: if no folder is named for them, or the one that is named holds something else.
    """
    from emulator.runs.folders import all_or_none, live_runs_in
    from emulator.runs.run_directory import check_free, read_manifest

    if out is None or jobs_out is not None:
        raise InvalidInput(
            f"{folder} is a folder of runs: name a folder for their simulations with --out (and no --jobs-out)."
        )
    found = live_runs_in(folder)
    before = _simulations_in(out)
    compile_simulator(partial(prepare, found.runs[0]))
    from emulator.campaigns.simulated import simulate_prepared
    from emulator.cli.simulation_tables import show_simulations

    # All are read before the first is simulated, so that a bad one leaves nothing half done.
    prepared = {run.name: prepare(run) for run in found.runs}
    kept = [name for name in prepared if name in before]
    _check_recorded(out, {name: prepared.pop(name) for name in kept})
    for name in prepared:
        check_free(out / name)
    made: list[Path] = []
    simulated = {}
    with all_or_none(made):
        for name, (subject, options) in prepared.items():
            check_free(out / name)  # another process may have made it meanwhile
            made.append(out / name)
            simulated[name] = (subject, simulate_prepared(subject, options, None, out / name))
    verdicts = show_simulations(simulated, as_json=as_json) if simulated or as_json else []
    if kept:
        say(f"Simulated before, and kept: {', '.join(kept)}.", to_error=True)
        verdicts += [Judgement(read_manifest(out / name).verdict) for name in kept]
    if found.left_out:
        say(f"Left out: {', '.join(found.left_out)}.", to_error=True)
    return verdicts


def _simulations_in(out: Path) -> set[str]:
    """Return the names of the simulations in the folder `out`.

    Raises:
        InvalidInput: if it holds something else.
    """
    from emulator.model.records import RunKind
    from emulator.runs.folders import is_folder_of_runs, runs_in
    from emulator.runs.run_directory import check_free, read_manifest

    runs = runs_in(out) if is_folder_of_runs(out) else []
    if not runs or any(read_manifest(run).kind is not RunKind.SIMULATION for run in runs):
        check_free(out)
    return {run.name for run in runs}


def _check_recorded(out: Path, prepared: Mapping[str, tuple[SimulatedWorkload, SimulationOptions]]) -> None:
    """Raise `InvalidInput` unless each folder in `out` that is named holds the simulation that was `prepared`."""
    from emulator.campaigns.simulated import is_recorded

    for name, (subject, options) in prepared.items():
        if not is_recorded(out / name, subject, options):
            raise InvalidInput(
                f"{out / name}: is no whole simulation of that run, as it is now, under these options, or another "
                "version of the simulator made it (remove it, or choose another folder with --out)."
            )


def _say_what_is_recorded(out: Path | None, warm_up: int) -> None:
    """Say that a record holds the jobs of the warm-up too, which the printed times leave out."""
    if out is not None and warm_up:
        say(f"{out}: holds all jobs; `report` and `compare` count those of the warm-up as well.", to_error=True)


def _check_subject(context: typer.Context, workload: str | None, like: Path | None) -> None:
    """Raise `InvalidInput` unless either a workload or a run is named, with options that mean something for it."""
    if (workload is None) == (like is None):
        raise InvalidInput("Give either a workload to simulate, or a live run with --like RUN.")
    if like is None:
        refuse_given(context, {"times"}, "goes with --like RUN")
    else:
        unused = given_options(context) - LIKE_OPTIONS
        refuse_given(context, unused, "a simulation like a run takes this from the run")


def _prepared(
    workload: str | None,
    times: Times | None,
    extension_factors: tuple[str, ...],
    grid: int | None,
    draw: int | None,
    like: Path | None,
    **chosen: Any,
) -> tuple[SimulatedWorkload, SimulationOptions]:
    """Return what is to be simulated, and how.

    Raises:
        TestbedError: if a document, a name or an option is wrong.
    """
    from emulator.campaigns.like_run import like_run
    from emulator.campaigns.simulated_workload import SimulationOptions
    from emulator.campaigns.workload_sources import factors_named, prepared

    options = SimulationOptions(runtime=factors_named(extension_factors, grid), **chosen)
    if workload is not None:
        return prepared(workload, options), options
    if like is None:
        raise InvalidInput("--like: name a live run's directory.")
    return like_run(like, times or Times.MODEL, options.runtime, draw), options
