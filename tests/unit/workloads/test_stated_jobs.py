"""Campaigns whose jobs are those of a list or a log: live and simulated they are the jobs that the file states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulator.campaigns.job_times import JobTimes
from emulator.campaigns.live import arrivals_on
from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.cli.campaign_options import chosen_campaign
from emulator.model.catalogue import equal_clusters, topology_named
from emulator.model.errors import InvalidInput
from emulator.model.project import PROJECT_ROOT
from workloads.campaign import campaign_named, recorded_campaign
from workloads.job_lengths import drawn_services_s
from workloads.schedule import home_queues, schedule

EXAMPLE = PROJECT_ROOT / "examples" / "own-jobs"
LOG = """; MaxProcs: 64
1 0 -1 30 24 -1 -1 24 60 -1 1 1 1 -1 -1 -1 -1 -1
2 10 -1 20 4 -1 -1 4 40 -1 1 1 1 -1 -1 -1 -1 -1
"""


def campaign_of(
    folder: Path, job_list: str = "jobs.jsonl", more: str = "", arguments: str = "{grid: 2000, tolerance: 0}"
) -> Path:
    """Write a campaign that takes its jobs from a file beside it."""
    path = folder / "mine.yaml"
    path.write_text(f"name: mine\ntopology: mini\njob_list: {job_list}\narguments: {arguments}\n{more}")
    return path


def lines(*jobs: dict[str, object]) -> str:
    return "".join(json.dumps(job) + "\n" for job in jobs)


def test_arrivals_components_times_and_estimates_are_those_of_the_list():
    campaign = campaign_named(str(EXAMPLE / "campaign.yaml"))
    stated = [json.loads(line) for line in (EXAMPLE / "jobs.jsonl").read_text().splitlines()]
    found = schedule(campaign, 7)
    assert [arrival.arrival_s for arrival in found] == [job["arrival_s"] for job in stated]
    assert [list(arrival.specification.components) for arrival in found] == [job["components"] for job in stated]
    assert [arrival.specification.estimate_s for arrival in found] == [job["estimate_s"] for job in stated]
    assert drawn_services_s(campaign, 8, 7) == [job["service_s"] for job in stated]
    assert schedule(campaign, 8) == found


def test_a_live_job_is_as_long_as_the_list_says_and_the_time_scale_divides_it():
    campaign = campaign_named(str(EXAMPLE / "campaign.yaml"))
    topology = topology_named("mini")
    for time_scale in (1.0, 4.0):
        arrivals = arrivals_on(topology, campaign.changed(time_scale=time_scale), seed=1)
        times = JobTimes(topology, {})
        for arrival, stated_s in zip(arrivals, drawn_services_s(campaign, 8, 1) or (), strict=True):
            assert times.service_s(arrival.specification) == pytest.approx(stated_s / time_scale, rel=0.02)
        assert arrivals[7].arrival_s == 58 / time_scale


def test_a_simulation_of_the_campaign_is_that_of_the_list(tmp_path):
    """A list by itself has no middleware."""
    (tmp_path / "jobs.jsonl").write_text((EXAMPLE / "jobs.jsonl").read_text())
    campaign = campaign_of(tmp_path, more="application: poisson\nrequest: unordered\n")
    options = SimulationOptions(policy="wf", runtime=1.25, middleware=False)
    _, alone = simulate_workload(str(tmp_path / "jobs.jsonl"), options)
    _, within = simulate_workload(str(campaign), options)
    assert within.statistics.response_s == alone.statistics.response_s
    assert within.statistics.makespan_s == alone.statistics.makespan_s


def test_a_log_is_split_into_components_and_its_requested_times_are_estimates(tmp_path):
    (tmp_path / "log.swf").write_text(LOG)
    path = campaign_of(tmp_path, "{file: log.swf, component_limit: 16}", "application: laplace\n")
    first, second = (arrival.specification for arrival in schedule(campaign_named(str(path)), 0))
    assert (sum(first.components), max(first.components) <= 16, second.components) == (24, True, (4,))
    assert (first.estimate_s, second.estimate_s, first.application) == (60, 40, "laplace")


def test_the_first_jobs_are_taken_and_arrivals_are_spaced(tmp_path):
    campaign = campaign_named(str(EXAMPLE / "campaign.yaml"))
    assert campaign.jobs == 8
    fewer = campaign.changed(jobs=3).spaced(0.5)
    assert [arrival.arrival_s for arrival in schedule(fewer, 0)] == [0, 2.5, 6]


def test_a_record_holds_the_jobs_so_that_the_file_may_change_and_applications_may_differ(tmp_path):
    (tmp_path / "jobs.jsonl").write_text(
        lines({"id": 1, "arrival_s": 0, "service_s": 9, "components": [4], "application": "laplace"},
              {"id": 2, "arrival_s": 1, "service_s": 9, "components": [4]})
    )  # fmt: skip
    campaign = campaign_named(str(campaign_of(tmp_path, more="application: poisson\n")))
    (tmp_path / "jobs.jsonl").unlink()
    record = json.loads(json.dumps(campaign.model_dump(mode="json")))
    again = recorded_campaign(record, source="here")
    assert schedule(again, 0) == schedule(campaign, 0)
    assert [arrival.specification.application for arrival in schedule(again, 0)] == ["laplace", "poisson"]


@pytest.mark.parametrize(
    ("job_list", "more", "said"),
    [
        ("jobs.jsonl", "", "the job that arrives as number 1 names no application, and campaign 'mine' states none"),
        ("gone.jsonl", "application: poisson", "gone.jsonl: cannot be read"),
        ("jobs.txt", "application: poisson", "neither a job list .* nor a log"),
        ("{file: jobs.jsonl, component_limit: 4}", "application: poisson", "a job list states components"),
        ("jobs.jsonl", "service_s: {low_s: 1, high_s: 2}", "service_s: the job list states this; leave it out"),
        (
            "jobs.jsonl",
            "interarrival: {distribution: exponential, mean_s: 8}",
            "interarrival: the job list states this",
        ),
        ("jobs.jsonl", "listed: [{arrival_s: 0, service_s: 1, components: [4]}]", "a campaign file holds no jobs"),
    ],
)
def test_what_contradicts_the_list_is_refused_in_a_sentence(tmp_path, job_list, more, said):
    (tmp_path / "jobs.jsonl").write_text(lines({"id": 1, "arrival_s": 0, "service_s": 9, "components": [4]}))
    with pytest.raises(InvalidInput, match=said):
        campaign_named(str(campaign_of(tmp_path, job_list, more)))


@pytest.mark.parametrize("name", ["jobs.jsonl", "some/log.swf", "log.swf.gz"])
def test_a_list_in_place_of_a_campaign_is_answered_with_what_to_write(name):
    with pytest.raises(InvalidInput, match=rf"^{name}: holds jobs.* write one that names it \(job_list: {name}\)"):
        campaign_named(name)


def test_the_queue_of_a_list_is_kept_live_and_simulated(tmp_path):
    jobs = [{"id": n, "arrival_s": n, "service_s": 20, "components": [4], "queue": (n + 1) % 4} for n in range(8)]
    (tmp_path / "jobs.jsonl").write_text(lines(*jobs))
    path = campaign_of(tmp_path, more="application: poisson\nqueue: ls-do\n")
    topology, campaign = topology_named("mini"), campaign_named(str(path))
    stated = [job["queue"] for job in jobs]
    for seed in (1, 2):
        found = [arrival.specification.queue for arrival in arrivals_on(topology, campaign, seed)]
        assert found == [topology.cluster_names[queue] for queue in stated]
        assert home_queues(campaign, schedule(campaign, seed), topology, seed) == stated
    (tmp_path / "jobs.jsonl").write_text(lines(*(job | {"queue": 4} for job in jobs)))
    with pytest.raises(InvalidInput, match="Job 1: queue: must be from 0 to 3 on 'mini', not 4"):
        arrivals_on(topology, campaign_named(str(path)), 1)


def test_what_a_log_leaves_out_is_counted_and_said(tmp_path, capsys):
    (tmp_path / "log.swf").write_text(LOG + "3 20 -1 -1 4 -1 -1 4 40 -1 0 1 1 -1 -1 -1 -1 -1\n")
    path = campaign_of(tmp_path, "log.swf", more="application: poisson\n")
    campaign = campaign_named(str(path))
    assert (len(campaign.listed), campaign.left_out) == (2, 1)
    assert recorded_campaign(campaign.model_dump(mode="json"), source="a manifest") == campaign
    chosen_campaign(str(path), queue=None, dilation=None, band=None, replicas=None)
    assert "Campaign 'mine': 1 record of its log left out (`testbed simulate LOG` says why)." in capsys.readouterr().err


def test_a_log_is_split_for_the_topology_that_the_campaign_runs_on(tmp_path):
    (tmp_path / "log.swf").write_text("1 0 -1 30 80 -1 -1 80 60 -1 1 1 1 -1 -1 -1 -1 -1\n")
    path = campaign_of(tmp_path, "{file: log.swf, component_limit: 16}", more="application: poisson\n")
    assert campaign_named(str(path)).listed[0].components == (20,) * 4
    das2 = chosen_campaign(str(path), queue=None, dilation=None, band=None, replicas=None, topology="das2")[0]
    assert das2.listed[0].components == (16,) * 5
    many = equal_clusters("70x16")
    (tmp_path / "log.swf").write_text("1 0 -1 30 1120 -1 -1 1120 60 -1 1 1 1 -1 -1 -1 -1 -1\n")
    with pytest.raises(InvalidInput, match=r"log\.swf, job 1: components: "):
        campaign_named(str(path), many)


def test_the_arguments_of_a_line_override_those_of_the_campaign_live_and_simulated(tmp_path):
    job = {"arrival_s": 0, "service_s": 9, "components": [4]}
    (tmp_path / "jobs.jsonl").write_text(
        lines({**job, "id": 1, "arguments": {"grid": 400, "tolerance": 0}},
              {**job, "id": 2, "application": "heat", "arguments": {"ratio": 0.2, "edges": "insulated"}},
              {**job, "id": 3, "application": "laplace"})
    )  # fmt: skip
    path = campaign_of(tmp_path, more="application: poisson\n", arguments="{grid: 2000}")
    stated = [
        {"grid": 400, "tolerance": 0},
        {"grid": 2000, "ratio": 0.2, "edges": "insulated"},
        {"grid": 2000},
    ]
    campaign = campaign_named(str(path))
    assert [arrival.specification.arguments for arrival in schedule(campaign, 0)] == stated
    record = json.loads(json.dumps(campaign.model_dump(mode="json")))
    assert schedule(recorded_campaign(record, source="here"), 0) == schedule(campaign, 0)
    live = [arrival.specification.arguments for arrival in arrivals_on(topology_named("mini"), campaign, 1)]
    lengths = ("iterations", "steps", "iterations")
    assert [
        {name: value for name, value in each.items() if name != length}
        for each, length in zip(live, lengths, strict=True)
    ] == stated
    subject, _ = simulate_workload(str(path), SimulationOptions(policy="wf"))
    assert subject.times is not None
    assert [subject.times.specifications[number].arguments["grid"] for number in (1, 2, 3)] == [400, 2000, 2000]


def test_an_argument_that_the_application_of_a_line_does_not_have_is_refused_live_and_simulated(tmp_path):
    (tmp_path / "jobs.jsonl").write_text(
        lines({"id": 1, "arrival_s": 0, "service_s": 9, "components": [4], "application": "heat"})
    )
    path = campaign_of(tmp_path)
    topology, campaign = topology_named("mini"), campaign_named(str(path))
    said = "campaign 'mine': arguments.tolerance: heat has no such argument"
    with pytest.raises(InvalidInput, match=said):
        arrivals_on(topology, campaign, 1)
    with pytest.raises(InvalidInput, match=said):
        simulate_workload(str(path), SimulationOptions(policy="wf", runtime=1.25))


def test_an_application_that_only_a_simulation_knows_may_have_any_arguments_there(tmp_path):
    (tmp_path / "jobs.jsonl").write_text(
        lines({"id": 1, "arrival_s": 0, "service_s": 9, "components": [4], "application": "quake"})
    )
    _, result = simulate_workload(str(campaign_of(tmp_path)), SimulationOptions(policy="wf", runtime=1.25))
    assert result.statistics.jobs_finished == 1


def test_the_arguments_of_a_line_are_refused_beside_a_command(tmp_path):
    (tmp_path / "jobs.jsonl").write_text(
        lines({"id": 1, "arrival_s": 0, "service_s": 9, "components": [4], "arguments": {"grid": 400}})
    )
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\ntopology: mini\njob_list: jobs.jsonl\ncommand: [heat]\n")
    with pytest.raises(InvalidInput, match=r"jobs\.jsonl: arguments: campaign 'mine' runs a command instead"):
        campaign_named(str(path))
