"""The verb ``share``: jobs that share nodes with each other and with local users, through the simulator."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from emulator.cli.compiling import compile_simulator
from emulator.cli.completion import runs
from emulator.cli.given_options import given_options, refuse_given
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.model.errors import InvalidInput

if TYPE_CHECKING:
    from emulator.campaigns.shared_like_run import SharedRun
    from emulator.model.topology import Topology
    from emulator.policies.nodes.compositions import Composition
    from emulator.simulator.time_shared.simulation import SharedResult, SharedSetting
    from workloads.shared_node_jobs import SharedNodeJob

DRAWN: Final = "drawn"
NO_USERS: Final = "none"
PERCENT: Final = 100.0
UNSTATED_RULE: Final = "ccs"
"""The rule on a topology that states none."""
_WITH_LIKE: Final = {"like", "as_placed", "jobs_out", "out", "seed", "as_json"}
"""The options that go with --like; the run says all else."""
_OF_SIT_AND_DIT: Final = {"jobs", "interarrival_factor", "estimate_factor", "components"}
"""The options of the published workloads; a list of jobs says all that itself."""

PolicyOption = Annotated[
    str,
    typer.Option(
        help="Composition: basic, normal, uniform-light, uniform-hard, 2dbf, 3dbf-light, 3dbf-hard, or "
        "NODES+JOBS+ORDER such as normal+best-fit+sjf; NODES may be a class of your own, FILE.py:CLASS."
    ),
]
RuleOption = Annotated[
    str | None,
    typer.Option(
        help="How a processor is shared: quantum, linux, spinning, dcs, ccs.",
        show_default=f"the topology's, else {UNSTATED_RULE}",
    ),
]
TopologyOption = Annotated[str, typer.Option(help="Topology with single-processor nodes whose memory is stated.")]
MplOption = Annotated[
    int | None,
    typer.Option("--mpl", help="Most parallel jobs on a node.", show_default="the composition's, or the topology's"),
]
ContractOption = Annotated[
    float | None,
    typer.Option(
        help="Percent of a node that parallel jobs may have while local users work there.",
        show_default="the topology's, else 50",
    ),
]
ProcessorShareOption = Annotated[
    float | None,
    typer.Option(
        help="Most percent of a processor for all tasks on a node, by what each uses when alone.",
        show_default="no limit",
    ),
]
UsersOption = Annotated[
    str | None,
    typer.Option(
        metavar="NODE:PROFILE,...|drawn|none",
        help="Local users (profiles xwindows, internet) at nodes from 0; drawn: at a quarter of the nodes.",
        show_default="those of the topology, else drawn",
    ),
]
InterarrivalOption = Annotated[float, typer.Option(help="Interarrival times of SIT and DIT relative to those as read.")]
EstimateOption = Annotated[
    float, typer.Option(help="Users' estimates in SIT and DIT relative to the execution time alone.")
]
ComponentsOption = Annotated[
    int, typer.Option(help="Equal components, on any clusters, into which jobs of SIT and DIT are split.")
]
JobsOption = Annotated[int | None, typer.Option(help="Number of jobs of SIT and DIT.", show_default="90")]
JobsOutOption = Annotated[Path | None, typer.Option(help="Where to write the outcome of each job (JSON lines).")]
RunOutOption = Annotated[
    Path | None,
    typer.Option("--out", help="With --like: leave a run's directory here, new or empty, for `testbed compare`."),
]
LikeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Simulate the jobs of a live run on nodes shared in time, and show both.",
        autocompletion=runs,
    ),
]
AsPlacedOption = Annotated[
    bool,
    typer.Option("--as-placed", help="With --like: start each job when and where it did, and simulate its execution."),
]
SeedOption = Annotated[
    int,
    typer.Option(
        min=0, help="Seed of every random choice; with --like, of what local users ask for, in place of the recorded."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("share")(share)


def share(
    context: typer.Context,
    workload: Annotated[str | None, typer.Argument(help="SIT, DIT, or a list of jobs FILE.jsonl.")] = None,
    policy: PolicyOption = "3dbf-light",
    rule: RuleOption = None,
    topology: TopologyOption = "cisne",
    mpl: MplOption = None,
    contract: ContractOption = None,
    most_processor_share: ProcessorShareOption = None,
    local_users: UsersOption = None,
    interarrival_factor: InterarrivalOption = 1.0,
    estimate_factor: EstimateOption = 1.0,
    components: ComponentsOption = 1,
    jobs: JobsOption = None,
    jobs_out: JobsOutOption = None,
    like: LikeOption = None,
    as_placed: AsPlacedOption = False,
    out: RunOutOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Simulate jobs that share nodes with each other and with local users.

    Example: testbed share SIT --policy 3dbf-light --rule ccs --seed 3
    """
    if like is not None:
        given = given_options(context)
        refuse_given(context, given - _WITH_LIKE, "the run that --like names says this")
        drawn_from = seed if "seed" in given else None
        _share_like(like, jobs_out, out, drawn_from, as_placed=as_placed, as_json=as_json)
        return
    line_by_job = "take --jobs-out, which writes a line for each job of any workload"
    refuse_given(context, {"out"}, "goes with --like", instead=line_by_job)
    refuse_given(context, {"as_placed"}, "goes with --like")
    if workload is None:
        raise InvalidInput("State a workload: SIT, DIT or a list of jobs FILE.jsonl (or a live run with --like).")
    if _is_job_list(workload):
        refuse_given(context, _OF_SIT_AND_DIT, "only SIT and DIT have this, because a list of jobs says it itself")
    settings = partial(_setting, topology, policy, rule, mpl, contract, most_processor_share, local_users, seed)
    submitted = partial(_jobs, workload, jobs, seed, interarrival_factor, estimate_factor, components)
    compile_simulator(partial(_prepare, settings, submitted))
    setting = settings()
    _, row = _simulated(setting, submitted(), jobs_out)
    show_rows([row], as_json=as_json, title=f"{workload} under {setting.composition.name}, {setting.rule.name}")


def _share_like(
    like: Path, jobs_out: Path | None, out: Path | None, seed: int | None, *, as_placed: bool, as_json: bool
) -> None:
    """Simulate what a live run did under the node selection of its Slurm, or `as_placed` there, and show both.

    With a `seed` what its local users ask for is drawn; else it is what they asked for in the run.
    """
    read = partial(_read_run, like, out)
    compile_simulator(read)
    from emulator.campaigns.recorded_starts import recorded_starts
    from emulator.campaigns.shared_simulated_run import write_shared_run

    run = read()
    setting = run.setting(seed, recorded_starts(like, run.arrivals, run.topology) if as_placed else None)
    result, simulated = _simulated(setting, run.jobs, jobs_out)
    if out is not None:
        write_shared_run(out, like, run, result, seed, as_placed=as_placed)
    live = asdict(run.live)
    rows = [{"driver": "live", **live}, {"driver": "simulated", **{key: simulated[key] for key in live}}]
    how = "as placed live" if as_placed else f"under {setting.composition.name}"
    show_rows(rows, as_json=as_json, title=f"{like.name} {how}, {setting.rule.name}")


def _prepare(settings: Callable[[], SharedSetting], submitted: Callable[[], list[SharedNodeJob]]) -> None:
    """Raise what is wrong with the user's input."""
    settings()
    submitted()


def _read_run(like: Path, out: Path | None) -> SharedRun:
    """Read the live run; the directory of its simulation must be free."""
    from emulator.campaigns.shared_like_run import shared_like_run
    from emulator.runs.run_directory import check_free

    if out is not None:
        check_free(out)
    return shared_like_run(like)


def _simulated(
    setting: SharedSetting, jobs: list[SharedNodeJob], jobs_out: Path | None
) -> tuple[SharedResult, dict[str, Any]]:
    """Simulate jobs, write their outcomes if a file is named, and return the result and the row that describes it."""
    from emulator.simulator.time_shared.simulation import simulate_shared

    began_s = time.perf_counter()
    result = simulate_shared(setting, jobs)
    host_s = time.perf_counter() - began_s
    if jobs_out is not None:
        _write_outcomes(result, jobs_out)
    return result, {**_row(result), "times_real_time": result.makespan_s / host_s}


def _setting(
    topology: str,
    policy: str,
    rule: str | None,
    mpl: int | None,
    contract: float | None,
    most_processor_share: float | None,
    local_users: str | None,
    seed: int,
) -> SharedSetting:
    """Return the clusters with their local users, and how jobs are placed on nodes and share them.

    What is not given as an option is as the topology states it.
    """
    from emulator.model.catalogue import topology_named
    from emulator.model.shared_nodes import TimeSharing
    from emulator.model.time_sharing.rules import SocialContract, rule_named
    from emulator.policies.nodes.limits import NodeLimits
    from emulator.policies.nodes.stated import stated_users
    from emulator.simulator.time_shared.simulation import SharedSetting
    from workloads.local_users import drawn_users, named_users

    clusters = topology_named(topology)
    sharing = clusters.time_sharing or TimeSharing(rule=UNSTATED_RULE)
    composition = _composition(clusters, policy, mpl)
    sizes = [cluster.nodes for cluster in clusters.clusters]
    if local_users is None:
        users = stated_users(clusters) or drawn_users(seed, sizes)
    elif local_users.lower() == DRAWN:
        users = drawn_users(seed, sizes)
    else:
        users = named_users("" if local_users.lower() == NO_USERS else local_users, sizes[0])
    agreed = sharing.contract if contract is None else SocialContract(contract / PERCENT)
    most_share = None if most_processor_share is None else most_processor_share / PERCENT
    limits = NodeLimits(composition.most_jobs, agreed, most_share)
    return SharedSetting(clusters, users, composition, limits, rule_named(rule or sharing.rule), seed)


def _composition(clusters: Topology, policy: str, mpl: int | None) -> Composition:
    """Return the composition called `policy`, with at most `mpl` jobs on a node, or by default as many as live.

    Raises:
        InvalidInput: if `mpl` is more than a node of `clusters` takes.
    """
    from emulator.policies.nodes.compositions import composition_named
    from emulator.policies.nodes.stated import stated_limits

    composition = composition_named(policy)
    if clusters.time_sharing is None:
        return composition if mpl is None else replace(composition, most_jobs=mpl)
    most = stated_limits(clusters).most_jobs
    if mpl is None:
        return composition if composition.most_jobs == 1 else replace(composition, most_jobs=most)
    if mpl > most:
        raise InvalidInput(
            f"--mpl: a node of topology {clusters.name!r} takes at most {most} tasks (processors_per_node), not {mpl}."
        )
    return replace(composition, most_jobs=mpl)


def _jobs(
    workload: str,
    jobs: int | None,
    seed: int,
    interarrival_factor: float,
    estimate_factor: float,
    components: int,
) -> list[SharedNodeJob]:
    from workloads.shared_node_jobs import PUBLISHED_JOBS, published_jobs, read_shared_jobs

    if _is_job_list(workload):
        return read_shared_jobs(Path(workload))
    return published_jobs(
        workload,
        seed,
        jobs=PUBLISHED_JOBS if jobs is None else jobs,
        interarrival_factor=interarrival_factor,
        estimate_factor=estimate_factor,
        components=components,
    )


def _is_job_list(workload: str) -> bool:
    return workload.lower().endswith(".jsonl")


def _row(result: SharedResult) -> dict[str, Any]:
    return {
        "jobs": len(result.jobs),
        "wait_s": result.wait_s,
        "execution_s": result.execution_s,
        "turnaround_s": result.turnaround_s,
        "makespan_s": result.makespan_s,
        "slowdown": result.slowdown,
        "latency_s": result.latency_s(),
        "latency_beside_s": result.latency_beside_s,
        "estimator_error": result.estimator_error,
    }


def _write_outcomes(result: SharedResult, path: Path) -> None:
    from emulator.model.whole_files import written_whole

    with written_whole(path) as text:
        for job in result.jobs:
            outcome = {
                "id": job.id,
                "arrival_s": job.arrival_s,
                "start_s": job.start_s,
                "finish_s": job.finish_s,
                "nodes": list(job.nodes),
                "processor_share": job.processor_share,
                "expected_end_s": job.expected_end_s,
            }
            text.write(json.dumps(outcome) + "\n")
