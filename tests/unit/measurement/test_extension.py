"""Measuring a matrix: the order of running, the factors that come of it, what a failure costs, and resuming."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from emulator.cli.main import app
from emulator.containers.state import HostRecord, HostsRecord
from emulator.hosts.inventory import Host
from emulator.measurement.extension import measure, resume
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.errors import Hopeless, InvalidInput, RunFailed, TestbedBusy, WideAreaUnfaithful
from emulator.model.evidence import LinkCheck, LinkFault
from emulator.model.job import JobState
from emulator.model.process_lock import ProcessLock
from emulator.model.records import RunProgress
from emulator.model.shared_nodes import TimeSharing
from emulator.model.views import EventKind
from emulator.planning import planned_hosts
from emulator.planning.plan import Resources
from emulator.runs.matrix import Matrix
from emulator.runs.progress import ProgressReport
from emulator.runs.run_directory import WRITING, read_manifest, read_run, replace_manifest
from emulator.simulator.runtime_tables import read_factors

MATRIX = Matrix(
    applications=("poisson",), grids=(400,), processors=(16,), clusters=(1, 2, 4), repeat=3, iterations=100, dilation=8
)


def silent(progress: ProgressReport) -> None:
    pass


def test_the_cells_of_a_problem_take_turns_and_factors_are_relative_to_one_cluster(
    testbed, broker, wide_area, tmp_path
):
    measured = measure(testbed, MATRIX, tmp_path / "run", silent)
    records = read_run(tmp_path / "run")
    assert [len(job.components) for job in records.jobs] == [1, 2, 4] * 3
    rows = {row.clusters: row for row in records.extension_factors}
    assert rows[1].extension_factor == 1.0
    assert rows[2].extension_factor == pytest.approx(11 / 9, rel=0.01)
    assert rows[4].extension_factor == pytest.approx(13 / 9, rel=0.01)
    assert rows[2].ci_low < rows[2].extension_factor < rows[2].ci_high
    assert [row.n for row in records.extension_factors] == [3, 3, 3]
    assert {row.verdict for row in records.extension_factors} == {"valid"}
    assert [cell.row for cell in measured.cells] == records.extension_factors
    assert records.manifest.progress is RunProgress.COMPLETE
    assert wide_area.programmed == [8.0, 1.0]
    assert not broker.held


def test_background_traffic_lasts_as_long_as_the_jobs_and_falls_short_of_no_more_than_2_percent(
    testbed, wide_area, tmp_path
):
    matrix = MATRIX.model_copy(update={"traffic": {"delft": 0.3}})
    measured = measure(testbed, matrix, tmp_path / "enough", silent)
    ((flows, dilation),) = wide_area.traffic
    assert {flow.source for flow in flows if flow.target != "delft"} == {"delft"}
    assert (len(flows), dilation) == (6, 8.0)
    assert measured.verdict.judgement == "valid"
    assert read_manifest(tmp_path / "enough").workload["traffic"] == {"delft": 0.3}
    wide_area.missing_share = 0.05
    measured = measure(testbed, matrix, tmp_path / "less", silent)
    assert {cell.row.verdict for cell in measured.cells} == {"suspect"}
    assert "5.0% of the background traffic could not be sent" in measured.cells[1].row.reasons


def test_a_matrix_is_run_problem_by_problem_and_each_factor_compares_equal_problems(testbed, tmp_path):
    matrix = MATRIX.model_copy(update={"grids": (100, 400), "clusters": (1, 2), "repeat": 2})
    measure(testbed, matrix, tmp_path / "run", silent)
    records = read_run(tmp_path / "run")
    names = [f"poisson-{grid}-on-16-over-{clusters}" for grid in (100, 400) for _ in range(2) for clusters in (1, 2)]
    assert [job.name for job in records.jobs] == names
    assert [(row.grid, row.clusters, row.n) for row in records.extension_factors] == [
        (100, 1, 2), (100, 2, 2), (400, 1, 2), (400, 2, 2),
    ]  # fmt: skip


def test_both_sides_of_a_factor_name_their_interconnect(testbed, broker, tmp_path):
    broker.interconnects = {1: "myrinet", 2: "ethernet+wide-area"}
    measure(testbed, MATRIX.model_copy(update={"clusters": (1, 2)}), tmp_path / "run", silent)
    single, spread = read_run(tmp_path / "run").extension_factors
    assert (single.interconnect_single, single.interconnect_coallocated) == ("myrinet", "")
    assert (spread.interconnect_single, spread.interconnect_coallocated) == ("myrinet", "ethernet")


def test_one_cluster_over_the_interconnect_of_coallocated_jobs_has_a_factor_of_its_own(testbed, broker, tmp_path):
    def as_asked(job):
        slower = job.specification.interconnect == "coallocated"
        return {"interconnects": "ethernet", "runtime_s": 18.0} if slower else {"interconnects": "myrinet"}

    broker.more_results = as_asked
    matrix = MATRIX.model_copy(update={"clusters": (1,), "as_coallocated": True, "repeat": 2})
    measure(testbed, matrix, tmp_path / "run", silent)
    single, as_coallocated = read_run(tmp_path / "run").extension_factors
    assert (single.interconnect_single, single.interconnect_coallocated) == ("myrinet", "")
    assert (as_coallocated.interconnect_single, as_coallocated.interconnect_coallocated) == ("myrinet", "ethernet")
    assert as_coallocated.clusters == 1
    assert as_coallocated.extension_factor == pytest.approx(2.0, rel=0.01)
    # The simulator, whose jobs in one cluster are never such ones, passes it over instead of finding two factors.
    read_factors(tmp_path / "run" / "extension_factors.csv")


def test_a_cell_without_its_single_cluster_has_a_runtime_and_no_factor(testbed, tmp_path):
    measured = measure(
        testbed, MATRIX.model_copy(update={"processors": (32,), "clusters": (1, 2)}), tmp_path / "run", silent
    )
    assert [(cell.row.clusters, cell.row.extension_factor) for cell in measured.cells] == [(2, None)]


def test_progress_tells_cell_run_and_what_is_left(testbed, tmp_path):
    reports: list[ProgressReport] = []
    measure(testbed, MATRIX.model_copy(update={"clusters": (1, 2), "repeat": 2}), tmp_path / "run", reports.append)
    stages = list(dict.fromkeys(report.stage for report in reports if report.time_s is not None))
    assert stages == [
        "cell 1 of 2 (poisson grid 400 on 16 processors over 1 cluster), run 1 of 2",
        "cell 2 of 2 (poisson grid 400 on 16 processors over 2 clusters), run 1 of 2",
        "cell 1 of 2 (poisson grid 400 on 16 processors over 1 cluster), run 2 of 2",
        "cell 2 of 2 (poisson grid 400 on 16 processors over 2 clusters), run 2 of 2",
    ]
    running = [report for report in reports if report.time_s is not None]
    assert running[0].host_left_s is None
    assert running[-1].host_left_s > 0
    assert (running[-1].finished, running[-1].expected) == (4, 4)


def test_a_factor_is_told_as_soon_as_both_sides_have_run_once(testbed, tmp_path):
    reports: list[ProgressReport] = []
    measure(testbed, MATRIX, tmp_path / "run", reports.append)
    told = [(place, report.remark) for place, report in enumerate(reports) if "so far" in report.remark]
    sentences = [re.fullmatch(r"(.*): factor ([0-9.]+) so far \(1 run, valid\)", remark) for _, remark in told]
    assert [found and found[1] for found in sentences] == [
        "poisson grid 400 on 16 processors over 2 clusters",
        "poisson grid 400 on 16 processors over 4 clusters",
    ]
    factors = [float(found[2]) for found in sentences if found]
    assert factors == pytest.approx([11 / 9, 13 / 9], rel=0.01)
    second = next(place for place, report in enumerate(reports) if "run 2 of 3" in report.stage)
    assert all(place < second for place, _ in told)


def test_a_failed_link_check_is_held_against_the_factors_of_jobs_that_crossed_the_link(testbed, wide_area, tmp_path):
    wide_area.check_made = LinkCheck("before", (LinkFault("delay from delft to leiden", 0.3, "delft", "leiden"),))
    measured = measure(testbed, MATRIX, tmp_path / "run", silent)
    assert [(cell.row.clusters, cell.row.verdict) for cell in measured.cells] == [
        (1, "valid"),
        (2, "valid"),
        (4, "void"),
    ]
    assert {job.verdict for job in read_run(tmp_path / "run").jobs if job.clusters == 4} == {"void"}
    assert "delay from delft to leiden" in measured.verdict.reasons[0]


def failing(broker, is_doomed):
    """Have the broker fail the jobs that `is_doomed` picks, and finish the others."""
    finish = broker.finish

    def decide(job):
        if is_doomed(job):
            broker.append(
                EventKind.FAILED, 1.0, job.model_copy(update={"state": JobState.FAILED, "reason": "No memory."})
            )
        else:
            finish(job)

    broker.on_submit = decide


def test_if_every_job_fails_the_measurement_ends_with_the_first_reason(testbed, broker, wide_area, tmp_path):
    failing(broker, lambda job: True)
    with pytest.raises(RunFailed, match=r"Job 1 \(poisson-400-on-16-over-1\) failed: No memory; 0 finished records"):
        measure(testbed, MATRIX, tmp_path / "run", silent)
    assert not broker.held
    assert wide_area.programmed[-1] == 1.0


def test_a_cell_whose_job_fails_is_given_up_and_the_others_go_on(testbed, broker, tmp_path):
    failing(broker, lambda job: len(job.specification.components) == 2)
    measured = measure(testbed, MATRIX, tmp_path / "run", silent)
    records = read_run(tmp_path / "run")
    assert [(row.clusters, row.n) for row in records.extension_factors] == [(1, 3), (4, 3)]
    assert [job.clusters for job in records.jobs if job.state == "failed"] == [None]
    assert measured.failures == ("Job 2 (poisson-400-on-16-over-2) failed: No memory",)
    assert measured.verdict.judgement == "void"
    assert records.manifest.progress is RunProgress.INCOMPLETE


def simulated(*arguments: str) -> dict[str, Any]:
    """What `testbed simulate` says of a job of 16 processors over two clusters that takes 9 s in one."""
    ended = CliRunner().invoke(app, ["simulate", *arguments, "--queue", "gs", "--topology", "mini", "--json"])
    assert ended.exit_code == 0, ended.exception
    return json.loads(ended.stdout)


def test_the_simulator_reads_the_factors_that_were_measured(testbed, broker, tmp_path):
    extra_s = {1: lambda grid: 0.0, 2: lambda grid: 200 / grid}
    broker.more_results = lambda job: {
        "runtime_s": 1 + extra_s[len(job.specification.components)](job.specification.arguments["grid"])
    }
    measure(testbed, MATRIX.model_copy(update={"grids": (100, 400), "clusters": (1, 2)}), tmp_path / "run", silent)
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"id": 1, "arrival_s": 0, "service_s": 9, "components": [8, 8], "application": "poisson"}\n')
    factors = str(tmp_path / "run" / "extension_factors.csv")
    found = simulated(str(jobs), "--extension-factors", factors, "--grid", "400")
    assert found["response_s"]["mean"] == pytest.approx(9 * 1.5)


class Stopped(Exception):
    """Stands for whatever ends a measurement from outside."""


def stopping_after(jobs: int):
    """Tells of nothing, and stops the measurement when so many jobs have finished."""

    def report_progress(progress: ProgressReport) -> None:
        if progress.finished >= jobs:
            raise Stopped

    return report_progress


def test_what_an_interrupted_measurement_lacks_is_run_when_it_is_resumed(testbed, broker, tmp_path):
    with pytest.raises(Stopped):
        measure(testbed, MATRIX, tmp_path / "run", stopping_after(4))
    assert read_run(tmp_path / "run").manifest.progress is RunProgress.INCOMPLETE
    reports: list[ProgressReport] = []
    measured = resume(testbed, tmp_path / "run", reports.append)
    records = read_run(tmp_path / "run")
    assert [len(job.components) for job in records.jobs] == [1, 2, 4] * 3
    assert [row.n for row in records.extension_factors] == [3, 3, 3]
    assert [cell.row for cell in measured.cells] == records.extension_factors
    assert records.manifest.progress is RunProgress.COMPLETE
    assert (records.manifest.verdict, records.manifest.jobs) == ("valid", 9)
    assert max(report.finished for report in reports) == 9
    assert not broker.held


def test_a_measurement_whose_links_cannot_be_given_back_is_resumed_for_its_factors(
    testbed, broker, wide_area, monkeypatch, tmp_path
):
    program = wide_area.program

    def fail_at_real_time(dilation: Dilation) -> str:
        if dilation == REAL_TIME:
            raise WideAreaUnfaithful("The router does not answer.")
        return program(dilation)

    monkeypatch.setattr(wide_area, "program", fail_at_real_time)
    with pytest.raises(WideAreaUnfaithful):
        measure(testbed, MATRIX, tmp_path / "run", silent)
    assert read_manifest(tmp_path / "run").progress is RunProgress.INCOMPLETE
    monkeypatch.undo()
    runs = len(broker.runs)
    measured = resume(testbed, tmp_path / "run", silent)
    assert (len(broker.runs), [cell.row.n for cell in measured.cells]) == (runs, [3, 3, 3])
    assert read_manifest(tmp_path / "run").progress is RunProgress.COMPLETE


def test_a_measurement_may_be_interrupted_more_than_once(testbed, tmp_path):
    with pytest.raises(Stopped):
        measure(testbed, MATRIX, tmp_path / "run", stopping_after(2))
    with pytest.raises(Stopped):
        resume(testbed, tmp_path / "run", stopping_after(5))
    resume(testbed, tmp_path / "run", silent)
    assert [row.n for row in read_run(tmp_path / "run").extension_factors] == [3, 3, 3]
    assert sorted(entry.name for entry in (tmp_path / "run").iterdir() if entry.is_dir()) == ["part-1", "part-2"]


@pytest.mark.parametrize("folder", [".", "part-1", "part-2"])
def test_a_measurement_of_which_another_process_still_writes_a_part_is_not_resumed(testbed, broker, tmp_path, folder):
    with pytest.raises(Stopped):
        measure(testbed, MATRIX, tmp_path / "run", stopping_after(2))
    with pytest.raises(Stopped):
        resume(testbed, tmp_path / "run", stopping_after(5))
    runs = len(broker.runs)
    (tmp_path / "run" / folder).mkdir(exist_ok=True)
    writing = ProcessLock(tmp_path / "run" / folder / WRITING)
    with pytest.raises(TestbedBusy, match="is being written by another process"):
        resume(testbed, tmp_path / "run", silent)
    assert len(broker.runs) == runs
    writing.release()
    resume(testbed, tmp_path / "run", silent)
    assert [row.n for row in read_run(tmp_path / "run").extension_factors] == [3, 3, 3]


def test_a_torn_last_line_costs_one_job(testbed, tmp_path):
    with pytest.raises(Stopped):
        measure(testbed, MATRIX, tmp_path / "run", stopping_after(4))
    decisions = tmp_path / "run" / "decisions.jsonl"
    lines = decisions.read_text().split("\n")
    last = max(number for number, line in enumerate(lines) if '"finished"' in line)
    decisions.write_text("\n".join(lines[:last]) + "\n" + lines[last][:50])
    resume(testbed, tmp_path / "run", silent)
    assert [row.n for row in read_run(tmp_path / "run").extension_factors] == [3, 3, 3]


def test_resuming_runs_given_up_cells_again(testbed, broker, tmp_path):
    failing(broker, lambda job: len(job.specification.components) == 2)
    measure(testbed, MATRIX, tmp_path / "run", silent)
    failing(broker, lambda job: False)
    measured = resume(testbed, tmp_path / "run", silent)
    assert [cell.row.n for cell in measured.cells] == [3, 3, 3]
    assert (measured.verdict.judgement, measured.failures) == ("valid", ())


def test_traffic_that_was_not_sent_in_an_earlier_attempt_is_not_forgotten(testbed, wide_area, tmp_path):
    wide_area.missing_share = 0.05
    with pytest.raises(Stopped):
        measure(testbed, MATRIX.model_copy(update={"traffic": {"delft": 0.3}}), tmp_path / "run", stopping_after(4))
    assert read_manifest(tmp_path / "run").missing_traffic_share == 0.05
    wide_area.missing_share = 0.0
    measured = resume(testbed, tmp_path / "run", silent)
    assert {cell.row.verdict for cell in measured.cells} == {"suspect"}


@pytest.fixture
def shared(testbed):
    """A testbed at one of whose nodes a local user works, who sends something over the links."""
    first, *others = testbed.topology.clusters
    clusters = (first.model_copy(update={"local_users": {"n1": "internet"}}), *others)
    topology = testbed.topology.model_copy(update={"time_sharing": TimeSharing(), "clusters": clusters})
    return replace(testbed, topology=topology)


def test_what_users_at_nodes_send_is_background_traffic_of_every_attempt(shared, wide_area, tmp_path):
    wide_area.missing_share = 0.05
    with pytest.raises(Stopped):
        measure(shared, MATRIX, tmp_path / "run", stopping_after(4))
    assert read_manifest(tmp_path / "run").missing_traffic_share == 0.05
    wide_area.missing_share = 0.0
    measured = resume(shared, tmp_path / "run", silent)
    assert {cell.row.verdict for cell in measured.cells} == {"suspect"}
    sender = shared.topology.cluster_names[0]
    assert {flow.source for flows, _ in wide_area.traffic for flow in flows} == {sender}


@pytest.mark.parametrize(("says_sources", "verdict"), [(True, "suspect"), (False, "valid")])
def test_a_program_of_before_sent_nothing_for_users_so_nothing_is_missing(shared, tmp_path, says_sources, verdict):
    with pytest.raises(Stopped):
        measure(shared, MATRIX, tmp_path / "run", stopping_after(4))
    manifest = read_manifest(tmp_path / "run")
    versions = {name: version for name, version in manifest.versions.items() if says_sources or name != "sources"}
    replace_manifest(
        tmp_path / "run", manifest.model_copy(update={"missing_traffic_share": None, "versions": versions})
    )
    measured = resume(shared, tmp_path / "run", silent)
    assert {cell.row.verdict for cell in measured.cells} == {verdict}


def test_an_attempt_that_was_killed_before_it_knew_what_traffic_was_sent_is_suspect(testbed, tmp_path):
    with pytest.raises(Stopped):
        measure(testbed, MATRIX.model_copy(update={"traffic": {"delft": 0.3}}), tmp_path / "run", stopping_after(4))
    manifest = read_manifest(tmp_path / "run")
    replace_manifest(tmp_path / "run", manifest.model_copy(update={"missing_traffic_share": None}))
    measured = resume(testbed, tmp_path / "run", silent)
    assert {cell.row.verdict for cell in measured.cells} == {"suspect"}


def test_a_bad_link_of_an_earlier_attempt_is_not_forgotten(testbed, wide_area, tmp_path):
    wide_area.check_made = LinkCheck("before", (LinkFault("rate from delft to leiden", 0.3),))
    with pytest.raises(Stopped):
        measure(testbed, MATRIX, tmp_path / "run", stopping_after(4))
    wide_area.check_made = LinkCheck("before")
    measured = resume(testbed, tmp_path / "run", silent)
    assert [cell.row.verdict for cell in measured.cells] == ["valid", "void", "void"]


def test_the_verdict_on_a_resumed_whole_holds_the_link_checks_of_earlier_attempts(testbed, wide_area, tmp_path):
    matrix = MATRIX.model_copy(update={"clusters": (1,), "repeat": 2})
    wide_area.check_made = LinkCheck("before", (LinkFault("rate from delft to leiden", 0.3, "delft", "leiden"),))
    with pytest.raises(Stopped):
        measure(testbed, matrix, tmp_path / "run", stopping_after(1))
    wide_area.check_made = LinkCheck("before")
    measured = resume(testbed, tmp_path / "run", silent)
    assert measured.verdict.judgement == "void"
    assert "rate from delft to leiden" in measured.verdict.reasons[0]


def test_a_measurement_must_fit_the_hosts_that_carry_its_testbed(testbed, tmp_path, monkeypatch):
    monkeypatch.setattr(planned_hosts, "available_resources", lambda guest_router: Resources(1, 1, 10**12))
    left = Host(name="left", engine="unix:///run/left.sock", address="10.77.0.1")
    right = Host(name="right", engine="ssh://bob@right", address="10.77.0.2")
    large = HostRecord(host=right, memory_bytes=10**11, clusters=tuple(testbed.topology.cluster_names))
    hosts = HostsRecord(central="left", hosts=(HostRecord(host=left, memory_bytes=1), large))
    matrix = MATRIX.model_copy(update={"clusters": (1,), "repeat": 1})
    with pytest.raises(Hopeless, match=r"This host cannot hold the run: .* the memory that is available"):
        measure(testbed, matrix, tmp_path / "here", silent)
    assert len(measure(replace(testbed, hosts=hosts), matrix, tmp_path / "spread", silent).cells) == 1


def test_only_an_unfinished_measurement_on_the_same_topology_is_resumed(testbed, broker, tmp_path):
    with pytest.raises(InvalidInput, match=r"is no run's directory"):
        resume(testbed, tmp_path / "run", silent)
    measure(testbed, MATRIX, tmp_path / "run", silent)
    with pytest.raises(InvalidInput, match="is complete, nothing is left to run"):
        resume(testbed, tmp_path / "run", silent)
    with pytest.raises(Stopped):
        measure(testbed, MATRIX, tmp_path / "other", stopping_after(1))
    changed = testbed.topology.model_copy(update={"description": "changed"})
    with pytest.raises(InvalidInput, match="was measured on topology 'mini' as it then was"):
        resume(
            type(testbed)("double", testbed.client, changed, testbed.wide_area, lambda: []), tmp_path / "other", silent
        )
    assert len(broker.runs) == 2
