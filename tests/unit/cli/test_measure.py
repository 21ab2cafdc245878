"""The verb `measure` as a user meets it, before a broker's double: tables, JSON, what is left out, resuming."""

from __future__ import annotations

import json
from contextlib import contextmanager
from signal import SIGINT, raise_signal

import pytest
from typer.testing import CliRunner, Result

from emulator.cli.main import app
from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.errors import ImpossibleRequest, InvalidInput, RunFailed, UnknownName
from emulator.model.job import JobState
from emulator.model.views import EventKind
from emulator.runs.run_directory import read_run


@pytest.fixture
def call(testbed, tmp_path, monkeypatch):
    """Runs `testbed measure` on the double; its run goes to the directory `run`."""

    @contextmanager
    def named(name):
        yield testbed

    monkeypatch.setattr("emulator.cli.measure.testbed_named", named)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        where = () if "--resume" in arguments else ("--out", "run")
        stated = () if {"--resume", "--dilation"} & set(arguments) else ("--dilation", "8")
        return CliRunner().invoke(app, ["measure", *arguments, *where, *stated], env={"COLUMNS": "200"})

    return run


def borders(job) -> dict[str, object]:
    """What Poisson's record says of its communication."""
    exchange = {"top": 0.1, "bottom": 0.2, "left": 0.3, "right": 0.4}
    return {
        "process_columns": 4, "process_rows": 4, "exchange": "steps", "communication_s": 1.5,
        "border_exchange_s": [exchange] * 16, "border_exchange_bytes": 6400,
    }  # fmt: skip


def test_json_is_one_array_with_the_columns_of_the_file(call):
    rows = json.loads(call("--clusters", "1,2", "--json").stdout)
    assert [list(row) for row in rows] == [ExtensionFactorRow.columns()] * 2
    assert [row["clusters"] for row in rows] == [1, 2]


def test_the_table_of_one_problem_names_it_once(call):
    shown = call("--clusters", "1,2").stdout
    assert "Extension factors: poisson grid 400 on 16 processors" in shown
    assert "application" not in shown
    assert "Verdict: valid" in shown


def test_the_table_of_a_matrix_names_each_problem_and_what_is_left_out_goes_to_stderr(call):
    ended = call("--app", "poisson,laplace", "--processors", "8", "--grid", "100,400", "--clusters", "1")
    assert ended.exit_code == 0
    assert "application" in ended.stdout
    assert ended.stderr.count("left out: laplace grid") == 2
    assert "run 3 of 3" in ended.stderr


def test_each_cell_that_is_not_valid_says_why(call, broker):
    broker.more_results = lambda job: {"late_phases": 60 if len(job.specification.components) == 2 else 0}
    shown = " ".join(call("--clusters", "1,2").stdout.split())
    assert "poisson grid 400 on 16 processors over 2 clusters: suspect, 60.0% of compute phases late" in shown
    assert "over 1 cluster: " not in shown


def test_arguments_can_be_set_for_all_applications_or_for_one(call, tmp_path):
    call("--app", "poisson,heat", "--clusters", "1", "--set", "amplitude=2.5", "--set", "poisson.exchange=overlapped")
    arguments = {job.application: json.loads(job.arguments) for job in read_run(tmp_path / "run").jobs}
    assert (arguments["poisson"]["amplitude"], arguments["poisson"]["exchange"]) == (2.5, "overlapped")
    assert (arguments["heat"]["amplitude"], "exchange" in arguments["heat"]) == (2.5, False)


def test_a_split_is_measured_beside_one_cluster_and_shown_by_its_parts(call):
    rows = json.loads(call("--split", "9,3", "--split", "4,8", "--json").stdout)
    assert [row["components"] for row in rows] == [[12], [9, 3], [4, 8]]
    assert rows[1]["extension_factor"] == pytest.approx(rows[1]["runtime_s"] / rows[0]["runtime_s"])


def test_the_table_names_the_parts_of_a_split(call):
    assert "2 (9+3)" in call("--split", "9,3").stdout


def test_communication_is_shown_and_drawn(call, broker, tmp_path):
    broker.more_results = borders
    ended = call("--clusters", "1,2", "--communication")
    assert ended.exit_code == 0
    for title in (
        "Total communication time of an iteration, and data rate",
        "Border exchange of each process in its place (process: s), synchronized",
        "Border exchange by direction, synchronized",
    ):
        assert title.split(",")[0] in " ".join(ended.stdout.split())
    assert sorted(path.name for path in (tmp_path / "run").glob("*.png")) == [
        "border_exchange_directions-poisson-400-on-16.png",
        "border_exchange_processes-poisson-400-on-16.png",
        "communication_time.png",
        "data_rate.png",
    ]


def test_communication_as_json_is_an_object_per_cell_and_mode(call, broker):
    broker.more_results = borders
    found = json.loads(call("--clusters", "1,2", "--communication", "--json").stdout)
    settings = [(cell["clusters"], cell["synchronized"]) for cell in found]
    assert settings == [(1, False), (1, True), (2, False), (2, True)]
    assert [len(cell["border_exchange"]) for cell in found] == [16] * 4


def test_what_a_factor_is_made_of_is_shown_and_drawn_and_shown_again_by_a_report(call, broker, tmp_path):
    broker.more_results = lambda job: {"compute_s": {"max": 5.0, "mean": 5.0}}
    ended = call("--clusters", "1,2", "--attribute", "--repeat", "2")
    assert ended.exit_code == 0, ended.exception
    assert "What the extension factors are made of, in runtimes of one cluster" in ended.stdout
    assert all(part in ended.stdout for part in ("compute", "contention", "emulator", "whole"))
    assert "control-unshared (4 of 5): " in ended.stderr
    figure = tmp_path / "run" / "attribution.png"
    drawn = figure.read_bytes()
    figure.unlink()
    report = CliRunner().invoke(app, ["report", "run"], env={"COLUMNS": "200"})
    assert "in runtimes of one cluster: run" in report.stdout
    assert figure.read_bytes() == drawn


def test_a_figure_that_does_not_hold_is_marked_and_ends_the_command_with_its_sentence(call, wide_area, broker):
    broker.more_results = lambda job: {
        "runtime_s": 20 + len(job.specification.components) ** 2 / wide_area.programmed[-1]
    }
    options = ("--clusters", "1,4", "--check", "--dilation", "1.5", "--even-if-hopeless")
    ended = call(*options, "--json")
    assert isinstance(ended.exception, RunFailed)
    assert "poisson grid 400 on 16 processors over 4 clusters: valid, but its extension factor" in str(ended.exception)
    single, spread = json.loads(ended.stdout)
    assert (single["invariance"]["defect"], spread["invariance"]["defect"]) == (False, True)
    report = CliRunner().invoke(app, ["report", "run"], env={"COLUMNS": "200"})
    assert "valid: DEFECT" in report.stdout


def test_a_cell_given_up_is_named_after_the_table_and_run_again_when_resumed(call, broker):
    finish = broker.finish

    def fail_over_two(job):
        if len(job.specification.components) == 2:
            failed = job.model_copy(update={"state": JobState.FAILED, "reason": "No memory."})
            broker.append(EventKind.FAILED, 1.0, failed)
        else:
            finish(job)

    broker.on_submit = fail_over_two
    ended = call("--clusters", "1,2", "--json")
    assert [row["clusters"] for row in json.loads(ended.stdout)] == [1]
    assert isinstance(ended.exception, RunFailed)
    assert "A cell was given up: Job 2 (poisson-400-on-16-over-2) failed: No memory (" in str(ended.exception)
    assert "`testbed measure --resume run`" in str(ended.exception)
    broker.on_submit = finish
    assert [row["clusters"] for row in json.loads(call("--resume", "run", "--json").stdout)] == [1, 2]


def test_an_interrupted_measurement_says_how_it_is_resumed(call, broker):
    finish = broker.finish

    def interrupt_the_second(job):
        if job.id == 2:
            raise_signal(SIGINT)
        finish(job)

    broker.on_submit = interrupt_the_second
    assert "`testbed measure --resume run` runs the rest" in call("--clusters", "1").stderr
    broker.on_submit = finish
    assert json.loads(call("--resume", "run", "--json").stdout)[0]["n"] == 3


def test_where_no_job_finished_there_is_nothing_to_resume(call, broker):
    broker.on_submit = lambda job: raise_signal(SIGINT)
    assert "--resume" not in call("--clusters", "1").stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--resume", "run", "--grid", "100"), "--resume takes the whole matrix from the run's manifest"),
        (("--resume", "run"), "run: is no run's directory"),
        (("--set", "exchange"), "--set: must be NAME=VALUE or APP.NAME=VALUE, not 'exchange'"),
        (("--set", "amplitude=nan"), "--set: a number must be finite, not nan"),
        (("--set", "No=1"), "measure: arguments"),
        (("--set", "heat.amplitude=1"), "own_arguments: 'heat' is not among the applications measured"),
        (("--grid", "100,x"), "--grid: must be whole numbers joined by commas, not '100,x'"),
        (("--processors", ""), "--processors: must be whole numbers"),
        (("--split", "8;8"), "--split: must be whole numbers joined by commas, not '8;8'"),
        (("--split", "8,8", "--processors", "12"), "8,8 makes 16 processors"),
        (("--split", "8"), "8 is a single part"),
        (("--app", ""), "measure: applications"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence_and_nothing_is_held(call, broker, arguments, sentence):
    ended = call(*arguments)
    assert isinstance(ended.exception, InvalidInput)
    assert sentence in str(ended.exception)
    assert broker.runs == []


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (("--clusters", "3"), ImpossibleRequest, "do not divide equally among 3 clusters"),
        (("--processors", "32", "--clusters", "1"), ImpossibleRequest, "largest cluster of 'mini' has 16"),
        (("--app", "nosuch"), UnknownName, "nosuch"),
        (("--dilation", "0"), InvalidInput, "dilation"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence_and_nothing_is_held(call, broker, arguments, error, sentence):
    ended = call(*arguments)
    assert isinstance(ended.exception, error)
    assert sentence in str(ended.exception)
    assert broker.runs == []


def test_left_to_pilots_the_dilation_is_announced_and_both_are_recorded(call, tmp_path):
    ended = call("--clusters", "1,2", "--dilation", "auto")
    assert ended.exit_code == 0, ended.exception
    manifest = read_run(tmp_path / "run").manifest
    assert manifest.workload["dilation"] is None
    (problem,) = manifest.plan["problems"]
    assert (problem["dilation"], problem["how"]) == (manifest.dilation, "found by pilots")
    assert f"poisson grid 400 on 16 processors at dilation {manifest.dilation:g} (found by pilots)" in ended.stderr
    assert "pilot at dilation" in ended.stderr


def test_a_dry_run_says_how_long_each_cell_takes_and_runs_nothing(call, broker, tmp_path):
    shown = call("--grid", "100,400", "--clusters", "1,2", "--dry-run", "--topology", "das2", "--dilation", "auto")
    assert "poisson grid 100 on 16 processors over 2 clusters" in " ".join(shown.stdout.split())
    assert "min in all" in shown.stdout
    assert broker.runs == []
    assert not (tmp_path / "run").exists()


def test_a_topology_is_named_for_a_dry_run_alone(call):
    assert isinstance(call("--topology", "das2").exception, InvalidInput)
