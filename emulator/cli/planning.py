"""The verb ``plan``: what a run will ask of this host, what binds first, and the smallest faithful dilation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from emulator.campaigns.host_costs import host_costs
from emulator.campaigns.live import arrivals_on
from emulator.campaigns.matrix import Matrix, lay_out
from emulator.campaigns.plan_records import described
from emulator.campaigns.planning import available_resources, planned_campaign, planned_layout
from emulator.cli.dilations import AUTO, asked_dilation
from emulator.cli.matrix_words import names, numbers
from emulator.cli.matrix_words import settings as settings_of
from emulator.cli.run_progress import run_progress
from emulator.cli.tables import JsonOption, show_rows
from emulator.fidelity.plan import Plan, PlannedRun, plan, propose
from emulator.fidelity.plan_costs import HostCosts
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from emulator.model.units import gigabytes
from workloads.campaign import campaign_named
from workloads.own_sources import carrying_sources

BUSY_LOAD = 0.3
"""With more than this share of its cores in use, what is measured of a host is more than it costs when it is idle."""

_MOST_JOBS = 24
_MATRIX_OPTIONS = ("applications", "grids", "processors", "clusters", "iterations", "settings")


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("plan")(plan_run)


def plan_run(
    context: typer.Context,
    topology: Annotated[
        str | None, typer.Option(help="Name or file of the topology; else the workload's own, or mini.")
    ] = None,
    workload: Annotated[str | None, typer.Option(help="Name or file of a campaign, instead of a measurement.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Number of jobs of the workload, instead of its own.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the workload's random choices.")] = 0,
    applications: Annotated[str, typer.Option("--app", help="Applications, for instance poisson,laplace.")] = "poisson",
    grids: Annotated[str, typer.Option("--grid", help="Interior points on each side of the grid.")] = "400",
    processors: Annotated[str, typer.Option(help="Processors of a job, whatever it is spread over.")] = "16",
    clusters: Annotated[str, typer.Option(help="Numbers of clusters, for instance 1,2,4.")] = "1,2,4",
    iterations: Annotated[int | None, typer.Option(help="Length of a job, in its own unit.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="[APP.]NAME=VALUE", help="An application's argument.")
    ] = None,
    dilation: Annotated[
        str, typer.Option(metavar="K|auto", help="Host seconds per emulated second; auto: the smallest faithful.")
    ] = AUTO,
    again: Annotated[
        bool, typer.Option("--again", help="Measure this host again, though its costs are known.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Predict what a run will ask of this host, and which dilation it needs.

    The host is measured once, in eight minutes; do that while it is otherwise idle. Nothing needs to stand.

    Example: testbed plan --topology das2 --app poisson --grid 100,4000 --processors 16,64 --clusters 1,2,4
    """
    asked = asked_dilation(dilation)
    if workload is not None:
        _refuse_beside_workload(context)
        run = _workload(workload, topology, jobs, seed)
    else:
        own_arguments, arguments = settings_of(settings or [])
        matrix = {
            "applications": names(applications),
            "grids": numbers("grid", grids),
            "processors": numbers("processors", processors),
            "clusters": numbers("clusters", clusters),
            "iterations": iterations,
            "arguments": arguments,
            "own_arguments": own_arguments,
        }
        run = _matrix(validate(matrix, Matrix, source="plan"), topology)
    with run_progress() as tell:
        costs = host_costs(tell, again=again)
    resources = available_resources()
    proposed = propose(run, costs, resources)
    shown = proposed if asked is None else plan(run, Dilation(asked), costs, resources)
    _show(run, shown, proposed, costs, as_json=as_json)


def _workload(name: str, topology: str | None, jobs: int | None, seed: int) -> PlannedRun:
    campaign = carrying_sources(campaign_named(name).changed(topology=topology, jobs=jobs))
    system = topology_named(campaign.topology)
    return planned_campaign(campaign, arrivals_on(system, campaign, seed), seed, system)


def _matrix(matrix: Matrix, topology: str | None) -> PlannedRun:
    system = topology_named(topology or "mini")
    layout = lay_out(matrix, system)
    for sentence in layout.left_out:
        print(f"left out: {sentence}", file=sys.stderr)
    return planned_layout(layout, system)


def _refuse_beside_workload(context: typer.Context) -> None:
    for parameter in _MATRIX_OPTIONS:
        source = context.get_parameter_source(parameter)
        if source is not None and source.name == "COMMANDLINE":
            raise InvalidInput("--workload says which jobs there are: leave out what describes a measurement.")


def _show(run: PlannedRun, shown: Plan, proposed: Plan, costs: HostCosts, *, as_json: bool) -> None:
    if as_json:
        show_rows([{**described(shown, costs), "proposed_dilation": _proposal(proposed)}], as_json=True)
        return
    jobs = _job_rows(run, shown)
    if len(jobs) <= _MOST_JOBS:
        show_rows(jobs, as_json=False, title=f"Jobs at dilation {shown.dilation:g}")
    show_rows(_constraint_rows(shown), as_json=False, title=f"What binds at dilation {shown.dilation:g}")
    print(
        f"Late phases {shown.late_phase_share:.1%}, CPU {shown.host_cpu_s:.3g} s, "
        f"memory {gigabytes(shown.memory_bytes):.2g} GB, {shown.host_packets_per_s:.3g} packets/s through the router, "
        f"records {gigabytes(shown.disk_bytes):.2g} GB; about {shown.host_duration_s:.3g} s of this host."
    )
    if shown.hopeless:
        print(f"Hopeless at dilation {shown.dilation:g}: {', '.join(it.name for it in shown.hopeless)}.")
    print(f"Smallest faithful dilation: {_proposal(proposed) or f'none up to {proposed.dilation:g}'}")
    print(f"Binding at dilation {shown.dilation:g}: {shown.binding.name}")
    _warn_of_load(costs)


def _proposal(proposed: Plan) -> float | None:
    return proposed.dilation if proposed.faithful else None


def _job_rows(run: PlannedRun, shown: Plan) -> Sequence[dict[str, object]]:
    return [
        {
            "job": job.name,
            "iteration (ms)": f"{it.iteration_s * 1000:.4g}",
            "late phases": f"{it.late_phase_share:.1%}",
            "too long by": f"{it.lateness_share:.2%}",
            "own time": f"{it.own_time_share:.1%}",
            "cores": f"{it.host_cpu_share:.2f}",
            "packets/s": f"{it.host_packets_per_s:.0f}",
        }
        for job, it in zip(run.jobs, shown.jobs, strict=True)
    ]


def _constraint_rows(shown: Plan) -> Sequence[dict[str, object]]:
    return [
        {
            "constraint": it.name,
            "predicted": f"{it.share:.2%}",
            "faithful up to": f"{it.faithful:.2%}",
            "hopeless above": "" if it.hopeless == float("inf") else f"{it.hopeless:.0%}",
        }
        for it in sorted(shown.constraints, key=lambda it: -it.strain)
    ]


def _warn_of_load(costs: HostCosts) -> None:
    if costs.load > BUSY_LOAD:
        print(
            f"Of this host's cores {costs.load:.0%} were in use when it was measured ({costs.measured_at}): "
            "`testbed plan --again`, when it is idle, says what it really costs.",
            file=sys.stderr,
        )
