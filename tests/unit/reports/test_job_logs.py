"""A run's jobs in the formats of other tools: read back they are the run's; what a format cannot hold stands beside."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification
from emulator.model.records import ComponentRow, JobRow, Manifest, RunKind
from emulator.reports.exports.batsim import COLUMNS, batsim_files, interval_set
from emulator.reports.exports.gwf import FIELDS, gwf_lines
from emulator.reports.exports.swf import component_lines, swf_log
from emulator.runs.run_directory import RunDirectory, RunRecords, read_run
from tests.unit.reports.simulated_runs import simulated_run
from workloads.schedule import Arrival, write_schedule
from workloads.swf import MISSING, read_swf, write_swf

TOPOLOGY = topology_named("mini")
MANIFEST = Manifest(
    kind=RunKind.CAMPAIGN, name="first", verdict="valid", topology=TOPOLOGY, workload={}, jobs=4, policy="wf",
    queue="placement", seed=1, dilation=2, paced_middleware=True, host_began_at="", host={}, versions={},
)  # fmt: skip


def row(number: int, submitted_s: float, *, places: dict[str, int], start_s: float | None = None, run_s: float = 10.0,
        state: str = "finished", application: str = "poisson") -> JobRow:  # fmt: skip
    timestamps: dict[str, float] = {}
    if start_s is not None:
        timestamps = {
            "started_s": start_s, "finished_s": start_s + run_s, "wait_time_s": start_s - submitted_s,
            "execution_time_s": run_s, "response_time_s": start_s + run_s - submitted_s,
        }  # fmt: skip
    return JobRow(
        job=number, name=f"job-{number}", application=application, request="non-fixed", state=state,
        components=tuple(places.values()), processors=sum(places.values()), submitted_s=submitted_s, verdict="valid",
        execution_clusters=tuple(places) if start_s is not None else (), **timestamps,
    )  # fmt: skip


JOBS = [
    row(2, 4.0, places={"delft": 6}, start_s=9.0, run_s=20.0, state="failed", application="heat"),
    row(1, 0.5, places={"amsterdam": 8, "delft": 8}, start_s=2.0),
    row(3, 5.0, places={"leiden": 4, "utrecht": 4}, state="cancelled"),
    row(4, 6.0, places={"delft": 8}, start_s=12.0, run_s=8.0),
]


def component_rows(job: JobRow) -> list[ComponentRow]:
    return [
        ComponentRow(job=job.job, component=index, cluster=cluster, processors=size)
        for index, (cluster, size) in enumerate(zip(job.execution_clusters, job.components, strict=False))
    ]


def run_of(jobs: list[JobRow], tmp_path: Path) -> RunRecords:
    with RunDirectory(tmp_path / "run", MANIFEST) as directory:
        for job in jobs:
            for row in component_rows(job):
                directory.append(row)
            directory.append(job)
    return read_run(tmp_path / "run")


@pytest.fixture
def run(tmp_path: Path) -> RunRecords:
    return run_of(JOBS, tmp_path)


def outcomes(run: RunRecords) -> dict[str, dict[str, str]]:
    return {found["job_id"]: found for found in csv.DictReader(io.StringIO(batsim_files(run)["jobs.csv"]))}


def test_a_log_reads_back_as_the_runs_jobs_in_order_of_submission(run: RunRecords, tmp_path: Path) -> None:
    header, records = swf_log(run)
    write_swf(header, records, tmp_path / "jobs.swf")
    log = read_swf(tmp_path / "jobs.swf")
    assert [
        (row.job, row.submit_s, row.wait_s, row.run_s, row.requested_processors, row.status) for row in log.records
    ] == [
        (1, 0.5, 1.5, 10, 16, 1), (2, 4, 5, 20, 6, 0), (3, 5, MISSING, MISSING, 8, 5), (4, 6, 6, 8, 8, 1),
    ]  # fmt: skip
    assert [record.allocated_processors for record in log.records] == [16, 6, MISSING, 8]
    assert [str(remark) for remark in log.remarks] == ["line 14: run_s: the execution time is missing"]


def test_a_requested_time_is_the_users_estimate(tmp_path: Path) -> None:
    estimated = [job.model_copy(update={"estimate_s": 45.0 if job.job == 1 else None}) for job in JOBS]
    run = run_of(estimated, tmp_path)
    assert [record.requested_s for record in swf_log(run)[1]] == [45.0, MISSING, MISSING, MISSING]
    assert [line.split("\t")[FIELDS.index("ReqTime")] for line in gwf_lines(run) if line[0] != "#"][:2] == ["45", "-1"]


def test_old_rows_of_jobs_take_the_estimates_of_the_schedule(run: RunRecords, tmp_path: Path) -> None:
    specification = JobSpecification(name="job-2", application="heat", components=(6,), run_time_limit_s=60.0)
    write_schedule([Arrival(arrival_s=4.0, specification=specification)], tmp_path / "run" / "schedule.jsonl")
    assert [record.requested_s for record in swf_log(run)[1]] == [MISSING, 60.0, MISSING, MISSING]
    workload = json.loads(batsim_files(run)["workload.json"])
    assert [job.get("walltime") for job in workload["jobs"] if job["id"] == "2"] == [60.0]


def test_the_header_says_what_the_numbers_mean(run: RunRecords) -> None:
    header, records = swf_log(run)
    assert {"Version: 2.2", "MaxJobs: 4", "MaxNodes: 32", "MaxProcs: 64"} <= set(header)
    assert {"Executable: 1 heat", "Executable: 2 poisson"} <= set(header)
    assert [record.executable for record in records] == [2, 1, 2, 2]


def test_components_stand_beside_the_log(run: RunRecords) -> None:
    assert list(component_lines(run)) == [
        "job,component,processors,cluster", "1,0,8,amsterdam", "1,1,8,delft", "2,0,6,delft", "3,0,4,", "3,1,4,",
        "4,0,8,delft",
    ]  # fmt: skip


def grid_log(run: RunRecords) -> list[dict[str, str]]:
    """The log in the Grid Workload Format as readers of the archive see it: comments, then fields."""
    lines = [line for line in gwf_lines(run) if not line.startswith("#")]
    return [dict(zip(FIELDS, line.split(), strict=True)) for line in lines]


def test_the_grid_log_has_the_archives_29_fields_and_swfs_numbers(run: RunRecords) -> None:
    assert len(FIELDS) == len(set(FIELDS)) == 29
    _, records = swf_log(run)
    for found, record in zip(grid_log(run), records, strict=True):
        assert [float(found[name]) for name in FIELDS[:11]] == list(record)[:11]
    assert [found["JobID"] for found in grid_log(run)] == ["1", "2", "3", "4"]
    assert [found["Status"] for found in grid_log(run)] == ["1", "0", "5", "1"]
    assert grid_log(run)[2]["RunTime"] == "-1"


def test_the_grid_log_names_applications_clusters_and_components(run: RunRecords) -> None:
    first, second, third, _ = grid_log(run)
    assert (first["ExecutableID"], first["LastRunSiteID"]) == ("poisson", "amsterdam+delft")
    assert (second["ExecutableID"], second["LastRunSiteID"]) == ("heat", "delft")
    assert (first["UsedResources"], third["UsedResources"]) == ("amsterdam:8,delft:8", "-1")
    assert {found["JobStructure"] for found in grid_log(run)} == {"UNITARY"}


def test_the_grid_log_says_which_clusters_were_asked_for(tmp_path: Path) -> None:
    job_row = JOBS[0].model_copy(update={"requested_clusters": ("delft",)})
    (found,) = grid_log(run_of([job_row], tmp_path))
    assert found["ReqResources"] == "delft:6"


def test_batsims_workload_holds_each_job_that_executed(run: RunRecords) -> None:
    found = json.loads(batsim_files(run)["workload.json"])
    assert found["nb_res"] == 64
    assert [(job["id"], job["subtime"], job["res"]) for job in found["jobs"]] == [
        ("1", 0.5, 16), ("2", 4, 6), ("4", 6, 8)
    ]  # fmt: skip
    delays = [found["profiles"][job["profile"]] for job in found["jobs"]]
    assert delays == [{"type": "delay", "delay": delay_s} for delay_s in (10, 20, 8)]


def test_batsims_outcomes_are_the_runs_moments(run: RunRecords) -> None:
    found = outcomes(run)
    assert list(found) == ["1", "4", "2"]
    assert list(found["1"]) == list(COLUMNS)
    first = found["1"]
    assert [float(first[name]) for name in ("submission_time", "starting_time", "finish_time")] == [0.5, 2, 12]
    assert [float(first[name]) for name in ("waiting_time", "execution_time", "turnaround_time")] == [1.5, 10, 11.5]
    assert float(first["stretch"]) == 1.15
    assert (first["success"], first["final_state"]) == ("1", "COMPLETED_SUCCESSFULLY")
    assert (found["2"]["success"], found["2"]["final_state"]) == ("0", "COMPLETED_FAILED")


def test_processors_are_of_the_right_cluster_and_held_by_one_job_at_a_time(run: RunRecords) -> None:
    # Amsterdam's are 0 to 15, Delft's 16 to 31; job 4 starts at the time at which job 1 ends.
    assert {job: outcome["allocated_resources"] for job, outcome in outcomes(run).items()} == {
        "1": "0-7 16-23", "2": "24-29", "4": "16-23",
    }  # fmt: skip


def test_processors_that_are_not_neighbours_are_intervals_of_their_own() -> None:
    assert interval_set([10, 2, 1, 5, 11, 12]) == "1-2 5 10-12"
    assert interval_set([]) == ""


def test_a_cluster_never_holds_more_than_it_has(tmp_path: Path) -> None:
    crowded = [row(1, 0, places={"delft": 10}, start_s=1), row(2, 0, places={"delft": 7}, start_s=5)]
    with pytest.raises(InvalidInput, match="job 2: more processors of delft"):
        batsim_files(run_of(crowded, tmp_path))


def test_a_cluster_that_the_topology_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="job 1: executed on 'nowhere', which is no cluster"):
        batsim_files(run_of([row(1, 0, places={"nowhere": 4}, start_s=1)], tmp_path))


def test_a_job_in_a_state_that_batsim_lacks_has_failed(tmp_path: Path) -> None:
    found = outcomes(run_of([row(1, 0, places={"delft": 4}, start_s=1, state="starting")], tmp_path))["1"]
    assert (found["success"], found["final_state"]) == ("0", "COMPLETED_FAILED")


def test_a_job_that_failed_while_it_executed_did_so_until_its_processors_were_released(tmp_path: Path) -> None:
    job = row(1, 0.5, places={"delft": 4}, state="failed").model_copy(
        update={"execution_clusters": ("delft",), "started_s": 2.0, "released_s": 12.0, "wait_time_s": 1.5}
    )
    run = run_of([job], tmp_path)
    (profile,) = json.loads(batsim_files(run)["workload.json"])["profiles"].values()
    found = outcomes(run)["1"]
    assert profile["delay"] == 10
    assert [float(found[name]) for name in ("execution_time", "finish_time", "turnaround_time")] == [10, 12, 11.5]
    assert (found["success"], found["allocated_resources"]) == ("0", "16-19")
    assert [(record.run_s, record.status) for record in swf_log(run)[1]] == [(10, 0)]
    assert [line["RunTime"] for line in grid_log(run)] == ["10"]


def test_a_run_without_jobs_is_no_log(tmp_path: Path) -> None:
    empty = run_of([], tmp_path)
    with pytest.raises(InvalidInput, match="no job that has ended"):
        swf_log(empty)


def test_a_run_whose_jobs_never_executed_is_nothing_for_batsim(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no job that executed"):
        batsim_files(run_of([JOBS[2]], tmp_path))


def test_a_resumed_run_has_more_than_one_clock(run: RunRecords) -> None:
    with RunDirectory(run.path / "resumed-1", MANIFEST):
        pass
    with pytest.raises(InvalidInput, match="was resumed"):
        swf_log(run)
    with pytest.raises(InvalidInput, match="was resumed"):
        list(gwf_lines(run))


def test_components_of_flexible_jobs_are_those_that_were_placed(tmp_path: Path) -> None:
    run = read_run(simulated_run(tmp_path / "w2", "W2", policy="fcm"))
    placed = {row.job: row for row in run.jobs if len(row.execution_clusters) > 1}
    assert placed
    components = list(csv.DictReader(component_lines(run)))
    resources = {line.split("\t")[0]: line.split("\t")[22] for line in gwf_lines(run) if not line.startswith("#")}
    for number, job in placed.items():
        parts = [(part["cluster"], int(part["processors"])) for part in components if part["job"] == str(number)]
        assert tuple(cluster for cluster, _ in parts) == job.execution_clusters
        assert sum(size for _, size in parts) == job.processors
        assert resources[str(number)] == ",".join(f"{cluster}:{size}" for cluster, size in parts)
    outcomes = csv.DictReader(io.StringIO(batsim_files(run)["jobs.csv"]))
    assert {row["job_id"] for row in outcomes} == {str(row.job) for row in run.jobs}


def test_batsim_gets_the_users_estimates_and_no_job_of_no_length(tmp_path: Path) -> None:
    """Batsim ends a job at its walltime, and refuses a delay of zero."""
    jobs = [
        row(1, 0.0, places={"delft": 8}, start_s=0.0).model_copy(update={"estimate_s": 15.0}),
        row(2, 1.0, places={"leiden": 8}, start_s=1.0).model_copy(update={"estimate_s": 5.0}),
        row(3, 2.0, places={"utrecht": 8}, start_s=2.0, run_s=0.0),
    ]
    files = batsim_files(run_of(jobs, tmp_path))
    workload = json.loads(files["workload.json"])
    assert [job.get("walltime") for job in workload["jobs"]] == [15.0, None, None]
    assert [profile["delay"] for profile in workload["profiles"].values()] == [10.0, 10.0, 1e-6]
    outcomes = csv.DictReader(io.StringIO(files["jobs.csv"]))
    assert {job["job_id"]: job["requested_time"] for job in outcomes} == {"1": "15.0", "2": "5.0", "3": "-1"}


def test_logs_count_the_processors_that_a_job_held(tmp_path: Path) -> None:
    """Where nodes are exclusive, a job of 7 processes holds 8 processors."""
    job = row(1, 0.0, places={"delft": 7}, start_s=0.0)
    with RunDirectory(tmp_path / "run", MANIFEST) as directory:
        directory.append(ComponentRow(job=1, component=0, cluster="delft", processors=8))
        directory.append(job)
    run = read_run(tmp_path / "run")
    (record,) = swf_log(run)[1]
    assert (record.requested_processors, record.allocated_processors) == (7, 8)
    (asked,) = json.loads(batsim_files(run)["workload.json"])["jobs"]
    found = outcomes(run)["1"]
    assert asked["res"] == int(found["requested_number_of_resources"]) == 8
    assert found["allocated_resources"] == "16-23"


def test_a_log_says_that_a_time_scale_divided_its_times(run: RunRecords) -> None:
    assert not any("divided" in line for line in swf_log(run)[0])
    scaled = replace(run, manifest=run.manifest.model_copy(update={"time_scale": 10.0}))
    assert "Note: all times were divided by 10" in swf_log(scaled)[0]
    assert any("all times were divided by 10" in line for line in gwf_lines(scaled))
