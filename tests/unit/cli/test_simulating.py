"""The verbs `simulate` and `study` as a user meets them: JSON for programs, one sentence for what cannot be meant."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from emulator.cli.main import app
from emulator.model.errors import TestbedError, VerdictTooLow
from emulator.model.job import LIMIT_REACHED
from emulator.model.project import CAMPAIGNS
from emulator.runs.run_directory import read_run
from emulator.runs.seeds import drawn_by_seed
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


def test_a_simulation_has_its_verdict_with_it(jobs: str, tmp_path: Path) -> None:
    """Under W2's rule a job that is tried more than once is given up; and local jobs alone may exceed the band."""
    found = json.loads(run("simulate", jobs, "--json").stdout)
    assert (found["verdict"], found["verdict_reasons"]) == ("valid", [])
    impatient, loaded = tmp_path / "impatient.yaml", tmp_path / "loaded.yaml"
    lines = [line for line in (CAMPAIGNS / "W2.yaml").read_text().splitlines() if not line.startswith("background")]
    impatient.write_text("\n".join([*lines, "tries_threshold: 1", ""]))
    local = "{interarrival: {mean_s: 150}, sizes: [32], lengths: {low_s: 600, high_s: 900}}"
    loaded.write_text("\n".join([*lines, f"background: {{band: [0.15, 0.2], local_jobs: {local}}}", ""]))
    given_up = json.loads(run("simulate", str(impatient), "--jobs", "60", "--json").stdout)
    assert given_up["jobs_given_up"] > 0
    assert given_up["verdict"] == "void"
    assert "jobs failed" in given_up["verdict_reasons"][0]
    assert "void; " in run("simulate", str(impatient), "--jobs", "60").stdout
    above = json.loads(run("simulate", str(loaded), "--jobs", "20", "--json").stdout)
    assert above["verdict"] == "void"
    assert "background load above its band" in above["verdict_reasons"][0]
    assert isinstance(run("simulate", str(loaded), "--jobs", "20").exception, VerdictTooLow)
    assert run("simulate", str(loaded), "--jobs", "20", "--require", "void").exit_code == 0


def test_jobs_are_ended_at_their_limit_as_live(tmp_path: Path) -> None:
    stated = [line for line in (CAMPAIGNS / "W2.yaml").read_text().splitlines() if not line.startswith("background")]
    limited = tmp_path / "limited.yaml"
    limited.write_text("\n".join([*stated, ""]).replace("run_time_limit_s: 900", "run_time_limit_s: 100"))
    ended = run("simulate", str(limited), "--jobs", "5", "--json", "--out", str(tmp_path / "run"))
    assert "Ended at run_time_limit_s (100 s), as live: 5 of 5 jobs." in ended.stderr
    found = json.loads(ended.stdout)
    assert (found["jobs_finished"], found["jobs_reached_limit"], found["verdict"]) == (0, 5, "void")
    jobs = read_run(tmp_path / "run").jobs
    assert {(job.state, job.reason) for job in jobs} == {("failed", LIMIT_REACHED)}
    assert all(job.finished_s is None and job.released_s == job.started_s + 100 for job in jobs)
    assert "run_time_limit_s" not in run("simulate", "W2", "--jobs", "5").stderr


def test_an_interval_says_what_it_takes_for_granted_and_a_saturated_simulation_has_none(tmp_path: Path) -> None:
    """Each job needs all processors, and one comes every second."""
    path = tmp_path / "list.jsonl"
    for service_s, has_interval in ((0.5, True), (2.0, False)):
        jobs = [
            {"id": number, "arrival_s": number, "service_s": service_s, "components": [32] * 4, "queue": 0}
            for number in range(400)
        ]
        path.write_text("".join(json.dumps(job) + "\n" for job in jobs), encoding="utf-8")
        shown = run("simulate", str(path), "--queue", "gs", "--topology", "four-by-32").stdout
        (line,) = (line for line in shown.splitlines() if "response time (s)" in line)
        assert ("[" in line) is has_interval
        assert ("batches of jobs taken as independent" in shown) is has_interval


def test_a_long_warm_up_does_not_hide_that_a_queue_grows(tmp_path: Path) -> None:
    """Each job needs all processors for two seconds, and one comes every second: after the warm-up 120 jobs wait."""
    path = tmp_path / "list.jsonl"
    lines = [
        {"id": number, "arrival_s": number, "service_s": 2.0, "components": [32] * 4, "queue": 0}
        for number in range(400)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for warm_up in ("0", "240"):
        options = ("--queue", "gs", "--topology", "four-by-32", "--warm-up", warm_up, "--json")
        assert json.loads(run("simulate", str(path), *options).stdout)["saturated"]


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
        (("--warm-up", "9"), "--warm-up: must be less than the"),
        (("--policy", "mine.py"), "'mine.py' is a file without a class: name its class too, as mine.py:CLASS"),
        (("--queue", "mine.py"), "name its class too, as mine.py:CLASS"),
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
    assert "log.swf, line 1: run_s: left out, for" in result.stderr
    assert "log.swf: 19 records left out" in result.stderr
    assert "more doubtful records" in result.stderr


def test_doubts_do_not_hide_a_record_that_is_left_out(tmp_path: Path) -> None:
    """Eleven jobs ran longer than they had asked for, and one was cancelled before it started."""
    path, out = tmp_path / "log.swf", tmp_path / "run"
    lines = [f"{number} {number} -1 99 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1\n" for number in range(1, 12)]
    path.write_text("".join([*lines, "12 12 -1 -1 -1 -1 -1 4 9 -1 5 1 1 1 1 1 -1 -1\n"]), encoding="utf-8")
    said = run("simulate", str(path), "--queue", "ls-or", "--out", str(out)).stderr
    assert "log.swf, line 12: status: left out, for the job was cancelled before it started" in said
    assert "log.swf: 1 record left out\n" in said
    manifest = read_run(out).manifest
    assert (manifest.workload["file_kind"], manifest.workload["left_out"]) == ("log", 1)
    assert drawn_by_seed(manifest.workload, manifest.queue, manifest.topology) == ("the queues of jobs",)
    assert drawn_by_seed(manifest.workload, "gs", manifest.topology) == ()
    swept = run("sweep", str(path), "--queues", "ls-or,gs", "--seeds", "2", "--workers", "1", "--out", f"{out}-sweep")
    words = " ".join(swept.stderr.split())
    assert "log.swf: 1 record of the log left out" in words
    assert "log.swf are the same with every seed, which draws only the queues of jobs." in words


def test_a_job_too_large_for_every_cluster_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("1 0 -1 100 40 -1 -1 40 200 -1 1 1 1 1 1 -1 -1 -1\n", encoding="utf-8")
    error = run("simulate", str(path), "--queue", "gs").exception
    assert "on clusters of [16, 16, 16, 16] processors. (--component-limit splits large jobs)" in str(error)
    assert "from queue" in str(run("simulate", str(path), "--queue", "ls-do").exception)
    assert run("simulate", str(path), "--queue", "gs", "--component-limit", "16").exit_code == 0


def test_a_quota_counts_where_queues_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("".join(f"{job} {job} -1 10 12 -1 -1 12 20 -1 1 1 1 1 1 1 -1 -1\n" for job in range(1, 21)))
    clusters = ("--clusters", "64,16", "--quota", "0.5")
    found = json.loads(run("simulate", str(path), "--queue", "ls-do", *clusters, "--json").stdout)
    assert found["jobs_finished"] == 20


def test_a_record_is_said_to_hold_the_jobs_of_the_warm_up(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text(JOB + JOB.replace('"id": 1', '"id": 2'), encoding="utf-8")
    counted = run("simulate", str(jobs), "--warm-up", "1", "--out", str(tmp_path / "counted"))
    assert "holds all jobs" in counted.stderr
    assert len((tmp_path / "counted" / "jobs.csv").read_text().splitlines()) == 3
    assert "holds all jobs" not in run("simulate", str(jobs), "--out", str(tmp_path / "all")).stderr
    assert "holds all jobs" not in run("simulate", str(jobs), "--warm-up", "1").stderr


def test_a_job_without_an_application_is_not_called_an_empty_name(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    path.write_text(JOB.replace(', "application": "poisson"', ""), encoding="utf-8")
    factors = ("--queue", "gs", "--extension-factors", str(EXECUTION_TIMES_FILE))
    error = run("simulate", str(path), *factors).exception
    assert "say nothing of a job that names no application on 16 processors" in str(error)


def test_the_studies_are_listed() -> None:
    names = [study["name"] for study in json.loads(run("study", "list", "--json").stdout)]
    assert "application-mixes" in names
    assert "non-dedicated" in names
    assert len(names) == 8


def test_an_unknown_study_is_named(tmp_path: Path) -> None:
    error = run("study", "fig-2", "--out", str(tmp_path / "out")).exception
    assert isinstance(error, TestbedError)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Give either a workload to simulate, or a live run with --like RUN."),
        (("first", "--like", "runs/none"), "Give either a workload to simulate, or a live run with --like RUN."),
        (("first", "--times", "run"), "--times: goes with --like RUN"),
        (("--like", "runs/none", "--policy", "fcm"), "--policy: a simulation like a run takes this from the run"),
        (("--like", "runs/none"), "runs/none: is no run's directory"),
        (("first", "--clusters", "4x8", "--topology", "mini"), "--clusters: generates a topology"),
        (("first", "--clusters", "4x0"), "--clusters: must be such as 1024x32"),
        (("first", "--clusters", "99999x4"), "--clusters: at most 65536 clusters"),
        (("W1", "--clusters", "2x16"), "72|64|36"),
        (("50-25-25-0", "--load", "-0.4"), "for instance --load 0.85, not -0.4"),
        (("50-25-25-0", "--load", "inf"), "for instance --load 0.85, not inf"),
        (("50-25-25-0", "--load", "0.4", "--jobs", "9", "--warm-up", "9"), "--warm-up: must be less than the 9 jobs"),
    ],
)
def test_what_is_simulated_must_be_clear(arguments: tuple[str, ...], sentence: str) -> None:
    error = run("simulate", *arguments).exception
    assert isinstance(error, TestbedError)
    assert re.search(sentence if "|" in sentence else re.escape(sentence), str(error))
    assert "\n" not in str(error)


def test_a_simulation_says_where_its_execution_times_come_from() -> None:
    result = run("simulate", "first", "--jobs", "5", "--json")
    assert json.loads(result.stdout)["times"] == {"predicted": 5}
    assert "Execution times: 5 jobs predicted." in result.stderr
    assert "Execution times: 1 job predicted." in run("simulate", "first", "--jobs", "1").stderr


def test_jobs_of_a_stream_that_are_too_large_for_their_cluster_are_submitted_to_another() -> None:
    arguments = ("simulate", "50-25-25-0", "--load", "0.7", "--jobs", "500", "--clusters", "1,4096,10x32", "--json")
    found = json.loads(run(*arguments, "--queue", "ls-do").stdout)
    assert found["jobs_finished"] == 500


def test_generated_clusters_carry_a_stream_at_the_load_that_is_asked_for() -> None:
    arguments = ("simulate", "25-25-25-25", "--load", "0.5", "--jobs", "20000", "--clusters", "40x32", "--json")
    for queue in ("gs", "ls-do"):
        found = json.loads(run(*arguments, "--queue", queue).stdout)
        assert found["topology"] == "clusters-40x32"
        assert found["gross_utilization"] == pytest.approx(0.5, abs=0.03)
