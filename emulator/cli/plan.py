"""The verb ``plan``: what a run asks of this host, which limit it reaches first, and the smallest faithful dilation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from emulator.campaigns.live import arrivals_on
from emulator.cli.dilations import AUTO, parse_dilation
from emulator.cli.matrix_options import (
    ApplicationsOption,
    ClustersOption,
    GridsOption,
    ProcessorsOption,
    SettingsOption,
    described_cells,
    given_options,
)
from emulator.cli.options import JsonOption
from emulator.cli.progress import run_progress
from emulator.cli.tables import show_rows
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from emulator.model.units import gigabytes
from emulator.planning.costs import HostCosts
from emulator.planning.host_costs import host_costs
from emulator.planning.plan import Plan, PlannedRun, plan, propose
from emulator.planning.plan_records import described
from emulator.planning.planned_runs import available_resources, planned_campaign, planned_layout
from emulator.runs.matrix import Matrix, lay_out
from workloads.campaign import campaign_named
from workloads.custom_sources import carrying_sources

BUSY_LOAD = 0.3
"""The share of cores in use above which the measured costs of a host are higher than when it is idle."""

_MOST_JOBS = 24
_MATRIX_OPTIONS = {"applications", "grids", "processors", "clusters", "iterations", "settings"}


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
    applications: ApplicationsOption = "poisson",
    grids: GridsOption = "400",
    processors: ProcessorsOption = "16",
    clusters: ClustersOption = "1,2,4",
    iterations: Annotated[int | None, typer.Option(help="Length of a job, in its own unit.")] = None,
    settings: SettingsOption = None,
    dilation: Annotated[
        str, typer.Option(metavar="K|auto", help="Host seconds per emulated second; auto: the smallest faithful.")
    ] = AUTO,
    again: Annotated[
        bool, typer.Option("--again", help="Measure this host again, though its costs are known.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Predict what a run will ask of this host, and which dilation it needs.

    The host is measured once, in eight minutes; do that while it is otherwise idle. No testbed needs to run.

    Example: testbed plan --topology das2 --app poisson --grid 100,4000 --processors 16,64 --clusters 1,2,4
    """
    requested = parse_dilation(dilation)
    if workload is not None:
        if given_options(context) & _MATRIX_OPTIONS:
            raise InvalidInput("--workload says which jobs there are: leave out what describes a measurement.")
        run = _workload(workload, topology, jobs, seed)
    else:
        cells = described_cells(applications, grids, processors, clusters, iterations, settings)
        run = _matrix(validate(cells, Matrix, source="plan"), topology)
    with run_progress() as report_progress:
        costs = host_costs(report_progress, again=again)
    resources = available_resources()
    proposed = propose(run, costs, resources)
    shown = proposed if requested is None else plan(run, Dilation(requested), costs, resources)
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
        names = ", ".join(constraint.name for constraint in shown.hopeless)
        print(f"Hopeless at dilation {shown.dilation:g}: {names}.")
    print(f"Smallest faithful dilation: {_proposal(proposed) or f'none up to {proposed.dilation:g}'}")
    print(f"Binding at dilation {shown.dilation:g}: {shown.binding.name}")
    _warn_of_load(costs)


def _proposal(proposed: Plan) -> float | None:
    return proposed.dilation if proposed.faithful else None


def _job_rows(run: PlannedRun, shown: Plan) -> Sequence[dict[str, object]]:
    return [
        {
            "job": job.name,
            "iteration (ms)": f"{predicted.iteration_s * 1000:.4g}",
            "late phases": f"{predicted.late_phase_share:.1%}",
            "too long by": f"{predicted.lateness_share:.2%}",
            "own time": f"{predicted.own_time_share:.1%}",
            "cores": f"{predicted.host_cpu_share:.2f}",
            "packets/s": f"{predicted.host_packets_per_s:.0f}",
        }
        for job, predicted in zip(run.jobs, shown.jobs, strict=True)
    ]


def _constraint_rows(shown: Plan) -> Sequence[dict[str, object]]:
    return [
        {
            "constraint": constraint.name,
            "predicted": f"{constraint.share:.2%}",
            "faithful up to": f"{constraint.faithful:.2%}",
            "hopeless above": "" if constraint.hopeless == float("inf") else f"{constraint.hopeless:.0%}",
        }
        for constraint in sorted(shown.constraints, key=lambda constraint: -constraint.strain)
    ]


def _warn_of_load(costs: HostCosts) -> None:
    if costs.load > BUSY_LOAD:
        print(
            f"Of this host's cores {costs.load:.0%} were in use when it was measured ({costs.measured_at}): "
            "`testbed plan --again`, when it is idle, says what it really costs.",
            file=sys.stderr,
        )
