"""A simulation as a run's directory: its rows are what the simulator did, for reports as those of a live run."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.fidelity.background import BandWatch
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.project import CAMPAIGNS, PROJECT_ROOT
from emulator.model.records import RunKind, RunProgress
from emulator.runs.run_directory import RunRecords, read_manifest, read_run
from emulator.runs.same_campaign import scheduling_of
from emulator.runs.timelines import BACKGROUND, read_timelines
from emulator.studies.campaign_runs import CampaignRun
from workloads.campaign import campaign_named
from workloads.custom_sources import carrying_sources
from workloads.schedule import schedule


def simulated(tmp_path: Path, source: str = "W1", **options: object) -> tuple[RunRecords, Path]:
    given = SimulationOptions(**{"seed": 3, **options})  # type: ignore[arg-type]
    outcomes = tmp_path / "outcomes.jsonl"
    simulate_workload(source, given, outcomes, tmp_path / "run")
    return read_run(tmp_path / "run"), outcomes


def test_the_manifest_says_what_was_simulated(tmp_path):
    run, _ = simulated(tmp_path, policy="cm", jobs=20)
    manifest = run.manifest
    assert (manifest.kind, manifest.progress, manifest.verdict) == (RunKind.SIMULATION, RunProgress.COMPLETE, "valid")
    assert (manifest.name, manifest.policy, manifest.queue, manifest.seed) == ("w1", "cm", "placement", 3)
    assert manifest.topology == topology_named("das2-2006")
    assert manifest.workload["interarrival"] == {"distribution": "exponential", "mean_s": 80}


def test_jobs_have_the_names_arrivals_and_requests_that_a_live_run_submits(tmp_path):
    run, _ = simulated(tmp_path, jobs=20)
    arrivals = schedule(campaign_named("W1").changed(jobs=20), 3)
    assert [(job.name, job.intended_arrival_s, job.application, job.components) for job in
            sorted(run.jobs, key=lambda job: job.job)] == [
        (arrival.specification.name, arrival.arrival_s, arrival.specification.application,
         arrival.specification.components)
        for arrival in arrivals
    ]  # fmt: skip


def test_a_flexible_job_asks_for_its_total_and_has_the_components_that_it_got(tmp_path):
    run, _ = simulated(tmp_path, policy="fcm", jobs=40)
    split = next(job for job in run.jobs if len(job.execution_clusters) > 1)
    assert (split.request, split.components) == ("flexible", (split.processors,))
    assert sum(row.processors for row in run.components if row.job == split.job) == split.processors


def test_times_are_those_of_the_outcomes(tmp_path):
    run, outcomes = simulated(tmp_path, "W2", jobs=60)
    by_id = {job.job: job for job in run.jobs}
    lines = outcomes.read_text().splitlines()
    assert len(lines) == len(by_id) == 60
    for line in lines:
        assert f'"start_s": {by_id[int(line.split(",")[0].split()[1])].started_s}' in line
    for job in run.jobs:
        assert None not in (job.placed_s, job.started_s, job.finished_s)
        assert job.claimed_s == job.placed_s
        assert job.queue_time_s + job.overhead_s == pytest.approx(job.wait_time_s)
        assert job.wait_time_s + job.execution_time_s == pytest.approx(job.response_time_s)


def test_use_of_a_cluster_never_exceeds_it_and_ends_at_zero(tmp_path):
    run, _ = simulated(tmp_path, "W2", jobs=60)
    for cluster in run.manifest.topology.clusters:
        rows = [row for row in run.utilization if row.cluster == cluster.name]
        assert rows[0].time_s == 0
        assert all(0 <= row.executing_processors <= row.claimed_processors <= row.processors for row in rows)
        assert (rows[-1].claimed_processors, rows[-1].executing_processors) == (0, 0)


def test_transfers_of_input_files_are_rows_and_jobs_start_after_them(tmp_path):
    run, _ = simulated(tmp_path, "W30", policy="cf", jobs=20)
    jobs = {job.job: job for job in run.jobs}
    assert {row.job for row in run.transfers} == {job.job for job in run.jobs if job.estimated_transfer_s}
    for row in run.transfers:
        job = jobs[row.job]
        assert (row.file, row.began_s) == (job.file, job.placed_s)
        assert row.target in job.execution_clusters
        assert row.source != row.target
        assert row.arrived_s <= job.started_s
        assert 0 < row.rate_mbit <= 100


def test_a_job_list_leaves_a_run_too(tmp_path):
    (tmp_path / "jobs.jsonl").write_text(
        '{"id": 7, "arrival_s": 1, "service_s": 2, "components": [4, 4], "queue": 0}\n'
    )
    run, _ = simulated(tmp_path, str(tmp_path / "jobs.jsonl"), queue="gs")
    (job,) = run.jobs
    assert (job.name, job.application, job.started_s, job.finished_s) == ("jobs.jsonl-7", "unnamed", 1.0, 3.0)


@pytest.mark.parametrize("source", ["W1", "jobs.jsonl"])
def test_a_policy_of_ones_own_is_recorded_as_a_live_run_records_it(tmp_path, source):
    (tmp_path / "jobs.jsonl").write_text('{"id": 1, "arrival_s": 1, "service_s": 2, "components": [4]}\n')
    policy = f"{PROJECT_ROOT}/examples/policies/one_cluster_first.py:OneClusterFirst"
    workload, options = (source, {"jobs": 3}) if source == "W1" else (str(tmp_path / source), {})
    run, _ = simulated(tmp_path, workload, policy=policy, **options)
    live = carrying_sources(campaign_named("W1").scheduled(None, policy))
    of_live_run = {"policy": live.policy, "queue": live.queue, "workload": live.model_dump(mode="json")}
    assert run.manifest.policy == run.manifest.workload["policy"] == "one_cluster_first.py:OneClusterFirst"
    assert scheduling_of(run.manifest) == scheduling_of(run.manifest.model_copy(update=of_live_run))


def test_a_directory_that_is_taken_and_a_single_cluster_are_refused(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    with pytest.raises(InvalidInput, match="is not empty, and no run is written over another"):
        simulated(tmp_path, jobs=5)
    with pytest.raises(InvalidInput, match="--out: under sc there is one cluster that the topology lacks"):
        simulate_workload("W1", SimulationOptions(queue="sc", jobs=5), out=tmp_path / "other")


def under_load(folder: Path, load: str, *more: str) -> str:
    """The campaign W1 with another background load, as a file."""
    lines = [line for line in (CAMPAIGNS / "W1.yaml").read_text().splitlines() if not line.startswith("background")]
    path = folder / "loaded.yaml"
    path.write_text("\n".join([*lines, f"background: {load}", *more]) + "\n", encoding="utf-8")
    return str(path)


def test_the_background_load_is_recorded_as_that_of_a_live_run(tmp_path):
    run, _ = simulated(tmp_path, jobs=60)
    manifest, sizes = run.manifest, {cluster.name: cluster.processors for cluster in run.manifest.topology.clusters}
    stated = campaign_named("W1").background
    assert stated is not None
    assert manifest.background is not None
    watch = BandWatch(stated.of(sum(sizes.values())), stated.void_after_s)
    held: dict[str, int] = {}
    for row in run.background:
        assert row.processors == sizes[row.cluster]
        assert row.dummy_processors + row.local_processors + row.grid_processors <= row.processors
        held[row.cluster] = row.dummy_processors + row.local_processors
        watch.note(row.time_s, sum(held.values()), dummies_left=True)
    assert sorted(held) == sorted(sizes)
    found = watch.measures(max(job.finished_s for job in run.jobs))
    assert found.share_in_band == pytest.approx(manifest.background["share_in_band"], abs=1e-3)
    assert manifest.verdict == "valid"
    with_load = [row for row in run.utilization if row.background_processors is not None]
    assert with_load == run.utilization
    assert all(row.claimed_processors + row.background_processors <= row.processors for row in with_load)


def test_claims_see_the_simulated_background_in_its_band(tmp_path):
    simulated(tmp_path, jobs=60)
    shares = CampaignRun.of(read_timelines(tmp_path / "run")).shares[BACKGROUND]
    assert len(shares) == 10
    assert all(0.14 <= share <= 0.21 for share in shares)


def test_a_simulation_whose_background_leaves_its_band_is_void_as_a_live_run_would_be(tmp_path):
    """Local jobs alone hold far more than the band allows, and no dummy job is left to kill."""
    local = "{interarrival: {mean_s: 150}, sizes: [32], lengths: {low_s: 600, high_s: 900}}"
    run, _ = simulated(tmp_path, under_load(tmp_path, f"{{band: [0.15, 0.2], local_jobs: {local}}}"), jobs=20)
    assert run.manifest.verdict == "void"
    assert "background load above its band" in run.manifest.verdict_reasons[0]
    assert run.manifest.background["longest_above_s"] > run.manifest.background["void_after_s"] == 60


def test_a_simulation_whose_background_is_seldom_in_its_band_is_suspect(tmp_path):
    """Dummy jobs of 64 processors fit no cluster that runs grid jobs, so the load is too low at times."""
    load = "{band: [0.45, 0.7], void_after_s: 80000, dummy: {sizes: [64], lengths: {low_s: 300, high_s: 600}}}"
    run, _ = simulated(tmp_path, under_load(tmp_path, load), jobs=40)
    assert run.manifest.background["share_in_band"] < 0.95
    assert (run.manifest.verdict, len(run.manifest.verdict_reasons)) == ("suspect", 1)


def test_jobs_that_were_given_up_speak_against_a_simulation(tmp_path):
    path = under_load(tmp_path, "{band: [0.15, 0.2]}", "tries_threshold: 1")
    run, _ = simulated(tmp_path, path, jobs=60)
    given_up = [job for job in run.jobs if job.state == "failed"]
    assert given_up
    assert {job.verdict for job in given_up} == {"void"}
    assert run.manifest.verdict in ("suspect", "void")
    assert f"{len(given_up)} jobs failed" in "; ".join(run.manifest.verdict_reasons)


def test_without_a_background_load_there_are_no_rows_of_one(tmp_path):
    run, _ = simulated(tmp_path, jobs=10, band="none")
    assert run.background == []
    assert run.manifest.background is None
    assert {row.background_processors for row in run.utilization} == {None}


def test_a_job_that_was_given_up_has_the_time_of_that_and_waits_no_longer(tmp_path):
    campaign = tmp_path / "W2.yaml"
    campaign.write_text((CAMPAIGNS / "W2.yaml").read_text() + "tries_threshold: 3\n")
    run, _ = simulated(tmp_path, str(campaign), jobs=80)
    given_up = [job for job in run.jobs if job.state == "failed"]
    assert given_up
    assert all(job.submitted_s < job.given_up_s < job.submitted_s + 5 * 4 for job in given_up)
    assert {job.reason for job in given_up} == {"Given up: not placed in 4 placement tries."}
    assert {job.placement_tries for job in given_up} == {4}
    assert all(job.given_up_s is None for job in run.jobs if job.state == "finished")
    assert CampaignRun.of(read_timelines(tmp_path / "run")).longest_queue < len(given_up) / 2


def test_estimates_are_recorded_as_stated_or_as_drawn(tmp_path):
    for run in ("stated", "drawn"):
        (tmp_path / run).mkdir()
    stated, _ = simulated(tmp_path / "stated", jobs=5)
    assert {job.estimate_s for job in stated.jobs} == {900.0}
    drawn, _ = simulated(tmp_path / "drawn", jobs=5, queue="sjf", estimate_factor=2.0)
    assert all(job.execution_time_s <= job.estimate_s <= 2 * job.execution_time_s for job in drawn.jobs)


@pytest.mark.parametrize(("policy", "queue"), [("fcm", None), ("wf-distinct", None), (None, "gs"), (None, "fcfs")])
def test_jobs_read_their_files_under_every_policy_and_queue(tmp_path, policy, queue):
    run, _ = simulated(tmp_path, "W30", policy=policy, queue=queue, jobs=20)
    assert any(job.estimated_transfer_s for job in run.jobs)
    assert {row.job for row in run.transfers} == {job.job for job in run.jobs if job.estimated_transfer_s}


def test_one_cluster_instead_of_several_holds_every_file(tmp_path):
    subject, result = simulate_workload("W30", SimulationOptions(queue="sc", policy="cf", jobs=20))
    assert result.statistics.jobs_finished == 20
    assert subject.transfers is not None
    assert subject.transfers.ended == []


def test_a_run_that_was_not_written_to_its_end_does_not_say_that_it_is_complete(tmp_path, monkeypatch):
    def interrupted(run: object) -> list[object]:
        raise KeyboardInterrupt

    monkeypatch.setattr("emulator.campaigns.simulated_run._all_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulate_workload("W1", SimulationOptions(jobs=5), out=tmp_path / "run")
    assert read_manifest(tmp_path / "run").progress is not RunProgress.COMPLETE
