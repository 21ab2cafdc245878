"""``testbed predict`` and ``testbed calibrate --table``: by the model alone, without a testbed."""

from __future__ import annotations

import csv
import json
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from emulator.calibration.run_table import run_table
from emulator.fidelity.iteration.once import PassedOnce
from emulator.fidelity.iteration.predicted import predicted
from emulator.measurement.beside_model import beside_model
from emulator.model.catalogue import topology_named
from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import ComponentRow, JobRow, SupersededRow
from emulator.model.topology import Topology
from emulator.planning.planned_jobs import planned_job
from emulator.runs.measured_iterations import measured_iterations
from emulator.runs.run_directory import read_manifest, read_rows, read_run, replace_manifest, replace_rows
from tests.unit.reports.simulated_runs import simulated_run

EXAMPLE = ("--app", "poisson", "--grid", "1000", "--processors", "48", "--split", "24,16,8")
ROWS = """grid,processors,clusters,iterations,runtime_s
400,16,1,100,0.13
4000,16,1,10,2.67
400,16,2,100,0.957
400,16,4,100,0.807
"""


@pytest.fixture
def predict(call, monkeypatch):
    """Runs ``testbed predict``; returns exit code, output and error output."""
    monkeypatch.setenv("COLUMNS", "200")
    return partial(call, "predict")


@pytest.fixture
def calibrate(call, monkeypatch):
    """Runs ``testbed calibrate``; returns exit code, output and error output."""
    monkeypatch.setenv("COLUMNS", "200")
    return partial(call, "calibrate")


@pytest.fixture
def table(tmp_path):
    """A small table of runtimes."""
    file = tmp_path / "table.csv"
    file.write_text(ROWS)
    return file


def row_of(shown: str) -> dict[str, object]:
    (row,) = json.loads(shown)
    return row


def test_an_uneven_split_has_a_time_a_factor_and_their_intervals(predict):
    code, shown, _ = predict(*EXAMPLE, "--on", "delft,utrecht,leiden", "--json")
    assert code == 0
    row = row_of(shown)
    assert (row["split"], row["clusters"]) == ("24+16+8", "delft,utrecht,leiden")
    assert row["iteration_low_s"] < row["iteration_s"] < row["iteration_high_s"]
    assert 1.0 < row["factor_low"] < row["factor"] < row["factor_high"]
    assert row["compute_s"] + row["border_exchange_s"] + row["meeting_s"] == pytest.approx(row["iteration_s"], rel=0.02)


def test_the_factor_is_relative_to_one_cluster_over_its_own_interconnect(predict):
    alone, coallocated, split = (
        row_of(predict("--grid", "400", *more, "--json")[1])
        for more in ((), ("--interconnect", "coallocated"), ("--split", "2"))
    )
    assert alone["factor"] is None
    assert coallocated["factor"] == pytest.approx(coallocated["iteration_s"] / alone["iteration_s"])
    assert split["split"] == "8+8"
    assert split["factor"] == pytest.approx(split["iteration_s"] / alone["iteration_s"])


RECORDED = PROJECT_ROOT / "examples" / "recorded" / "poisson-1000-on-16"
UNFITTED = PROJECT_ROOT / "docs" / "results" / "model" / "unfitted-cells-1"
CAMPAIGNS = PROJECT_ROOT / "docs" / "results" / "campaigns"


def changed_copy(folder: Path, *, first_job: dict[str, Any]) -> Path:
    """Copy a recorded measurement of 3 cells, with other arguments of its first job."""
    shutil.copytree(RECORDED, folder)
    rows = read_rows(folder, JobRow)
    arguments = json.dumps(json.loads(rows[0].arguments) | first_job)
    replace_rows(folder, JobRow, [rows[0].model_copy(update={"arguments": arguments}), *rows[1:]])
    return folder


def test_the_jobs_of_a_live_run_stand_beside_the_model_of_the_same_jobs(predict):
    code, shown, _ = predict("--like", str(RECORDED), "--json")
    assert code == 0
    rows = json.loads(shown)
    with (RECORDED / "extension_factors.csv").open() as file:
        cells = list(csv.DictReader(file))
    assert [row["split"] for row in rows] == [cell["components"] for cell in cells]
    for row, cell in zip(rows, cells, strict=True):
        assert row["iteration_s"] == pytest.approx(float(cell["iteration_s"]))
        assert row["jobs"] == int(cell["n"])
        assert row["error"] == pytest.approx(row["predicted_s"] / row["iteration_s"] - 1)
        assert row["verdict"] == "valid"
    whole = next(row for row in rows if row["split"] == "16")
    assert whole["predicted_s"] == pytest.approx(
        row_of(predict("--grid", "1000", "--topology", "mini", "--json")[1])["iteration_s"]
    )


def test_the_errors_of_all_jobs_are_summed_up(predict):
    _, shown, _ = predict("--like", str(RECORDED))
    assert re.search(r"Error: \d+\.\d% in the mean, \d+\.\d% at most\.", shown)


def test_a_run_tells_its_own_jobs(predict):
    code, _, said = predict("--like", str(RECORDED), "--grid", "400")
    assert code == 1
    assert "--grid: the jobs are those of the run that --like names; leave it out." in said
    code, _, said = predict("--like", str(RECORDED), "--grid", "400", "--app", "poisson")
    assert code == 1
    assert "--app, --grid: the jobs are those of the run that --like names; leave them out." in said


def test_the_jobs_of_a_run_are_predicted_on_another_topology(predict, tmp_path):
    """Processors twice as fast: no iteration takes longer, and the job in one cluster takes half as long."""
    mini = (PROJECT_ROOT / "compose" / "mini.yaml").read_text()
    costs = "{name: quick, in_cache_ns_per_point: 57.5, out_of_cache_ns_per_point: 132, cache_bytes: 262144}"
    quick = tmp_path / "quick.yaml"
    quick.write_text(mini.replace("processor: das2-unweighted", f"processor: {costs}"))
    before, after = (
        json.loads(predict("--like", str(RECORDED), *more, "--json")[1]) for more in ((), ("--topology", str(quick)))
    )
    assert [row["iteration_s"] for row in after] == [row["iteration_s"] for row in before]
    assert all(new["predicted_s"] < old["predicted_s"] for new, old in zip(after, before, strict=True))
    alone = [next(row["predicted_s"] for row in rows if row["split"] == "16") for rows in (before, after)]
    assert alone[1] == pytest.approx(alone[0] / 2, rel=0.05)
    assert predict("--like", str(RECORDED), "--topology", "das2-2006")[0] == 0
    assert "There is no cluster" in predict("--like", str(RECORDED), "--topology", "cisne")[2]


def test_a_run_that_measured_no_iteration_and_none_at_all_say_so(predict, tmp_path):
    simulated = simulated_run(tmp_path / "simulated", factor=1.2)
    assert "no finished job recorded what an iteration took" in predict("--like", str(simulated))[2]
    code, _, said = predict("--like", str(tmp_path / "nowhere"))
    assert (code, "nowhere" in said) == (1, True)


@pytest.mark.parametrize(
    ("first_job", "kinds"), [({"iterations": 81}, 3), ({"tolerance": 1e-9}, 4), ({"exchange": "overlapped"}, 4)]
)
def test_jobs_that_differ_in_anything_but_their_length_are_rows_of_their_own(predict, tmp_path, first_job, kinds):
    before = json.loads(predict("--like", str(RECORDED), "--json")[1])
    after = json.loads(predict("--like", str(changed_copy(tmp_path / "run", first_job=first_job)), "--json")[1])
    assert (len(before), len(after)) == (3, kinds)
    assert sum(row["jobs"] for row in after) == sum(row["jobs"] for row in before)


def test_on_exclusive_nodes_jobs_are_of_the_processes_that_ran_not_of_the_nodes_that_they_held(predict):
    code, shown, _ = predict("--like", str(CAMPAIGNS / "w1-wf-30-jobs-whole-nodes"), "--json")
    assert code == 0
    splits = {row["split"] for row in json.loads(shown)}
    assert splits == {"9+9+9+9", "12+12+12", "18+18", "16+16+16+16", "24+24+24"}


def test_what_a_job_passes_on_once_is_spread_over_its_iterations(predict):
    run = CAMPAIGNS / "w1-fcm-6-jobs"
    heat = next(row for row in json.loads(predict("--like", str(run), "--json")[1]) if row["split"] == "36")
    more = ("--app", "heat", "--grid", "3600", "--processors", "36", "--topology", "das2-2006", "--json")
    assert heat["predicted_s"] > 1.01 * row_of(predict(*more)[1])["iteration_s"]


@pytest.mark.parametrize(
    ("arguments", "split"),
    [
        (("--split", "24,16,8"), "24+16+8"),
        (("--split", "4"), "4+4+4+4"),
        (("--processors", "3", "--split", "3"), "1+1+1"),
        (("--processors", "3"), "3"),
        ((), "16"),
    ],
)
def test_sizes_say_how_many_processors_there_are_and_one_number_how_many_parts(predict, arguments, split):
    assert row_of(predict("--grid", "400", *arguments, "--json")[1])["split"] == split


def test_people_get_milliseconds(predict):
    code, shown, _ = predict("--grid", "400", "--split", "8,8", "--iterations", "3814")
    assert code == 0
    assert "milliseconds" in shown
    assert "runtime (s)" in shown


def test_a_runtime_contains_what_is_passed_on_once_as_plans_do(predict):
    arguments = {"grid": 400, "steps": 15}
    specification = JobSpecification(application="heat", arguments=arguments, components=(16,))
    planned = planned_job(specification, [("delft", 8), ("utrecht", 8)], topology_named("das2-2003"))
    job = ("--app", "heat", "--grid", "400", "--split", "8,8", "--on", "delft,utrecht", "--iterations", "15")
    row = row_of(predict(*job, "--json")[1])
    assert row["runtime_s"] == pytest.approx(planned.runtime_s)
    assert row["runtime_s"] > 15 * row["iteration_s"]


def test_without_uncertainty_there_are_no_intervals(predict):
    code, shown, _ = predict("--topology", "das2", "--split", "2")
    assert code == 0
    assert "No intervals" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--processors", "16", "--split", "8,4"), "--split: 8,4 does not add up to 16 processors"),
        (("--split", "a,b"), "--split: must be sizes such as 24,16,8, not 'a,b'"),
        (("--split", "3"), "16 processes cannot be divided equally over 3 clusters"),
        (("--split", "8,8", "--on", "delft"), "2 parts need as many clusters, but only 1 are there"),
        (("--split", "8,8", "--on", "delft,rome"), "There is no cluster 'rome'"),
        (("--split", "0"), "--split: every part has at least 1 processor, not 0"),
        (("--split", "16,0"), "--split: every part has at least 1 processor, not 0"),
        (("--on", "delft,utrecht"), "--on: names 2 clusters, but --split makes 1 of the job's parts"),
        (("--processors-per-node", "3"), "--processors-per-node: the nodes of das2-2003 have 2, not 3"),
        (("--processors", "100", "--on", "delft"), "delft has 64 processors, not 100; make smaller parts with --split"),
        (("--processors", "16", "--grid", "3"), "cannot be divided over 16 processes"),
        (("--app", "laplace", "--processors", "8"), "square process grid"),
        (("--app", "quake"), "There is no application 'quake'"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(predict, arguments, sentence):
    code, shown, said = predict(*arguments)
    assert (code, shown) == (1, "")
    assert sentence in said
    assert said.count("\n") == 1


def test_unpaced_processors_are_refused_with_the_list_of_topologies_that_have_a_profile(predict, tmp_path):
    shipped = (PROJECT_ROOT / "compose" / "mini.yaml").read_text()
    (tmp_path / "unpaced.yaml").write_text(shipped.replace("das2-unweighted", "native"))
    code, _, said = predict("--topology", str(tmp_path / "unpaced.yaml"), "--processors", "16")
    assert code == 1
    assert "its processors are unpaced" in said
    assert "`testbed list topologies`" in said


def test_a_topology_without_costs_cannot_be_fitted(calibrate, table, tmp_path):
    unpaced = tmp_path / "unpaced.yaml"
    unpaced.write_text((PROJECT_ROOT / "compose" / "mini.yaml").read_text().replace("das2-unweighted", "native"))
    out = ("--out", str(tmp_path / "found"))
    code, shown, said = calibrate("--table", str(table), "--topology", str(unpaced), *out)
    assert (code, shown, said.count("\n")) == (1, "", 1)
    assert "states no costs that could be fitted: name a paced profile" in said


def test_a_table_gives_numbers_errors_of_every_row_and_warnings(calibrate, table, tmp_path):
    code, shown, _ = calibrate("--table", str(table), "--out", str(tmp_path / "found"), "--json")
    assert code == 0
    found = row_of(shown)
    assert {row["number"] for row in found["numbers"]} >= {"processor.in_cache_ns_per_point", "links.delay_s"}
    assert [row["grid"] for row in found["rows"]] == [400, 4000, 400, 400]
    assert all(abs(row["fitted_error"]) < abs(row["left_out_error"]) + 0.01 for row in found["rows"])
    assert any("not decided by this table" in sentence for sentence in found["warnings"])
    with (tmp_path / "found" / "rows.csv").open() as file:
        stored = list(csv.DictReader(file))
    assert [float(row["left_out_error"]) for row in stored] == [row["left_out_error"] for row in found["rows"]]


def test_what_is_found_is_written_into_a_topology_and_predicts(calibrate, predict, table, tmp_path):
    mine, copy = tmp_path / "mine.yaml", tmp_path / "copy.yaml"
    copy.write_text((PROJECT_ROOT / "compose" / "das2-2003.yaml").read_text())
    for number, file in enumerate((mine, copy)):
        out = ("--out", str(tmp_path / f"out{number}"))
        code, _, said = calibrate("--table", str(table), "--into", str(file), *out)
        assert code == 0
        assert f"Written: {file}" in said
    assert "# Fitted to all published runtimes" in copy.read_text()
    written = [read_document(file, Topology) for file in (mine, copy)]
    assert written[0].processor == written[1].processor
    assert written[0].processor.name == "das2-memory-calibrated"
    assert written[0].uncertainty == written[1].uncertainty != read_document(
        PROJECT_ROOT / "compose" / "das2-2003.yaml", Topology
    ).uncertainty  # fmt: skip
    assert row_of(predict("--topology", str(copy), "--json")[1])["iteration_s"] == pytest.approx(1.3e-3, rel=0.1)


def test_a_run_is_a_table_too_and_gives_the_numbers_back_with_which_it_ran(calibrate, tmp_path):
    """The cells ran on `das2-2003`: its costs are found again within 1%, and its delay, which the host lengthens."""
    code, shown, _ = calibrate("--table", str(UNFITTED), "--out", str(tmp_path / "found"), "--json")
    assert code == 0
    found = row_of(shown)
    assert [row["split"] for row in found["rows"]][:3] == ["24", "14+10", "12+7+5"]
    numbers = {row["number"]: row for row in found["numbers"]}
    for number in ("processor.in_cache_ns_per_point", "processor.out_of_cache_ns_per_point"):
        assert numbers[number]["after"] == pytest.approx(numbers[number]["before"], rel=0.01)
    assert 0.78 < numbers["links.delay_s"]["after"] < 0.82
    assert all(abs(row["left_out_error"]) < 0.01 for row in found["rows"])


def test_what_a_job_passes_on_once_is_no_part_of_the_runtimes_that_numbers_are_fitted_to():
    run = read_run(CAMPAIGNS / "w1-fcm-6-jobs")
    kinds = measured_iterations(run)
    rows = run_table(run).rows
    assert {row.application for row in rows} == {"heat", "laplace"}
    for row, kind in zip(rows, kinds, strict=True):
        alone_s = predicted(run.manifest.topology, row.job(run.manifest.topology)).iteration_s
        assert row.iteration_s == pytest.approx(alone_s, rel=0.005)
        assert (row.iteration_s < 0.97 * kind.iteration_s) == (row.application == "heat")


def test_a_void_job_is_left_out_and_its_row_stays(tmp_path):
    folder = changed_copy(tmp_path / "run", first_job={})
    before = run_table(read_run(folder)).rows
    rows = read_rows(folder, JobRow)
    replace_rows(folder, JobRow, [rows[0].model_copy(update={"verdict": "void"}), *rows[1:]])
    after = run_table(read_run(folder)).rows
    assert [row.split for row in after] == [row.split for row in before]
    assert [row.runs for row in after] == [before[0].runs - 1, *(row.runs for row in before[1:])]


def test_a_run_of_void_jobs_alone_is_refused(tmp_path):
    folder = changed_copy(tmp_path / "run", first_job={})
    rows = read_rows(folder, JobRow)
    replace_rows(folder, JobRow, [row.model_copy(update={"verdict": "void"}) for row in rows])
    run = read_run(folder)
    with pytest.raises(InvalidInput, match="all of its jobs are void"):
        run_table(run)


def test_synchronized_jobs_are_neither_predicted_nor_fitted_to(tmp_path):
    """The model has no barrier."""
    plain = read_run(RECORDED)
    synchronized = read_run(changed_copy(tmp_path / "run", first_job={"synchronized": True}))
    predicted_jobs = [[kind.jobs for kind in beside_model(run)] for run in (plain, synchronized)]
    fitted_jobs = [[row.runs for row in run_table(run).rows] for run in (plain, synchronized)]
    for before, after in (predicted_jobs, fitted_jobs):
        assert sorted(after) == sorted([before[0] - 1, *before[1:]])


def test_arguments_that_change_an_iteration_and_have_no_column_are_refused_by_name(tmp_path):
    folder = changed_copy(tmp_path / "run", first_job={})
    rows = read_rows(folder, JobRow)
    arguments = json.dumps({"grid": 64, "days": 10, "members": 32})
    ensflow = rows[0].model_copy(update={"application": "ensflow", "arguments": arguments})
    replace_rows(folder, JobRow, [ensflow, *rows[1:]])
    run = read_run(folder)
    with pytest.raises(InvalidInput, match="ensflow ran with members = 32, which changes its iterations"):
        run_table(run)


def test_a_run_whose_jobs_no_table_can_say_is_refused(calibrate, tmp_path):
    overlapped = changed_copy(tmp_path / "overlapped", first_job={"exchange": "overlapped"})
    code, _, said = calibrate("--table", str(overlapped))
    assert (code, "poisson exchanged its borders 'overlapped' (exchange)" in said) == (1, True)
    fast = changed_copy(tmp_path / "fast", first_job={})
    manifest = read_manifest(fast)
    workload = manifest.workload | {"processor_speed": 60.0}
    replace_manifest(fast, manifest.model_copy(update={"workload": workload}))
    assert "processors 60 times as fast as the topology's (processor_speed)" in calibrate("--table", str(fast))[2]


def test_a_run_of_which_the_model_cannot_tell_what_was_passed_on_is_refused_by_its_name(calibrate, monkeypatch):
    run = str(CAMPAIGNS / "w1-fcm-6-jobs")
    monkeypatch.setattr(PassedOnce, "takes_s", lambda once, iterations: 1e9)
    said = calibrate("--table", run)[2]
    assert "w1-fcm-6-jobs: its heat jobs took less time than what they pass on once takes by the model" in said

    def unknown(once: PassedOnce, iterations: int) -> float:
        raise InvalidInput("Cluster 'das' is real, and its links are unknown.")

    monkeypatch.setattr(PassedOnce, "takes_s", unknown)
    said = calibrate("--table", run)[2]
    assert "w1-fcm-6-jobs: what its heat jobs pass on once cannot be told (Cluster 'das' is real" in said


def test_several_runs_of_a_host_predict_what_others_took_on_it(calibrate, predict, tmp_path):
    """Sizes that nothing was fitted to: all but the one job whose processors share the cache at its edge."""
    runs, found = PROJECT_ROOT / "docs" / "results" / "second-system", tmp_path / "this-host.yaml"
    tables = ("--table", str(runs / "small"), "--table", str(runs / "large"))
    start = ("--topology", str(runs / "start.yaml"), "--into", str(found), "--out", str(tmp_path / "out"))
    assert calibrate(*tables, *start)[0] == 0
    rows = [
        row
        for others in ("small-others", "large-others")
        for row in json.loads(predict("--like", str(runs / others), "--topology", str(found), "--json")[1])
    ]
    errors = sorted(abs(row["error"]) for row in rows)
    assert len(errors) == 10
    assert errors[-2] < 0.065


def test_jobs_of_several_parts_with_the_same_numbers_are_told_apart(tmp_path):
    """The testbed was brought up anew before the second part: its job in one cluster has the number of one over two."""
    path, part = tmp_path / "run", tmp_path / "run" / "part-1"
    shutil.copytree(RECORDED, path)
    shutil.copytree(RECORDED, part)
    for kind in (JobRow, ComponentRow, SupersededRow):
        replace_rows(part, kind, [row.model_copy(update={"job": row.job + 1}) for row in read_rows(part, kind)])
    once, twice = (measured_iterations(read_run(run)) for run in (RECORDED, path))
    assert [kind.job for kind in twice] == [kind.job for kind in once]
    assert [kind.rows[0].job for kind in twice] == [kind.rows[0].job for kind in once]
    assert [len(kind.rows) for kind in twice] == [2 * len(kind.rows) for kind in once]


def test_a_run_that_tells_nothing_is_no_table(calibrate, tmp_path):
    simulated = simulated_run(tmp_path / "simulated", factor=1.2)
    assert "no finished job recorded what an iteration took" in calibrate("--table", str(simulated))[2]


def test_people_get_the_rows_and_the_means(calibrate, table, tmp_path):
    code, shown, _ = calibrate("--table", str(table), "--out", str(tmp_path / "found"))
    assert code == 0
    assert "Mean absolute errors" in shown
    assert "poisson 400 on 8+8 (all)" in shown
    assert "warning" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--table", "absent.csv"), "absent.csv: cannot be read"),
        (("--table", "TABLE", "--iteration-s", "1"), "--iteration-s: --table says what is known; leave it out."),
        (("--table", "TABLE", "--as", "fast"), "--as: --table says what is known; leave it out."),
        (("--iteration-s", "1", "--topology", "das2"), "--topology: only --table has this; leave it out."),
        (("--table", "TABLE", "--day", "monday"), "--day: the table has no set 'monday' (it has all)"),
        (("--table", "TABLE", "--topology", "rome"), "There is no topology 'rome'"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_sentence(calibrate, table, arguments, sentence):
    code, shown, said = calibrate(*(str(table) if word == "TABLE" else word for word in arguments))
    assert (code, shown) == (1, "")
    assert sentence in said
    assert said.count("\n") == 1


def test_an_application_without_a_grid_shows_none_and_takes_none(predict):
    code, shown, _ = predict("--app", "synthetic")
    assert code == 0
    assert "synthetic on 16" in shown
    assert row_of(predict("--app", "synthetic", "--json")[1])["grid"] is None
    said = "testbed: --grid: means nothing for synthetic, which has no grid; leave it out.\n"
    assert predict("--app", "synthetic", "--grid", "100") == (1, "", said)
