"""Jobs are as long as drawn, live and simulated, and a time scale makes them shorter without changing an iteration."""

from __future__ import annotations

import math

import pytest

from emulator.broker.jobs.rank_command import command_line
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput
from emulator.model.processor import processor_named
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import Topology
from emulator.planning.planned_jobs import PlannedJob, planned_job
from workloads.campaign import Campaign, campaign_named
from workloads.campaign_stream import campaign_jobs
from workloads.job_lengths import with_lengths
from workloads.schedule import Arrival, schedule

LENGTHS = {"poisson": "iterations", "laplace": "iterations", "heat": "steps"}


def coming(campaign: Campaign, topology: Topology | None = None, seed: int = 3) -> list[Arrival]:
    return with_lengths(schedule(campaign, seed), campaign, topology or topology_named(campaign.topology), seed)


def alone_s(arrival: Arrival, topology: Topology) -> float:
    """Return what the planner says that the job takes in one cluster."""
    return planned_alone(arrival, topology).runtime_s


def planned_alone(arrival: Arrival, topology: Topology) -> PlannedJob:
    largest = max(topology.clusters, key=lambda cluster: cluster.processors)
    job = arrival.specification
    return planned_job(job, [(largest.name, sum(job.components))], topology)


def load(work_processor_s: list[float], arrivals_s: list[float], topology: Topology) -> float:
    return math.fsum(work_processor_s) / arrivals_s[-1] / topology.processors


@pytest.mark.parametrize(
    ("name", "design", "time_scale"),
    [
        ("W30", 0.30, 10),
        ("W50", 0.50, 1),
        pytest.param("W30", 0.30, 1, marks=pytest.mark.long),
        pytest.param("W50", 0.50, 10, marks=pytest.mark.long),
    ],
)
def test_live_and_simulated_jobs_carry_the_design_load(name: str, design: float, time_scale: float) -> None:
    campaign = campaign_named(name).changed(jobs=3000, time_scale=time_scale)
    topology = topology_named(campaign.topology)
    arrivals, simulated = coming(campaign), campaign_jobs(campaign, topology, seed=3).jobs
    arrivals_s = [arrival.arrival_s for arrival in arrivals]
    live = load(
        [alone_s(arrival, topology) * sum(arrival.specification.components) for arrival in arrivals],
        arrivals_s, topology,
    )  # fmt: skip
    drawn = load([job.service_s * job.request.processors for job in simulated], arrivals_s, topology)
    assert live == pytest.approx(drawn, rel=0.005)
    assert drawn == pytest.approx(design, rel=0.05)
    assert live == pytest.approx(design, rel=0.05)


def test_each_job_is_as_long_as_drawn_whatever_its_size() -> None:
    campaign = campaign_named("W30").changed(jobs=60)
    topology = topology_named(campaign.topology)
    simulated = campaign_jobs(campaign, topology, seed=3).jobs
    for arrival, job in zip(coming(campaign), simulated, strict=True):
        assert alone_s(arrival, topology) == pytest.approx(job.service_s, rel=0.005)


def test_what_heat_passes_on_once_is_part_of_its_time() -> None:
    campaign = campaign_named("W1").changed(jobs=200)
    topology = topology_named(campaign.topology)
    simulated = campaign_jobs(campaign, topology, seed=3).jobs
    # The grid goes from the master to the workers and back, 8 bytes a point, over one cluster's interconnect.
    once_s = 2 * 3600**2 * 8 / (topology.interconnects.single_cluster.rate_mbit * 1e6 / 8)
    heat = [
        (planned_alone(arrival, topology), job.service_s)
        for arrival, job in zip(coming(campaign), simulated, strict=True)
        if arrival.specification.application == "heat"
    ]
    assert [planned.once_s for planned, _ in heat] == pytest.approx([once_s] * len(heat), abs=0.1)
    assert [planned.runtime_s for planned, _ in heat] == pytest.approx([drawn_s for _, drawn_s in heat], abs=0.1)


@pytest.mark.parametrize("name", ["W1", "W30"])
def test_a_time_scale_changes_the_number_of_iterations_and_nothing_that_an_iteration_costs(name: str) -> None:
    campaign = campaign_named(name).changed(jobs=40)
    topology = topology_named(campaign.topology)
    whole, short = coming(campaign), coming(campaign.changed(time_scale=10))
    for long_job, short_job in zip(whole, short, strict=True):
        lines = [
            command_line(job.specification, job.specification.components, topology, Dilation(4))
            for job in (long_job, short_job)
        ]
        assert [line.pop() for line in lines] == ["--start-announced"] * 2
        options = [dict(word.split("=", 1) for word in line[2:]) for line in lines]
        length = f"--{LENGTHS[long_job.specification.application]}"
        lengths = [int(each.pop(length)) for each in options]
        shares = [float(each.pop("--distributed-share", 1)) for each in options]
        assert lengths[0] / lengths[1] == pytest.approx(10, rel=0.1)
        assert shares == ([1, 0.1] if long_job.specification.application == "heat" else [1, 1])
        assert options[0] == options[1]


def test_stated_iterations_are_divided_where_no_execution_times_are_drawn() -> None:
    first = campaign_named("first")
    assert {arrival.specification.arguments["iterations"] for arrival in coming(first)} == {30}
    scaled = [coming(first.changed(time_scale=scale)) for scale in (7, 1000)]
    assert [{arrival.specification.arguments["iterations"] for arrival in each} for each in scaled] == [{4}, {1}]


@pytest.mark.parametrize(
    ("stated", "scale", "days"),
    [({}, 2, 10), ({"days": 50}, 2, 20), ({"days": 5}, 2, 2), ({"analysis-every-days": 5}, 4, 5)],
)
def test_a_time_scale_leaves_ensflow_whole_periods_with_an_analysis(
    stated: dict[str, int], scale: float, days: int
) -> None:
    ensflow = campaign_named("first").changed(application="ensflow", arguments={"grid": 64, **stated}, time_scale=scale)
    assert {arrival.specification.arguments["days"] for arrival in coming(ensflow)} == {days}


def test_a_time_scale_that_leaves_ensflow_no_analysis_is_refused_with_the_largest_that_does() -> None:
    ensflow = campaign_named("first").changed(application="ensflow", arguments={"grid": 64}, time_scale=4)
    with pytest.raises(InvalidInput, match=r"time_scale: 4 leaves ensflow jobs of 20 days fewer than the 10 .* use 2 "):
        coming(ensflow)


def test_a_length_under_another_name_than_the_applications_own_is_refused() -> None:
    arguments = {"grid": 400, "iterations": 30}
    campaign = campaign_named("first").changed(application="heat", arguments=arguments)
    with pytest.raises(InvalidInput, match=r"campaign 'first': arguments.iterations: a job of heat states .* as steps"):
        coming(campaign)


def test_jobs_whose_length_nothing_says_are_refused_at_a_time_scale() -> None:
    campaign = campaign_named("first").changed(arguments={"grid": 400, "tolerance": 1e-6})
    coming(campaign)
    with pytest.raises(InvalidInput, match=r"nothing says how long its poisson jobs are \(state iterations, or serv"):
        coming(campaign.changed(time_scale=2))


def test_a_time_scale_divides_stated_times_and_no_program_of_ones_own() -> None:
    campaign = campaign_named(str(PROJECT_ROOT / "examples" / "own-program" / "campaign.yaml"))
    assert {arrival.specification.command for arrival in coming(campaign)} == {campaign.command}
    scaled = campaign.changed(time_scale=10, service_s={"low_s": 60, "high_s": 60})
    with pytest.raises(InvalidInput, match=r"campaign 'own-heat': time_scale: nothing divides .* by 10; leave it out"):
        coming(scaled)
    simulated = campaign_jobs(scaled, topology_named(campaign.topology), seed=3).jobs
    assert {job.service_s for job in simulated} == {6.0}


def test_unpaced_processors_need_stated_iterations() -> None:
    topology = topology_named("das2").model_copy(update={"processor": processor_named("native")})
    campaign = campaign_named("W30").changed(jobs=5)
    with pytest.raises(InvalidInput, match=r"\(state iterations, for the processors of 'das2' are unpaced\)"):
        coming(campaign, topology)
    stated = coming(campaign.changed(arguments={"grid": 400, "iterations": 50}, time_scale=5), topology)
    assert {arrival.specification.arguments["iterations"] for arrival in stated} == {10}


def test_a_problem_that_cannot_be_divided_is_refused_with_the_campaigns_name() -> None:
    campaign = campaign_named("W30").changed(jobs=5, application="laplace")
    with pytest.raises(InvalidInput, match="campaign 'w30': A square process grid cannot be made of"):
        coming(campaign, seed=0)
