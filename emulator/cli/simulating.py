"""The verb ``simulate``: a workload through the simulator, with the policies that the live broker runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from emulator.campaigns.simulated import Subject, Wishes, simulate_workload
from emulator.cli.tables import JsonOption, show_rows
from emulator.model.errors import InvalidInput
from emulator.policies.registry import default_policy
from emulator.reports.intervals import with_interval
from emulator.simulator.estimates import Interval, Statistics
from emulator.simulator.runtime import RuntimeModel
from emulator.simulator.runtime_tables import read_factors
from emulator.simulator.simulation import SimulationResult
from workloads.swf import Remark

SHOWN_REMARKS: Final = 10

WorkloadArgument = Annotated[
    str, typer.Argument(help="A campaign, a job list FILE.jsonl, a log FILE.swf, or a study's stream.")
]
PolicyOption = Annotated[str | None, typer.Option(help="Placement policy: a name, or mypolicy.py:Mine.")]
QueueOption = Annotated[str | None, typer.Option(help="Queue discipline: a name, or mypolicy.py:Mine.")]
TopologyOption = Annotated[str | None, typer.Option(help="Topology: a name or a file.")]
FactorsOption = Annotated[
    str | None, typer.Option(metavar="FILE|FACTOR", help="One factor for all jobs, or a table of them.")
]
GridOption = Annotated[
    int | None, typer.Option(help="Which grid's factors count, where a table holds several of an application.")
]
JobsOption = Annotated[int | None, typer.Option(help="Number of jobs of a campaign or of a study's stream.")]
LoadOption = Annotated[float | None, typer.Option(help="Gross utilization of a study's stream.")]
ComponentLimitOption = Annotated[int | None, typer.Option(help="Split the jobs of a log by this size.")]
WarmUpOption = Annotated[int, typer.Option(help="First arrivals that are simulated but not counted.")]
MiddlewareOption = Annotated[
    bool | None, typer.Option(help="Let placement take the topology's overhead (a campaign does).")
]
JobsOutOption = Annotated[Path | None, typer.Option(help="Where to write the outcome of each job (JSON lines).")]
SeedOption = Annotated[int, typer.Option(help="Seed of every random choice.")]


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("simulate")(simulate)


def simulate(
    workload: WorkloadArgument,
    policy: PolicyOption = None,
    queue: QueueOption = None,
    topology: TopologyOption = None,
    extension_factors: FactorsOption = None,
    grid: GridOption = None,
    jobs: JobsOption = None,
    load: LoadOption = None,
    component_limit: ComponentLimitOption = None,
    warm_up: WarmUpOption = 0,
    middleware: MiddlewareOption = None,
    jobs_out: JobsOutOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Simulate a workload under a placement policy and a queue discipline.

    Example: testbed simulate jobs.jsonl --queue ls-do --topology four-by-32 --jobs-out outcomes.jsonl
    """
    wishes = Wishes(
        topology=topology,
        policy=policy,
        queue=queue,
        jobs=jobs,
        load=load,
        component_limit=component_limit,
        warm_up_jobs=warm_up,
        seed=seed,
        middleware=middleware,
        runtime=_runtime(extension_factors, grid),
    )
    subject, result = simulate_workload(workload, wishes, jobs_out)
    _show_remarks(subject.name, subject.remarks)
    if as_json:
        print(json.dumps(_statistics_object(subject, result), indent=2, allow_nan=False))
    else:
        show_rows(_statistics_rows(subject, result), as_json=False, title=f"Simulation of {subject.name}")


def _runtime(extension_factors: str | None, grid: int | None) -> RuntimeModel | float | None:
    try:
        factor = None if extension_factors is None else float(extension_factors)
    except ValueError:
        return read_factors(Path(extension_factors or ""), grid)
    if grid is not None:
        raise InvalidInput("--grid: goes with a table of --extension-factors, which a single factor is not.")
    return factor


def _show_remarks(name: str, remarks: Sequence[Remark]) -> None:
    for remark in remarks[:SHOWN_REMARKS]:
        print(f"{name}, {remark}", file=sys.stderr)
    if len(remarks) > SHOWN_REMARKS:
        print(f"{name}: {len(remarks) - SHOWN_REMARKS} more doubtful records", file=sys.stderr)


def _statistics_object(subject: Subject, result: SimulationResult) -> dict[str, Any]:
    """Everything known of a simulation, for programs."""
    statistics = asdict(result.statistics)
    statistics["global"] = statistics.pop("global_")
    return {
        "workload": subject.name,
        "topology": subject.topology.name,
        "policy": subject.policy or default_policy(subject.queue),
        "queue": subject.queue,
        **statistics,
        "gross_over_net": result.statistics.gross_over_net,
        "remarks": [str(remark) for remark in subject.remarks],
        "jobs_per_second": result.jobs_per_host_second,
    }


def _statistics_rows(subject: Subject, result: SimulationResult) -> list[dict[str, Any]]:
    """What people want to know first."""
    found: Statistics = result.statistics
    values: dict[str, Any] = {
        "topology": subject.topology.name,
        "policy / queue": f"{subject.policy or default_policy(subject.queue)} / {subject.queue}",
        "jobs finished": f"{found.jobs_finished} of {found.jobs_arrived}",
        "response time (s)": _shown(found.response_s),
        "  single-component jobs": _shown(found.local_response_s),
        "  multicomponent jobs": _shown(found.global_response_s),
        "wait time (s)": found.total.wait_s,
        "execution time (s)": found.total.execution_s,
        "gross utilization": found.gross_utilization,
        "net utilization": found.net_utilization,
        "saturated": found.saturated,
        "makespan (s)": found.makespan_s,
        "jobs simulated per second": round(result.jobs_per_host_second),
    }
    return [{"quantity": quantity, "value": value} for quantity, value in values.items()]


def _shown(around: Interval | None) -> str:
    return "" if around is None else with_interval(around.mean, around.low, around.high)
