"""The load that jobs offer: of a workload, a campaign and a recorded run, and the same jobs at another load."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.campaigns.offered_load import at_load, campaign_load, load_of, recorded_load
from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.campaigns.workload_sources import prepared
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.processor import processor_named
from emulator.model.stream import StreamJob
from emulator.runs.run_directory import read_manifest
from workloads.campaign import campaign_named


def jobs_of(workload: str, **options: object) -> tuple[tuple[StreamJob, ...], int]:
    """The jobs of a workload, and the processors of its topology."""
    subject = prepared(workload, SimulationOptions(**options))
    return tuple(subject.jobs), subject.topology.processors


@pytest.mark.parametrize("load", [0.3, 1.0, 1.7])
def test_a_load_is_the_work_of_all_jobs_over_what_the_processors_can_do_between_arrivals(load):
    own, processors = jobs_of("W2", jobs=50, seed=5)
    jobs = at_load(own, processors, load)
    work_s = sum(job.request.processors * job.service_s for job in jobs)
    period_s = jobs[-1].arrival_s - jobs[0].arrival_s
    assert work_s / (processors * period_s) == pytest.approx(load)
    assert load_of(jobs, processors) == pytest.approx(load)
    assert [job.service_s for job in jobs] == [job.service_s for job in own]


def test_a_load_does_not_depend_on_when_a_log_begins():
    jobs, _ = jobs_of("W2", jobs=50, seed=5)
    later = tuple(
        StreamJob(job.id, 1e6 + job.arrival_s, job.service_s, job.request, job.queue, job.application) for job in jobs
    )
    expected = [1e6 + job.arrival_s for job in at_load(jobs, 64, 0.7)]
    assert [job.arrival_s for job in at_load(later, 64, 0.7)] == pytest.approx(expected)


@pytest.mark.parametrize("form", [".6g", ".17g"])
def test_jobs_stay_as_they_are_at_the_load_that_is_printed_of_them(form):
    jobs, processors = jobs_of("W2", jobs=50, seed=5)
    assert at_load(jobs, processors, float(f"{load_of(jobs, processors):{form}}")) == jobs


def test_jobs_that_arrive_at_once_have_no_load():
    with pytest.raises(InvalidInput, match="all jobs arrive at once"):
        at_load((), 64, 0.5)
    jobs, processors = jobs_of("W2", jobs=1)
    assert load_of(jobs, processors) is None
    assert load_of((), 64) is None


def test_a_campaign_offers_its_load_whoever_schedules_it_and_no_policy_is_executed_to_find_it():
    jobs, processors = jobs_of("W1", jobs=20, seed=3)
    campaign = campaign_named("W1").changed(jobs=20)
    topology = topology_named(campaign.topology)
    assert campaign_load(campaign, topology, 3) == load_of(jobs, processors)
    own = campaign.changed(policy="mine.py:Mine", sources={"mine.py": "raise RuntimeError\n"})
    for scheduled in (campaign.scheduled("gs", None), campaign.scheduled(None, "fcm"), own):
        assert campaign_load(scheduled, topology, 3) == load_of(jobs, processors)


def test_arrivals_decide_the_load_and_a_time_scale_leaves_it():
    campaign = campaign_named("W1").changed(jobs=20)
    topology = topology_named(campaign.topology)
    load = campaign_load(campaign, topology, 3)
    assert load is not None
    assert campaign_load(campaign.spaced(2.0), topology, 3) == pytest.approx(load / 2)
    assert campaign_load(campaign.changed(time_scale=10.0), topology, 3) == pytest.approx(load)


def test_where_nobody_knows_how_long_jobs_take_there_is_no_load():
    mini = topology_named("mini")
    unpaced = mini.model_copy(update={"processor": processor_named("native")})
    assert campaign_load(campaign_named("first"), mini, 0) is not None
    assert campaign_load(campaign_named("first"), unpaced, 0) is None
    shared = campaign_named("SIT")
    assert campaign_load(shared, topology_named(shared.topology), 0) is None


@pytest.mark.parametrize(("workload", "time_scale"), [("W1", None), ("first", 2.0)])
def test_a_recorded_run_says_the_load_of_its_jobs(tmp_path: Path, workload, time_scale):
    options = SimulationOptions(jobs=8, seed=4, band="none", time_scale=time_scale)
    subject, _ = simulate_workload(workload, options, out=tmp_path / "run")
    expected = load_of(tuple(subject.jobs), subject.topology.processors)
    assert recorded_load(read_manifest(tmp_path / "run")) == pytest.approx(expected)


def test_the_record_of_a_job_list_does_not_say_its_load(tmp_path: Path):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"id": 1, "arrival_s": 2, "service_s": 3, "components": [4], "queue": 0}\n')
    simulate_workload(str(jobs), SimulationOptions(), out=tmp_path / "run")
    assert recorded_load(read_manifest(tmp_path / "run")) is None
