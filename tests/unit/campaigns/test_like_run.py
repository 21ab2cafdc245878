"""A simulation like a live run: the same schedule, system, scheduler and background load, from its records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.campaigns.job_times import JobTimes
from emulator.campaigns.like_run import like_run
from emulator.campaigns.simulated import simulate_prepared, simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.fidelity.iteration.alone import job_alone
from emulator.fidelity.iteration.remembered import iterations_on
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.placement import Component, Placement
from emulator.model.processor import processor_named
from emulator.model.project import CAMPAIGNS
from emulator.model.records import BackgroundRow, JobRow, RunKind, RunProgress, TransferRow
from emulator.model.times import Times
from emulator.reports.compared_runs import compare
from emulator.runs.run_directory import read_manifest, read_rows, read_run, replace_manifest, replace_rows
from emulator.runs.timelines import BACKGROUND, mean_shares, read_timelines, utilization_split
from emulator.simulator.runtime_tables import read_factors
from workloads.campaign import campaign_named, recorded_campaign
from workloads.campaign_stream import campaign_jobs
from workloads.job_lengths import with_lengths
from workloads.schedule import schedule, write_schedule


def live_run(path: Path, source: str = "first", *, seed: int = 3, **options: Any) -> Path:
    """Write the directory of a run that is as a live one: its schedule, and what came of it."""
    subject, _ = simulate_workload(source, SimulationOptions(seed=seed, **options), out=path)
    campaign = recorded_campaign(subject.record, source=str(path))
    write_schedule(schedule(campaign, seed), path / "schedule.jsonl")
    changed(path, kind=RunKind.CAMPAIGN, simulated=None)
    return path


def changed(path: Path, **changes: Any) -> None:
    replace_manifest(path, read_manifest(path).model_copy(update=changes))


def again(live: Path, out: Path, times: Times = Times.MODEL, factors: Any = None, draw: int | None = None) -> Any:
    """Simulate what the run did; the comparison of both."""
    simulate_prepared(like_run(live, times, factors, draw), SimulationOptions(), out=out)
    return compare(read_run(live), read_run(out))


def errors(comparison: Any) -> dict[tuple[str, str], float]:
    return {(quantity.name, quantity.statistic): quantity.error or 0.0 for quantity in comparison.quantities}


@pytest.mark.parametrize("policy", ["wf", "cm", "fcm"])
def test_what_the_model_simulated_is_simulated_again_without_any_difference(tmp_path, policy):
    found = again(live_run(tmp_path / "live", policy=policy, jobs=15), tmp_path / "again")
    assert set(errors(found).values()) == {0.0}
    assert (found.placements.placed, found.placements.different) == (15, ())


def test_a_recorded_background_load_holds_the_same_processors_again(tmp_path):
    """W1 states execution times, so those of the run are taken; its load is replayed, not held anew."""
    live = live_run(tmp_path / "live", "W1", jobs=40)
    found = again(live, tmp_path / "again", Times.RUN)
    assert found.live.background
    timelines = [read_timelines(path) for path in (live, tmp_path / "again")]
    for begin_s in range(0, 3000, 500):
        held = [mean_shares(run, utilization_split(run), begin_s, begin_s + 500)[BACKGROUND] for run in timelines]
        assert held[1] == pytest.approx(held[0], rel=0.05)
    assert found.simulated.manifest.background["share_in_band"] > 0.95
    assert found.simulated.manifest.simulated["background"] == "as recorded"


def test_a_claim_that_failed_live_fails_again_and_the_jobs_behind_it_wait_as_they_did(tmp_path):
    """Another user took the processors between placement and claim: the start was postponed by four minutes."""
    live = live_run(tmp_path / "live", policy="wf", jobs=15)
    rows = list(read_rows(live, JobRow))
    rows[4] = rows[4].model_copy(update={"claiming_tries": 2})
    replace_rows(live, JobRow, rows)
    found = again(live, tmp_path / "again")
    lived = {job.name: job for job in read_run(live).jobs}
    simulated = {job.name: job for job in found.simulated.jobs}
    failed = rows[4].name
    assert {name for name, job in simulated.items() if job.claiming_tries > 1} == {failed}
    assert simulated[failed].additional_claiming_s == pytest.approx(240.0 / read_manifest(live).time_scale)
    assert simulated[failed].wait_time_s > lived[failed].wait_time_s
    assert found.simulated.manifest.simulated["failed_claims"] == "as recorded"


def test_processors_are_held_after_the_end_for_as_long_as_they_were_live(tmp_path):
    live = live_run(tmp_path / "live", policy="wf", jobs=15)
    rows = list(read_rows(live, JobRow))
    replace_rows(live, JobRow, [row.model_copy(update={"released_s": row.finished_s + 2.0}) for row in rows])
    found = again(live, tmp_path / "again").simulated
    assert found.manifest.simulated["release_s"] == pytest.approx(2.0)
    assert all(job.released_s - job.finished_s == pytest.approx(2.0) for job in found.jobs)
    assert all(part.released_s == found.jobs[part.job - 1].released_s for part in found.components)


def test_releases_are_drawn_from_what_the_run_recorded(tmp_path):
    live = live_run(tmp_path / "live", policy="wf", jobs=15)
    rows = list(read_rows(live, JobRow))
    held_s = {row.job: 1.0 + row.job % 3 for row in rows}
    changed_rows = [row.model_copy(update={"released_s": row.finished_s + held_s[row.job]}) for row in rows]
    replace_rows(live, JobRow, changed_rows)

    def drawn(draw: int | None) -> list[float]:
        out = tmp_path / f"again-{draw}-{len(list(tmp_path.iterdir()))}"
        found = again(live, out, draw=draw).simulated
        assert found.manifest.simulated.get("draw") == draw
        return [round(job.released_s - job.finished_s, 6) for job in found.jobs]

    assert set(drawn(None)) == {2.0}
    assert set(drawn(1)) == {1.0, 2.0, 3.0}
    assert drawn(2) != drawn(1)


def test_a_transfer_logs_in_and_is_checked_for_as_long_as_it_was_live(tmp_path):
    live = live_run(tmp_path / "live", "W30", policy="cf", jobs=30)
    moved = [
        row.model_copy(update={"began_s": row.began_s + 4.0, "arrived_s": row.arrived_s + 4.0})
        for row in read_rows(live, TransferRow)
    ]
    replace_rows(live, TransferRow, moved)
    arrived_s = {row.job: max(other.arrived_s for other in moved if other.job == row.job) for row in moved}
    jobs = [
        row.model_copy(update={"planned_start_s": row.placed_s, "started_s": arrived_s[row.job] + 2.0})
        if row.job in arrived_s
        else row
        for row in read_rows(live, JobRow)
    ]
    replace_rows(live, JobRow, jobs)
    found = again(live, tmp_path / "again").simulated
    assert found.manifest.simulated["login_s"] == pytest.approx(4.0)
    assert found.manifest.simulated["check_s"] == pytest.approx(2.0)
    placed_s = {job.job: job.placed_s for job in found.jobs}
    assert found.transfers
    assert all(row.began_s == pytest.approx(placed_s[row.job] + 4.0) for row in found.transfers)


def test_a_change_that_was_reported_late_is_not_undone_by_the_one_before_it(tmp_path):
    live = live_run(tmp_path / "live", "W1", jobs=5)
    rows = [
        BackgroundRow(
            time_s=time_s, cluster="delft", processors=64, dummy_processors=held, local_processors=0, grid_processors=0
        )
        for time_s, held in ((0.0, 0), (10.5, 4), (10.2, 48))
    ]
    replace_rows(live, BackgroundRow, rows)
    again(live, tmp_path / "again")
    replayed = [row for row in read_rows(tmp_path / "again", BackgroundRow) if row.cluster == "delft"]
    assert replayed[-1].dummy_processors == 48


def test_execution_times_of_the_run_are_the_means_of_each_problem_over_the_same_parts(tmp_path):
    live = live_run(tmp_path / "live", jobs=12)
    jobs = [row.model_copy(update={"execution_time_s": 2 * row.execution_time_s}) for row in read_rows(live, JobRow)]
    replace_rows(live, JobRow, jobs)
    by_model = again(live, tmp_path / "model")
    by_run = again(live, tmp_path / "run", Times.RUN)
    assert errors(by_model)["execution", "mean"] == pytest.approx(-0.5)
    assert abs(errors(by_run)["execution", "mean"]) < 0.25
    sources = by_run.simulated.manifest.simulated["jobs_by_source"]
    assert sources["measured"] > 0
    assert sum(sources.values()) == 12


def test_measured_factors_go_before_the_model_which_gives_what_they_lack(tmp_path):
    live = live_run(tmp_path / "live", jobs=15)
    table = tmp_path / "extension_factors.csv"
    table.write_text(
        "application,processors,clusters,extension_factor,verdict\npoisson,16,2,3.0,valid\npoisson,16,3,3.0,valid\n"
        "poisson,16,4,3.0,valid\n"
    )
    simulate_prepared(like_run(live, factors=read_factors(table)), SimulationOptions(), out=tmp_path / "again")
    rows = (tmp_path / "again" / "execution_times.csv").read_text().splitlines()[1:]
    spread = [row for row in rows if row.split(",")[2] == "16" and row.split(",")[5] != "1"]
    assert spread
    assert all(row.split(",")[7] == "3.0" for row in spread)
    assert any(row.split(",")[2] != "16" for row in rows)


def test_the_overhead_of_a_run_whose_topology_states_none_is_the_mean_that_was_recorded(tmp_path):
    live = live_run(tmp_path / "live", jobs=10)
    topology = read_manifest(live).topology.model_copy(update={"middleware": None})
    changed(live, topology=topology)
    overheads = [job.overhead_s for job in read_rows(live, JobRow)]
    simulate_prepared(like_run(live), SimulationOptions(), out=tmp_path / "again")
    after = [job.overhead_s for job in read_rows(tmp_path / "again", JobRow)]
    assert after == [pytest.approx(sum(overheads) / len(overheads))] * 10
    assert "mean of the live run" in read_manifest(tmp_path / "again").simulated["middleware"]


def test_file_transfers_are_no_part_of_the_recorded_overhead_since_they_are_simulated_too(tmp_path):
    live = live_run(tmp_path / "live", jobs=10)
    changed(live, topology=read_manifest(live).topology.model_copy(update={"middleware": None}))
    without_files = like_run(live).middleware
    rows = [
        row.model_copy(update={"overhead_s": row.overhead_s + 30.0, "estimated_transfer_s": 30.0})
        for row in read_rows(live, JobRow)
    ]
    replace_rows(live, JobRow, rows)
    assert like_run(live).middleware.base_s == pytest.approx(without_files.base_s)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kind": RunKind.SIMULATION}, "live: is a simulation; only a live campaign"),
        ({"kind": RunKind.MEASUREMENT}, "live: is a measurement; only a live campaign"),
        ({"format_version": 7}, "live: is of format version 7, and this program reads version 1"),
        ({"progress": RunProgress.INCOMPLETE}, "live: was cut short .5 of 5 jobs are in it, incomplete."),
        ({"jobs": 6}, "live: is complete by its manifest.json, but jobs.csv holds 5 of its 6 jobs"),
        ({"workload": {"name": "x"}}, "manifest.json: workload: "),
    ],
)
def test_a_run_that_cannot_be_simulated_again_is_refused_in_a_sentence(tmp_path, changes, sentence):
    live = live_run(tmp_path / "live", jobs=5)
    changed(live, **changes)
    with pytest.raises(InvalidInput, match=sentence) as refused:
        like_run(live)
    assert "\n" not in str(refused.value)


def test_another_schedule_or_none_is_refused(tmp_path):
    live = live_run(tmp_path / "live", jobs=5)
    lines = (live / "schedule.jsonl").read_text().splitlines()
    (live / "schedule.jsonl").write_text("\n".join(lines[:4]) + "\n")
    with pytest.raises(InvalidInput, match=r"schedule\.jsonl: holds 4 jobs, but the run had 5"):
        like_run(live)
    (live / "schedule.jsonl").write_text("\n".join([*lines[1:], lines[0]]) + "\n")
    with pytest.raises(InvalidInput, match=r"schedule\.jsonl, line 5: arrival_s: .* lies before"):
        like_run(live)
    (live / "schedule.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"schedule\.jsonl: cannot be read"):
        like_run(live)


def test_two_jobs_of_one_name_are_refused_where_times_are_those_of_the_run(tmp_path):
    live = live_run(tmp_path / "live", jobs=5)
    schedule_file = live / "schedule.jsonl"
    schedule_file.write_text(schedule_file.read_text().replace("first-4", "first-2"))
    with pytest.raises(InvalidInput, match="2 jobs are called 'first-2'"):
        like_run(live, Times.RUN)
    assert len(like_run(live).jobs) == 5


def test_the_readmes_own_campaign_is_simulated_with_times_of_the_model(tmp_path):
    subject, result = simulate_workload("first", SimulationOptions(), out=tmp_path / "run")
    assert result.statistics.jobs_finished == 20
    assert subject.times is not None
    assert subject.times.jobs_by_source() == {"predicted": 20}
    run = read_run(tmp_path / "run")
    assert run.manifest.simulated == {"times": "model", "jobs_by_source": {"predicted": 20}}
    one = next(job for job in run.jobs if job.processors == 4 and job.clusters == 1)
    assert 25 < one.execution_time_s < 40  # the campaign file says about 32 s


def test_what_heat_passes_on_once_is_part_of_its_time_by_the_model():
    """Live jobs of W1 have as many iterations as take the drawn time beside that; so the model must give that time."""
    campaign = campaign_named("W1").changed(jobs=60)
    topology = topology_named(campaign.topology)
    jobs = [arrival.specification for arrival in with_lengths(schedule(campaign, 3), campaign, topology, 3)]
    times = JobTimes(topology, dict(enumerate(jobs, start=1)))
    drawn_s = [job.service_s for job in campaign_jobs(campaign, topology, 3).jobs]
    assert [times.service_s(job) for job in jobs] == pytest.approx(drawn_s, abs=0.1)
    faster = next(job for job in jobs if job.application == "heat").model_copy(update={"processor_speed": 2.0})
    alone = job_alone(iterations_on(topology), "heat", faster.arguments, sum(faster.components), 2.0)
    assert times.service_s(faster) == pytest.approx(alone.execution_s(faster.arguments["steps"]))


def test_a_simulation_like_the_run_in_the_working_directory_names_that_run(tmp_path, monkeypatch):
    live = live_run(tmp_path / "live", jobs=3)
    monkeypatch.chdir(live)
    assert like_run(Path()).provenance["like"] == "live"


def test_a_campaign_with_stated_times_takes_factors_that_a_table_lacks_from_the_model(tmp_path):
    table = tmp_path / "factors.csv"
    table.write_text("application,processors,clusters,extension_factor,verdict\nlaplace,36,2,1.5,valid\n")
    options = SimulationOptions(policy="fcm", jobs=40, runtime=read_factors(table))
    subject, result = simulate_workload("W1", options)
    assert result.statistics.jobs_finished == 40
    found = subject.times.jobs_by_source()
    assert sum(found.values()) == 40
    assert found["predicted"] > 0
    laplace = {job.id for job in subject.jobs if job.application == "laplace" and job.request.processors == 36}
    placement = Placement((Component(0, 20), Component(1, 16)))
    assert subject.times.execution_of_s(min(laplace), placement, 100.0) == 150.0
    assert sum(subject.times.jobs_by_source().values()) == sum(row.jobs for row in subject.times.rows()) == 40


def test_a_factor_that_a_table_lacks_is_that_of_jobs_divided_by_the_time_scale_as_live_ones_are(tmp_path):
    table, campaign = tmp_path / "factors.csv", tmp_path / "scaled.yaml"
    table.write_text("application,processors,clusters,extension_factor,verdict\nlaplace,36,2,1.5,valid\n")
    campaign.write_text((CAMPAIGNS / "W1.yaml").read_text() + "time_scale: 10\n")
    subject, _ = simulate_workload(str(campaign), SimulationOptions(jobs=20, runtime=read_factors(table)))
    stated = campaign_named(str(campaign)).changed(jobs=20)
    arrivals = with_lengths(schedule(stated, 0), stated, subject.topology, 0)
    heat, job = next(
        (number, arrival.specification)
        for number, arrival in enumerate(arrivals, start=1)
        if arrival.specification.application == "heat"
    )
    live = JobTimes(subject.topology, {heat: job})
    placement = Placement(tuple(Component(cluster, size) for cluster, size in enumerate(job.components)))
    service_s = live.service_s(job)
    factors = [times.execution_of_s(heat, placement, service_s) / service_s for times in (subject.times, live)]
    assert factors[0] == pytest.approx(factors[1], rel=1e-6)


def test_components_in_one_cluster_are_predicted_together_as_their_ranks_are_started():
    subject, _ = simulate_workload("first", SimulationOptions(jobs=20))
    number, sixteen = next(
        (number, job) for number, job in subject.times.specifications.items() if sum(job.components) == 16
    )
    service_s = subject.times.service_s(sixteen)
    in_turn, together = (
        Placement(tuple(Component(cluster, size) for cluster, size in parts))
        for parts in ([(0, 4), (1, 4), (0, 4), (1, 4)], [(0, 8), (1, 8)])
    )
    times_s = [subject.times.execution_of_s(number, placement, service_s) for placement in (in_turn, together)]
    assert times_s[0] == times_s[1] > service_s


def test_one_factor_for_all_jobs_goes_with_times_of_the_model():
    alone, spread = (simulate_workload("first", SimulationOptions(runtime=factor))[1] for factor in (1.0, 2.0))
    ratio = spread.statistics.total.execution_s / alone.statistics.total.execution_s
    assert 1.2 < ratio < 2.0


def test_processors_of_which_nothing_is_known_are_refused_with_the_remedy(tmp_path):
    topology = tmp_path / "unpaced.yaml"
    text = (CAMPAIGNS.parents[1] / "compose" / "mini.yaml").read_text()
    topology.write_text("\n".join("processor: native" if line.startswith("processor:") else line
                                  for line in text.splitlines()) + "\n")  # fmt: skip
    with pytest.raises(InvalidInput, match=r"its processors are unpaced, .* state service_s in the campaign"):
        simulate_workload("first", SimulationOptions(topology=str(topology)))


def test_a_factor_that_no_model_knows_is_asked_for_and_not_the_stated_times(tmp_path):
    """W1 states its execution times; what is missing is the factor of a placement."""
    text = (CAMPAIGNS.parents[1] / "compose" / "das2-2006.yaml").read_text()
    topology, table = tmp_path / "unpaced.yaml", tmp_path / "factors.csv"
    topology.write_text(text.replace("processor: das2-pentium3", "processor: native"))
    table.write_text("application,processors,clusters,extension_factor,verdict\nlaplace,36,9,1.5,valid\n")
    options = SimulationOptions(topology=str(topology), policy="wf", jobs=20, runtime=read_factors(table))
    with pytest.raises(InvalidInput, match=r"unpaced, .*: measure the extension factors that the table lacks"):
        simulate_workload("W1", options)


def test_jobs_that_do_not_say_how_long_they_run_are_remarked(tmp_path):
    path = tmp_path / "endless.yaml"
    text = (CAMPAIGNS / "first.yaml").read_text().replace("iterations: 30, ", "")
    path.write_text(text)
    simulate_workload(str(path), SimulationOptions(jobs=3), out=tmp_path / "run")
    assert read_manifest(tmp_path / "run").simulated["assumed_iterations"] == {"poisson": 1000}
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["kind"] == "simulation"
    assert campaign_named(str(path)).service_s is None


def test_no_length_is_assumed_of_jobs_whose_times_are_stated_and_their_factors_are_the_models():
    subject, _ = simulate_workload("W1", SimulationOptions(policy="wf", jobs=8))
    assert subject.times is not None
    assert subject.times.assumed_lengths() == ()
    assert max(row.extension_factor for row in subject.times.rows()) > 1.05


def test_times_of_a_run_serve_where_no_model_knows_the_processors(tmp_path):
    live = live_run(tmp_path / "live", jobs=12)
    topology = read_manifest(live).topology
    unpaced = topology.model_copy(update={"processor": processor_named("native")})
    changed(live, topology=unpaced)
    with pytest.raises(InvalidInput, match="its processors are unpaced"):
        like_run(live)
    found = again(live, tmp_path / "again", Times.RUN)
    assert found.simulated.manifest.simulated["jobs_by_source"] == {"measured": 12}
    assert found.placements.different == ()


def test_a_negative_execution_time_is_refused_where_times_are_those_of_the_run(tmp_path):
    live = live_run(tmp_path / "live", jobs=5)
    first, *others = read_rows(live, JobRow)
    replace_rows(live, JobRow, [first.model_copy(update={"execution_time_s": -12.0}), *others])
    with pytest.raises(InvalidInput, match=rf"jobs\.csv: job {first.job}: execution_time_s: must be zero or more, not"):
        like_run(live, Times.RUN)
    assert like_run(live, Times.MODEL).times is not None


def test_clusters_of_one_name_and_a_negative_seed_are_refused(tmp_path):
    live = live_run(tmp_path / "live", jobs=5)
    topology = read_manifest(live).topology
    first, second, *others = topology.clusters
    twice = (first, second.model_copy(update={"name": first.name}), *others)
    changed(live, topology=topology.model_copy(update={"clusters": twice, "links": ()}))
    with pytest.raises(InvalidInput, match=rf"topology: clusters: two clusters are named '{first.name}'"):
        like_run(live)
    changed(live_run(tmp_path / "other", jobs=5), seed=-1)
    with pytest.raises(InvalidInput, match=r"manifest\.json: seed: .*-1"):
        like_run(tmp_path / "other")
