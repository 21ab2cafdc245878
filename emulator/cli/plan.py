"""The verb ``plan``: can this host carry a run, and how long will it take? Nothing is measured and nothing is run."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.campaigns.live import arrivals_on
from emulator.campaigns.offered_load import campaign_load
from emulator.cli import completion
from emulator.cli.campaign_options import (
    BandOption,
    InterarrivalFactorOption,
    JobsOption,
    NumericsOption,
    PolicyOption,
    QueueOption,
    QuotaOption,
    ReplicasOption,
    TimeScaleOption,
    chosen_campaign,
)
from emulator.cli.dilations import parse_dilation
from emulator.cli.foreign_text import say
from emulator.cli.given_options import refuse_given
from emulator.cli.matrix_options import (
    ApplicationsOption,
    ClustersOption,
    GridsOption,
    ProcessorsOption,
    SettingsOption,
    described_cells,
)
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.fidelity.pilots import LARGEST_DILATION, least_dilation
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.topology import Topology
from emulator.model.units import gigabytes
from emulator.planning.plan import Plan, PlannedRun, Resources, host_run_s, likely_dilation, needed_dilation, plan
from emulator.planning.planned_runs import available_resources, planned_campaign, planned_cells
from emulator.runs.matrix import DEFAULT_REPEAT, Matrix, lay_out
from workloads.campaign import Campaign
from workloads.custom_sources import carrying_sources

_MOST_JOBS = 24
_MATRIX_OPTIONS = {"applications", "grids", "processors", "clusters", "iterations", "settings"}
_CAMPAIGN_OPTIONS = {
    "band", "interarrival_factor", "jobs", "numerics", "policy", "queue", "quota", "replicas", "seed", "time_scale",
}  # fmt: skip


HostsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|N",
        help="Plan for the hosts of an inventory, or for N hosts like this one.",
        show_default="this host",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("plan")(plan_run)


def plan_run(
    context: typer.Context,
    campaign: Annotated[
        str | None,
        typer.Argument(
            metavar="[CAMPAIGN]",
            help="Name or file of a campaign; without it, the options describe a measurement.",
            autocompletion=completion.campaigns,
        ),
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            help="Name or file of the topology; else the campaign's own, or mini.", autocompletion=completion.topologies
        ),
    ] = None,
    policy: PolicyOption = None,
    queue: QueueOption = None,
    quota: QuotaOption = None,
    jobs: JobsOption = None,
    time_scale: TimeScaleOption = None,
    band: BandOption = None,
    replicas: ReplicasOption = None,
    interarrival_factor: InterarrivalFactorOption = None,
    numerics: NumericsOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the campaign's random choices.")] = 0,
    applications: ApplicationsOption = "poisson",
    grids: GridsOption = "400",
    processors: ProcessorsOption = "16",
    clusters: ClustersOption = "1,2,4",
    iterations: Annotated[int | None, typer.Option(help="Length of a job, in its own unit.")] = None,
    settings: SettingsOption = None,
    dilation: Annotated[
        str | None,
        typer.Option(
            metavar="K|auto",
            help="Host seconds per emulated second; auto: what pilots likely find.",
            show_default="the campaign's, or auto",
        ),
    ] = None,
    hosts: HostsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether this host can carry a run, from which dilation on, and about how long it takes.

    Example: testbed plan W1 --policy fcm --time-scale 10
    """
    requested = None if dilation is None else parse_dilation(dilation)
    if campaign is not None:
        refuse_given(context, _MATRIX_OPTIONS, f"campaign {campaign!r} says which jobs there are")
        chosen, requested = chosen_campaign(
            campaign, queue=queue, policy=policy, dilation=dilation, band=band, replicas=replicas, jobs=jobs,
            topology=topology, time_scale=time_scale, quota=quota, numerics=numerics,
            interarrival_factor=interarrival_factor, seed=seed,
        )  # fmt: skip
        run, system = _campaign(chosen, seed)
        load = campaign_load(chosen, system, seed)
    else:
        refuse_given(context, _CAMPAIGN_OPTIONS, "only a campaign has this", instead="name one (`testbed plan W1`)")
        cells = described_cells(applications, grids, processors, clusters, iterations, settings)
        run, system = _matrix(validate(cells | {"dilation": requested}, Matrix, source="plan"), topology)
        load = None
    resources = available_resources() if hosts is None else _spread(hosts, system)
    at = Dilation(likely_dilation(run, resources) if requested is None else requested)
    _show(run, plan(run, at, resources), needed_dilation(run, resources), load, as_json=as_json)


def _spread(hosts: str, system: Topology) -> Resources:
    """Return the resources of several hosts, and say what each of them carries."""
    from emulator.planning.planned_hosts import spread

    resources = spread(hosts, system, available_resources())
    for host in resources.hosts:
        say(f"{host.name}: {host.cores:g} cores, {', '.join(host.clusters or ()) or 'no cluster'}", to_error=True)
    return resources


def _campaign(chosen: Campaign, seed: int) -> tuple[PlannedRun, Topology]:
    campaign = carrying_sources(chosen)
    system = topology_named(campaign.topology)
    return planned_campaign(campaign, arrivals_on(system, campaign, seed), seed, system).run, system


def _matrix(matrix: Matrix, topology: str | None) -> tuple[PlannedRun, Topology]:
    system = topology_named(topology or "mini")
    layout = lay_out(matrix, system)
    for sentence in layout.left_out:
        say(f"left out: {sentence}", to_error=True)
    return planned_cells(layout.cells, system, DEFAULT_REPEAT), system


def _show(run: PlannedRun, shown: Plan, needed: float, load: float | None, *, as_json: bool) -> None:
    if as_json:
        described = _described(run, shown, max(needed, least_dilation(needed)))
        show_rows([described | {"offered_load": load}], as_json=True)
        return
    if len(run.jobs) <= _MOST_JOBS:
        show_rows(_job_rows(run, shown), as_json=False, title=f"Jobs at dilation {shown.dilation:g}")
    show_rows(_constraint_rows(shown), as_json=False, title=f"What this host gives at dilation {shown.dilation:g}")
    print(
        f"Memory {gigabytes(shown.memory_bytes):.2g} GB, records and input files {gigabytes(shown.disk_bytes):.2g} GB; "
        f"about {max(1, round(shown.host_duration_s / 60))} min of this host, without pilots and checks."
    )
    if load is not None:
        print(f"Offered load: {load:.6g} (work in one cluster, over what all processors can do while jobs arrive).")
    if shown.impossible:
        print(f"This host cannot hold it: {', '.join(constraint.name for constraint in shown.impossible)}.")
    if needed > LARGEST_DILATION:
        floor, tried = f"{needed:.3g}", f"of those that pilots try, up to {LARGEST_DILATION:g}, none suffices"
    else:
        floor, tried = f"{least_dilation(needed):g}", "pilots try from there upwards"
    print(f"Smallest dilation that its resources allow: {floor} ({tried})")
    print(f"Binding at dilation {shown.dilation:g}: {shown.binding.name}")


def _described(run: PlannedRun, shown: Plan, floor: float) -> dict[str, object]:
    return {
        "dilation": shown.dilation,
        "least_dilation": floor,
        "carried": shown.carried,
        "impossible": [constraint.name for constraint in shown.impossible],
        "binding": shown.binding.name,
        "memory_bytes": shown.memory_bytes,
        "disk_bytes": shown.disk_bytes,
        "host_duration_s": shown.host_duration_s,
        "constraints": {constraint.name: constraint.share for constraint in shown.constraints},
        "jobs": [
            {
                "name": job.name,
                "iteration_s": job.iteration_s,
                "iterations": job.iterations,
                "runtime_s": job.runtime_s,
                "host_run_s": host_run_s(job, Dilation(shown.dilation)),
            }
            for job in run.jobs
        ],
    }


def _job_rows(run: PlannedRun, shown: Plan) -> list[dict[str, object]]:
    return [
        {
            "job": job.name,
            "iteration (ms)": f"{job.iteration_s * 1000:.4g}",
            "iterations": job.iterations,
            "runtime (s)": f"{job.runtime_s:.3g}",
            "of this host (s)": f"{host_run_s(job, Dilation(shown.dilation)):.3g}",
        }
        for job in run.jobs
    ]


def _constraint_rows(shown: Plan) -> list[dict[str, object]]:
    return [
        {
            "constraint": constraint.name,
            "asked for": f"{constraint.share:.2%}",
            "carried up to": f"{constraint.carried:.2%}",
            "impossible above": "" if constraint.impossible == float("inf") else f"{constraint.impossible:.0%}",
        }
        for constraint in sorted(shown.constraints, key=lambda constraint: -constraint.strain)
    ]
