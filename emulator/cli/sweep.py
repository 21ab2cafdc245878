"""The verb ``sweep``: a workload simulated over policies, queues, loads and seeds, in parallel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from emulator.cli.compiling import compile_simulator
from emulator.cli.completion import policies as policy_names
from emulator.cli.completion import queues as queue_names
from emulator.cli.completion import topologies, workloads
from emulator.cli.options import JsonOption, make_folder
from emulator.cli.progress import simulations_progress
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
from emulator.policies.names import check_policy_name, check_queue_name

if TYPE_CHECKING:
    from emulator.campaigns.simulation_sweep import SimulationSweep

OUTCOMES_FILE: Final = "outcomes.jsonl"

WorkloadArgument = Annotated[
    str, typer.Argument(help="A campaign, a job list, a log, or a study's stream.", autocompletion=workloads)
]
PoliciesOption = Annotated[
    str | None,
    typer.Option(
        "--policies",
        "--policy",
        help="Placement policies, joined by commas.",
        show_default="the workload's",
        autocompletion=policy_names,
    ),
]
QueuesOption = Annotated[
    str | None,
    typer.Option(
        "--queues",
        "--queue",
        help="Queue disciplines, joined by commas.",
        show_default="the workload's",
        autocompletion=queue_names,
    ),
]
LoadsOption = Annotated[
    str | None,
    typer.Option(metavar="LIST|FROM:TO:STEP", help="Loads, such as 0.5:0.95:0.05.", show_default="the workload's"),
]
SeedsOption = Annotated[int, typer.Option(help="Simulations of each cell: seeds 0, 1, ...")]
TopologyOption = Annotated[
    str | None,
    typer.Option(help="Topology: a name or a file.", show_default="the workload's", autocompletion=topologies),
]
QuotaOption = Annotated[float | None, typer.Option(help="Share of each cluster that jobs may fill.")]
BandOption = Annotated[str | None, typer.Option(help="Band of a campaign's background load in percent, or none.")]
GridOption = Annotated[int | None, typer.Option(help="Which grid's factors of a table count.")]
WorkersOption = Annotated[int | None, typer.Option(help="Processes; by default one per processor.")]
SchedulerOption = Annotated[str | None, typer.Option(help="A dask scheduler elsewhere, host:port.")]
ResultsOption = Annotated[Path | None, typer.Option(help="Directory of the results; one used before is resumed.")]


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("sweep")(sweep)


def sweep(
    workload: WorkloadArgument,
    policies: PoliciesOption = None,
    queues: QueuesOption = None,
    loads: LoadsOption = None,
    seeds: SeedsOption = 10,
    topology: TopologyOption = None,
    clusters: GeneratedOption = None,
    jobs: JobsOption = None,
    quota: QuotaOption = None,
    band: BandOption = None,
    replicas: ReplicasOption = None,
    interarrival_factor: InterarrivalFactorOption = None,
    time_scale: TimeScaleOption = None,
    middleware: MiddlewareOption = None,
    extension_factors: FactorsOption = None,
    grid: GridOption = None,
    estimate_factor: EstimateFactorOption = None,
    jobs_per_link: JobsPerLinkOption = None,
    warm_up: WarmUpOption = 0,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    out: ResultsOption = None,
    require: RequireOption = Judgement.SUSPECT,
    as_json: JsonOption = False,
) -> None:
    """Simulate a workload over policies, queues, loads and seeds, on all processors.

    Example: testbed sweep W1 --policies wf,cm,fcm --loads 0.5:0.95:0.05 --seeds 30 --out runs/w1-sweep
    """
    named, queued = _names(policies, check_policy_name), _names(queues, check_queue_name)
    prepare = partial(
        _prepared, named, queued, loads, seeds, workload=workload, topology=topology, clusters=clusters, jobs=jobs,
        quota=quota, band=band, replicas=replicas, interarrival_factor=interarrival_factor, time_scale=time_scale,
        middleware=middleware, factors=tuple(extension_factors or ()), grid=grid, warm_up_jobs=warm_up,
        estimate_factor=estimate_factor, jobs_per_link=jobs_per_link,
    )  # fmt: skip
    compile_simulator(prepare)
    from emulator.campaigns.simulation_sweep import sweep_workload
    from emulator.cli.sweep_tables import show_cells
    from emulator.reports.simulation_sweep_files import write_sweep
    from emulator.simulator.parallel_simulations import ParallelSimulations, Workforce

    asked = prepare()
    record = asked.record()
    force = Workforce(workers, scheduler)
    folder = _folder(out or Path("runs") / f"sweep-{Path(workload).stem}-{datetime.now():%Y%m%d-%H%M%S}")
    with force.assembled() as client, simulations_progress("sweep") as report_progress:
        simulations = ParallelSimulations(client, folder / OUTCOMES_FILE, report_progress)
        cells = sweep_workload(asked, simulations)
        simulations.tidy()
    if asked.record() != record:
        raise InvalidInput(f"{workload}: a file that the sweep reads changed meanwhile: start it again.")
    write_sweep(cells, record, folder)
    show_cells(cells, workload, as_json=as_json)
    print(f"Results: {folder}", file=sys.stderr)
    check_required(require, (verdict for cell in cells for verdict in cell.verdicts))


def _prepared(
    policies: tuple[str | None, ...], queues: tuple[str | None, ...], loads: str | None, seeds: int, **stated: Any
) -> SimulationSweep:
    """Return the sweep of a workload with the `stated` options, all of which was prepared once.

    Raises:
        TestbedError: if a document, a name or an option is wrong.
    """
    from emulator.campaigns.simulation_sweep import SimulationSweep, parsed_loads
    from emulator.campaigns.swept_workload import SweptWorkload

    asked = SimulationSweep(SweptWorkload(**stated), policies, queues, parsed_loads(loads), seeds)
    asked.names()
    return asked


def _folder(path: Path) -> Path:
    """Make the folder of the results, or find that of an earlier sweep.

    Raises:
        InvalidInput: if it cannot be made, or holds something else, which the results would be mixed with.
    """
    folder = make_folder(path)
    if any(folder.iterdir()) and not (folder / OUTCOMES_FILE).is_file():
        raise InvalidInput(f"{folder}: is not empty, and holds no sweep to go on with (choose another with --out).")
    return folder


def _names(text: str | None, check: Callable[[str], None]) -> tuple[str | None, ...]:
    """Return the checked names in a list joined by commas; without a list, the choice of the workload."""
    named = tuple(filter(None, (part.strip() for part in (text or "").split(","))))
    for name in named:
        check(name)
    return named or (None,)
