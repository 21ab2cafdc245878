"""The verb ``simulate``: a workload through the simulator, with the policies that the live broker runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.compiling import compile_simulator
from emulator.cli.completion import policies, queues, topologies, workloads
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.model.errors import InvalidInput
from emulator.policies.names import POLICY_CHOICES, QUEUE_CHOICES

if TYPE_CHECKING:
    from emulator.simulator.runtime import RuntimeModel

WorkloadArgument = Annotated[
    str,
    typer.Argument(
        help="A campaign, a job list FILE.jsonl, a log FILE.swf, or a study's stream.", autocompletion=workloads
    ),
]
PolicyOption = Annotated[str | None, typer.Option(help=f"Placement policy: {POLICY_CHOICES}.", autocompletion=policies)]
QueueOption = Annotated[str | None, typer.Option(help=f"Queue discipline: {QUEUE_CHOICES}.", autocompletion=queues)]
QuotaOption = Annotated[float | None, typer.Option(help="Share of each cluster that jobs may fill. [all of it]")]
TopologyOption = Annotated[
    str | None, typer.Option(help="Topology: a name (`testbed list topologies`) or a file.", autocompletion=topologies)
]
FactorsOption = Annotated[
    str | None, typer.Option(metavar="FILE|FACTOR", help="One factor for all jobs, or a table of them.")
]
GridOption = Annotated[
    int | None, typer.Option(help="Which grid's factors count, where a table holds several of an application.")
]
EstimateFactorOption = Annotated[
    float | None,
    typer.Option(help="Draw the users' estimates: the execution time times 1 to this factor. [those of the jobs]"),
]
BandOption = Annotated[
    str | None,
    typer.Option(metavar="LOW-HIGH|none", help="Band of a campaign's background load in percent, instead of its own."),
]
ReplicasOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Replicas of every input file of a campaign, at different sites."),
]
JobsOption = Annotated[int | None, typer.Option(help="Number of jobs of a campaign or of a study's stream.")]
LoadOption = Annotated[float | None, typer.Option(help="Gross utilization of a study's stream.")]
ComponentLimitOption = Annotated[int | None, typer.Option(help="Split the jobs of a log by this size.")]
WarmUpOption = Annotated[int, typer.Option(help="First arrivals that are simulated but not counted.")]
MiddlewareOption = Annotated[
    bool | None, typer.Option(help="Add the topology's middleware overhead (default for campaigns).")
]
JobsOutOption = Annotated[Path | None, typer.Option(help="Where to write the outcome of each job (JSON lines).")]
RunOutOption = Annotated[
    Path | None, typer.Option("--out", help="Leave a run's directory here, new or empty, as a live run does.")
]
SeedOption = Annotated[int, typer.Option(help="Seed of every random choice.")]


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("simulate")(simulate)


def simulate(
    workload: WorkloadArgument,
    policy: PolicyOption = None,
    queue: QueueOption = None,
    quota: QuotaOption = None,
    topology: TopologyOption = None,
    extension_factors: FactorsOption = None,
    grid: GridOption = None,
    estimate_factor: EstimateFactorOption = None,
    band: BandOption = None,
    replicas: ReplicasOption = None,
    jobs: JobsOption = None,
    load: LoadOption = None,
    component_limit: ComponentLimitOption = None,
    warm_up: WarmUpOption = 0,
    middleware: MiddlewareOption = None,
    jobs_out: JobsOutOption = None,
    out: RunOutOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Simulate a workload under a placement policy and a queue discipline.

    Example: testbed simulate jobs.jsonl --queue ls-do --topology four-by-32 --jobs-out outcomes.jsonl
    """
    compile_simulator()
    from emulator.campaigns.simulated import SimulationOptions, simulate_workload
    from emulator.cli.simulation_tables import show_remarks, statistics_object, statistics_rows

    options = SimulationOptions(
        topology=topology, policy=policy, queue=queue, quota=quota, band=band, replicas=replicas, jobs=jobs, load=load,
        component_limit=component_limit, warm_up_jobs=warm_up, seed=seed, middleware=middleware,
        runtime=_runtime(extension_factors, grid), estimate_factor=estimate_factor,
    )  # fmt: skip
    subject, result = simulate_workload(workload, options, jobs_out, out)
    show_remarks(subject.name, subject.remarks)
    if as_json:
        print(json.dumps(statistics_object(subject, result), indent=2, allow_nan=False))
    else:
        show_rows(statistics_rows(subject, result), as_json=False, title=f"Simulation of {subject.name}")


def _runtime(extension_factors: str | None, grid: int | None) -> RuntimeModel | float | None:
    """Return the factor or the table of factors that ``--extension-factors`` names; None if it is left out."""
    from emulator.simulator.runtime_tables import read_factors

    try:
        factor = None if extension_factors is None else float(extension_factors)
    except ValueError:
        return read_factors(Path(extension_factors or ""), grid)
    if grid is not None:
        raise InvalidInput("--grid: goes with a table of --extension-factors, which a single factor is not.")
    return factor
