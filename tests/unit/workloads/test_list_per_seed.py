"""A job list for each seed: every seed is a sample of the user's own arrivals, live, simulated and in sweeps."""

from __future__ import annotations

import json

import pytest

from emulator.campaigns.live import arrivals_on
from emulator.campaigns.live_sweep import begin_sweep, read_sweep, sweep_of
from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.campaigns.simulation_sweep import SimulationSweep, SweptWorkload
from emulator.cli.campaign_options import chosen_campaign
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from tests.unit.workloads.seed_lists import campaign_with_a_list, campaign_with_lists, write_list
from workloads.campaign import campaign_named, recorded_campaign
from workloads.schedule import schedule

SEEDS = (1, 2, 3)


def arrivals_s(path, seed: int) -> list[float]:
    return [arrival.arrival_s for arrival in schedule(campaign_named(str(path), seed=seed), seed)]


def test_each_seed_has_the_jobs_of_its_own_list(tmp_path):
    path = campaign_with_lists(tmp_path, SEEDS)
    assert arrivals_s(path, 1) == [0, 1, 2, 3, 4]
    assert arrivals_s(path, 3) == [0, 3, 6, 9, 12, 15, 18]
    campaign = campaign_named(str(path), seed=3)
    assert [arrival.arrival_s for arrival in arrivals_on(topology_named("mini"), campaign, 3)] == arrivals_s(path, 3)
    subject, _ = simulate_workload(str(path), SimulationOptions(policy="wf", runtime=1.25, seed=3))
    assert [job.arrival_s for job in subject.jobs] == arrivals_s(path, 3)


def test_a_record_names_the_lists_and_holds_the_jobs_of_its_seed(tmp_path):
    campaign = campaign_named(str(campaign_with_lists(tmp_path, SEEDS)), seed=2)
    record = json.loads(json.dumps(campaign.model_dump(mode="json")))
    assert (record["job_list"]["file"], len(record["listed"]), record["jobs"]) == ("jobs-{seed}.jsonl", 6, 6)
    assert recorded_campaign(record, source="here") == campaign


def test_without_a_seed_there_are_no_jobs_yet(tmp_path):
    campaign = campaign_named(str(campaign_with_lists(tmp_path, SEEDS)))
    assert (campaign.has_list_per_seed, campaign.listed, campaign.topology) == (True, (), "mini")
    with pytest.raises(InvalidInput, match="campaign 'mine': job_list: each seed has its own, and none has been read"):
        schedule(campaign, 1)
    assert not campaign_named("first").has_list_per_seed


def test_a_list_that_is_missing_is_named(tmp_path):
    path = campaign_with_lists(tmp_path, SEEDS)
    with pytest.raises(InvalidInput, match=r"jobs-9\.jsonl: cannot be read"):
        campaign_named(str(path), seed=9)


@pytest.mark.parametrize("seeded", [True, False])
def test_arrivals_are_spaced_by_the_file_and_by_the_option(tmp_path, seeded):
    name = "jobs-{seed}.jsonl" if seeded else "jobs.jsonl"
    write_list(tmp_path / name.replace("{seed}", "5"), jobs=3, apart_s=8)
    stated = campaign_with_a_list(tmp_path, f'{{file: "{name}", interarrival_factor: 0.5}}')
    assert arrivals_s(stated, 5) == [0, 4, 8]
    chosen, _ = chosen_campaign(
        str(stated), queue=None, dilation=None, band=None, replicas=None, interarrival_factor=0.25, seed=5
    )
    assert [arrival.arrival_s for arrival in schedule(chosen, 5)] == [0, 1, 2]
    assert chosen.job_list is not None
    assert chosen.job_list.interarrival_factor == 0.125


def test_a_live_sweep_runs_each_seed_with_its_list(tmp_path):
    path = str(campaign_with_lists(tmp_path, SEEDS))
    first = campaign_named(path, seed=1)
    with pytest.raises(InvalidInput, match="job_list: each seed has its own"):
        sweep_of(first, ["wf", "cm"], SEEDS)
    sweep = sweep_of(first, ["wf", "cm"], SEEDS, of_seed=lambda seed: campaign_named(path, seed=seed))
    assert [(run.folder, len(run.campaign.listed)) for run in sweep.runs] == [
        ("wf-1", 5), ("cm-1", 5), ("wf-2", 6), ("cm-2", 6), ("wf-3", 7), ("cm-3", 7),
    ]  # fmt: skip
    begin_sweep(tmp_path / "sweep", sweep)
    assert read_sweep(tmp_path / "sweep").runs == sweep.runs


def test_a_changed_list_gives_other_cases_of_its_seed_alone(tmp_path):
    path = campaign_with_lists(tmp_path, (0, 1, 2))
    swept = SimulationSweep(SweptWorkload(str(path)), ("wf",), (None,), (None,), seeds=3)
    before = [case.key for case in swept.cases()]
    write_list(tmp_path / "jobs-1.jsonl", jobs=9)
    after = [case.key for case in swept.cases()]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True]
    (tmp_path / "jobs-2.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"jobs-2\.jsonl: there is no such file, and each of the seeds 0 to 2 needs"):
        swept.cases()
