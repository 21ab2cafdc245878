"""The verbs `simulate` and `study` as a user meets them: JSON for programs, one sentence for what cannot be meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from emulator.cli.main import app
from emulator.model.errors import TestbedError
from workloads.application_mixes import EXECUTION_TIMES_FILE

JOB = '{"id": 1, "arrival_s": 0, "service_s": 8, "components": [8, 8], "queue": 0, "application": "poisson"}\n'


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    path = tmp_path / "jobs.jsonl"
    path.write_text(JOB, encoding="utf-8")
    return str(path)


def test_statistics_as_json(jobs: str) -> None:
    found = json.loads(run("simulate", jobs, "--queue", "gs", "--topology", "four-by-32", "--json").stdout)
    assert (found["policy"], found["queue"], found["jobs_finished"]) == ("wf-distinct", "gs", 1)
    assert found["response_s"]["mean"] == 8
    assert found["jobs_per_second"] > 0


def test_the_policy_follows_the_queue_unless_named(jobs: str) -> None:
    assert json.loads(run("simulate", jobs, "--json").stdout)["policy"] == "wf"
    assert json.loads(run("simulate", jobs, "--policy", "fcm", "--json").stdout)["policy"] == "fcm"


@pytest.mark.parametrize(("factors", "response_s"), [("1.25", 10), ("reference", pytest.approx(8 * 766 / 649))])
def test_extension_factors_are_a_number_or_a_table(jobs: str, factors: str, response_s: float) -> None:
    table = str(EXECUTION_TIMES_FILE) if factors == "reference" else factors
    found = json.loads(run("simulate", jobs, "--queue", "gs", "--extension-factors", table, "--json").stdout)
    assert found["response_s"]["mean"] == response_s


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--extension-factors", "-1"), "extension factor"),
        (("--extension-factors", "nan"), "extension factor"),
        (("--extension-factors", "none.csv"), "none.csv"),
        (("--extension-factors", "1.2", "--grid", "400"), "--grid: goes with a table"),
        (("--policy", "none.py:Mine"), "none.py"),
        (("--topology", "none.yaml"), "none.yaml"),
        (("--jobs-out", "/nowhere/out.jsonl"), "/nowhere/out.jsonl"),
        (("--warm-up", "-1"), "--warm-up"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(jobs: str, arguments: tuple[str, ...], sentence: str) -> None:
    error = run("simulate", jobs, *arguments).exception
    assert isinstance(error, TestbedError)
    assert sentence in str(error)
    assert "\n" not in str(error)


def test_doubtful_records_of_a_log_go_to_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("".join(f"{number} 9 -1 -1 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1\n" for number in range(1, 20)))
    path.write_text(path.read_text() + "20 9 -1 5 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1\n")
    result = run("simulate", str(path), "--json")
    assert json.loads(result.stdout)["jobs_finished"] == 1
    assert "log.swf, line 1: run_s" in result.stderr
    assert "more doubtful records" in result.stderr


def test_the_studies_are_listed() -> None:
    names = [study["name"] for study in json.loads(run("study", "list", "--json").stdout)]
    assert "application-mixes" in names
    assert len(names) == 7


def test_an_unknown_study_is_named(tmp_path: Path) -> None:
    error = run("study", "fig-2", "--out", str(tmp_path / "out")).exception
    assert isinstance(error, TestbedError)
    assert not (tmp_path / "out").exists()
