"""The figures of a report, from rows small enough to work out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from emulator.campaigns.offered_load import load_of
from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.model.catalogue import topology_named
from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.records import JobRow, Manifest, RunKind
from emulator.reports.summary import factors_by_clusters, gross_utilization, summarize
from emulator.reports.tables import factor_table, measured_factor_table, run_object, summary_table
from emulator.runs.run_directory import RunDirectory, read_run

INTERCONNECTS = topology_named("das2").interconnects


def job(number: int, clusters: int, runtime_s: float, **changes: object) -> JobRow:
    names = ("amsterdam", "delft", "leiden", "utrecht")[:clusters]
    return JobRow.model_validate(
        {
            "job": number, "name": f"job-{number}", "application": "poisson", "arguments": "{}",
            "request": "non-fixed", "components": (8 // clusters,) * clusters, "processors": 8, "state": "finished",
            "execution_clusters": names, "clusters": clusters, "submitted_s": 0.0, "started_s": 2.0,
            "finished_s": 2.0 + runtime_s, "wait_time_s": 2.0, "execution_time_s": runtime_s,
            "response_time_s": 2.0 + runtime_s, "runtime_s": runtime_s, "phases": 10, "late_phases": 1,
            "verdict": "valid", **changes,
        }
    )  # fmt: skip


def manifest(kind: RunKind = RunKind.CAMPAIGN) -> Manifest:
    return Manifest(
        kind=kind, name="first", verdict="valid", topology=topology_named("mini"), workload={}, jobs=4, policy="wf",
        queue="placement", seed=1, dilation=2, paced_middleware=True, host_began_at="", host={}, versions={},
    )  # fmt: skip


def test_gross_utilization_is_executing_processor_time_over_all_processor_time():
    jobs = [job(1, 1, 10.0), job(2, 1, 10.0, started_s=10.0, finished_s=30.0)]
    assert gross_utilization(jobs, [], 16, 0.0, 20.0) == pytest.approx((8 * 10 + 8 * 10) / (16 * 20))
    assert gross_utilization(jobs, [], 16, 10.0, 20.0) == pytest.approx((8 * 2 + 8 * 10) / (16 * 10))
    assert gross_utilization([], [], 16, 0.0, 20.0) is None
    assert gross_utilization(jobs, [], 16, 0.0, None) is None
    assert gross_utilization(jobs, [], 16, 20.0, 20.0) is None


def test_a_job_executes_until_its_finish_and_not_until_its_release():
    assert gross_utilization([job(1, 1, 10.0, released_s=20.0)], [], 8, 2.0, 22.0) == pytest.approx(0.5)
    ended = job(1, 1, 10.0, state="cancelled", finished_s=None, released_s=7.0)
    assert gross_utilization([ended], [], 8, 2.0, 22.0) == pytest.approx(0.25)


def test_factors_compare_only_equal_jobs():
    jobs = [
        job(1, 1, 10.0), job(2, 1, 10.2), job(3, 2, 12.0), job(4, 2, 12.1),
        job(5, 4, 15.0, processors=16), job(6, 2, 99.0, arguments='{"grid": 1}'),
    ]  # fmt: skip
    factors = factors_by_clusters(jobs, INTERCONNECTS)
    assert [(factor.processors, factor.clusters, factor.single_runs) for factor in factors] == [(8, 2, 2)]
    assert factors[0].factor.value == pytest.approx(12.05 / 10.1)


def test_jobs_of_other_lengths_are_compared_by_their_iterations():
    """As those of a campaign that draws execution times."""
    jobs = [
        job(number, clusters, iterations * iteration_s, iterations=iterations, arguments=f'{{"grid": 400, {length}}}')
        for number, (clusters, iterations, iteration_s) in enumerate([(1, 100, 0.1), (1, 300, 0.1), (2, 200, 0.15)])
        for length in (f'"iterations": {iterations}',)
    ]
    (factor,) = factors_by_clusters(jobs, INTERCONNECTS)
    assert (factor.clusters, factor.single_runs, factor.arguments) == (2, 2, '{"grid": 400}')
    assert factor.factor.value == pytest.approx(1.5)
    simulated = [each.model_copy(update={"iterations": None}) for each in jobs]
    assert [each.factor.value for each in factors_by_clusters(simulated, INTERCONNECTS)] == pytest.approx([1.5])


def test_a_job_in_one_cluster_as_if_it_were_co_allocated_is_no_reference():
    jobs = [
        job(1, 1, 10.0, interconnects="myrinet"), job(2, 1, 14.0, interconnects="ethernet"),
        job(3, 2, 15.0, interconnects="ethernet+wide-area"),
    ]  # fmt: skip
    (factor,) = factors_by_clusters(jobs, INTERCONNECTS)
    assert (factor.factor.value, factor.single_runs) == (pytest.approx(1.5), 1)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "first-1"
    with RunDirectory(path, manifest()) as directory:
        for row in (job(1, 1, 10.0), job(2, 2, 12.0), job(3, 2, 13.0)):
            directory.append(row)
        directory.append(job(4, 1, 0.0).model_copy(update={"state": "failed", "finished_s": None, "runtime_s": None}))
    return path


def test_a_summary_counts_every_job_once_and_averages_the_finished(run):
    summary = summarize(read_run(run))
    assert (summary.finished, summary.failed, summary.cancelled) == (3, 1, 0)
    execution = summary.times["execution_time_s"]
    assert execution is not None
    assert (execution.value, execution.n) == (pytest.approx(35 / 3), 3)
    assert summary.late_phase_share == pytest.approx(0.1)
    assert summary.utilization == pytest.approx(8 * (10 + 12 + 13) / (64 * 15))


def test_several_runs_stand_side_by_side(run, tmp_path):
    other = tmp_path / "measured"
    with RunDirectory(other, manifest(RunKind.MEASUREMENT)) as directory:
        directory.append(
            ExtensionFactorRow(
                application="poisson", grid=400, processors=16, components=(8, 8), clusters=2, dilation=8,
                runtime_s=1.5, iteration_s=0.005, extension_factor=3.0, ci_low=2.9, ci_high=3.1, n=3, verdict="valid",
            )
        )  # fmt: skip
        for row in (job(1, 1, 10.0), job(2, 2, 12.0)):
            directory.append(row)
    summaries, labels = [summarize(read_run(path)) for path in (run, other)], ["first-1", "measured"]
    table = summary_table(summaries, labels)
    assert list(table[0]) == ["quantity", "first-1", "measured"]
    finished = next(row for row in table if row["quantity"] == "jobs finished")
    assert finished["first-1"] == "3 of 4"
    intervals = next(row for row in table if row["quantity"] == "intervals of times")
    assert (intervals["first-1"], intervals["measured"]) == ("jobs taken as independent", "")
    assert [(row["run"], row["clusters"]) for row in factor_table(summaries, labels)] == [("first-1", "2")]
    (measured,) = measured_factor_table(summaries, labels)
    assert (measured["run"], measured["factor [95%]"]) == ("measured", "3 [2.9, 3.1]")
    assert run_object(summaries[0], "first-1")["extension_factors"][0]["extension_factor"] == pytest.approx(1.25)


def test_a_measurement_has_the_factors_that_it_measured_and_none_among_its_jobs(tmp_path):
    with RunDirectory(tmp_path / "measured", manifest(RunKind.MEASUREMENT)) as directory:
        for row in (job(1, 1, 10.0), job(2, 2, 12.0)):
            directory.append(row)
        directory.append(
            ExtensionFactorRow(
                application="poisson", processors=8, components=(4, 4), clusters=2, dilation=8, runtime_s=12.0,
                extension_factor=1.2, n=1, verdict="valid",
            )
        )  # fmt: skip
    found = run_object(summarize(read_run(tmp_path / "measured")), "measured")
    assert [row["extension_factor"] for row in found["measured_extension_factors"]] == [1.2]
    assert found["extension_factors"] == []


def test_runs_side_by_side_say_their_time_scales(run):
    records = read_run(run)
    scaled = replace(records, manifest=records.manifest.model_copy(update={"time_scale": 2.0}))
    summaries = [summarize(records), summarize(scaled)]
    rows = {row["quantity"]: row for row in summary_table(summaries, ["one", "two"])}
    assert rows["time scale"] == {"quantity": "time scale", "one": "1", "two": "2"}
    assert [run_object(summary, "run")["time_scale"] for summary in summaries] == [1.0, 2.0]


def test_a_report_says_the_load_that_the_jobs_of_a_campaign_offered(run, tmp_path):
    subject, _ = simulate_workload("W1", SimulationOptions(jobs=8, seed=4, band="none"), out=tmp_path / "w1")
    load = load_of(tuple(subject.jobs), subject.topology.processors)
    summaries, labels = [summarize(read_run(path)) for path in (tmp_path / "w1", run)], ["w1", "unknown"]
    rows = {row["quantity"]: row for row in summary_table(summaries, labels)}
    assert rows["offered load"] == {"quantity": "offered load", "w1": f"{load:.6g}", "unknown": ""}
    offered = [run_object(*labelled)["offered_load"] for labelled in zip(summaries, labels, strict=True)]
    assert offered == [pytest.approx(load), None]
