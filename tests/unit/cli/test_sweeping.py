"""The verb `sweep` as a user meets it: what it leaves in its folder, what it says, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from emulator.cli.main import app
from emulator.model.errors import TestbedError, VerdictTooLow

JOB = '{"id": 1, "arrival_s": 2, "service_s": 3, "components": [4], "queue": 0}\n'
FACTORS = "application,processors,clusters,extension_factor,verdict\n"


def sweep(*arguments: str, out: Path) -> Result:
    return CliRunner().invoke(app, ["sweep", *arguments, "--workers", "1", "--out", str(out)])


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def test_a_sweep_leaves_tables_a_figure_and_what_it_was_made_from(tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    arguments = ("--loads", "0.4,0.8", "--seeds", "2", "--jobs", "10", "--json")
    rows = json.loads(sweep("W2", "--policies", "wf,fcm", *arguments, out=out).stdout)
    assert [(row["policy"], row["load"], row["n"]) for row in rows] == [
        ("wf", 0.4, 2), ("wf", 0.8, 2), ("fcm", 0.4, 2), ("fcm", 0.8, 2)
    ]  # fmt: skip
    assert all(row["response_s_low"] <= row["response_s"] <= row["response_s_high"] for row in rows)
    assert len(rows_of(out / "simulations.csv")) == 8
    assert (out / "response-by-load.svg").is_file()
    record = json.loads((out / "inputs.json").read_text())
    assert record["options"]["policies"] == ["wf", "fcm"]
    assert [file["name"] for file in record["files"]] == ["W2.yaml"]


def test_a_sweep_is_not_mixed_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "jobs.jsonl").write_text(JOB)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "cells.csv").write_text("mine\n")
    error = sweep(str(tmp_path / "jobs.jsonl"), "--seeds", "1", out=tmp_path / "out").exception
    assert "holds no sweep to go on with (choose another with --out)" in str(error)
    assert (tmp_path / "out" / "cells.csv").read_text() == "mine\n"


def test_a_policy_that_fails_in_a_sweep_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The workers of dask would print a traceback of their own."""
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from emulator.policies.placement.worst_fit import WorstFit\n"
        "class Late:\n"
        "    accepts = WorstFit.accepts\n"
        "    def place(self, request, state):\n"
        "        return WorstFit().place(request, state) if state.time_s < 100 else 1 / 0\n"
    )
    options = ("--jobs", "9", "--seeds", "1")
    error = sweep("W2", "--policies", f"{mine}:Late", *options, out=tmp_path / "out").exception
    assert "place raised ZeroDivisionError" in str(error)
    assert "Traceback" not in capfd.readouterr().err


def test_a_sweep_of_a_list_of_jobs_says_that_seeds_vary_nothing(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text(JOB)
    found = sweep(str(jobs), "--seeds", "3", "--json", out=tmp_path / "out")
    assert "All 3 seeds gave the same in 1 of 1 cell" in found.stderr
    (row,) = json.loads(found.stdout)
    assert (row["n"], row["response_s_low"], row["load"]) == (1, None, None)
    assert "Execution times" not in found.stderr


@pytest.mark.parametrize("required", ["suspect", "void"])
def test_a_void_cell_ends_with_code_3_and_what_speaks_against_it_is_said(tmp_path: Path, required: str) -> None:
    """Worst fit spreads long jobs, which then reach their limit: it must not be called the faster policy."""
    campaign, jobs = tmp_path / "limited.yaml", tmp_path / "jobs.jsonl"
    campaign.write_text(
        "name: limited\ntopology: mini\njob_list: jobs.jsonl\napplication: poisson\nrun_time_limit_s: 150\n"
    )
    lines = [
        {"id": number, "arrival_s": 500 * number, "service_s": service_s, "components": components}
        for number, (service_s, components) in enumerate([(100, [8, 8]), (10, [4])] * 4)
    ]
    jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ("--policies", "cm,wf", "--extension-factors", "2", "--seeds", "1", "--require", required, "--json")
    found = sweep(str(campaign), *options, out=tmp_path / "out")
    assert isinstance(found.exception, VerdictTooLow) is (required == "suspect")
    minimizing, worst_fit = json.loads(found.stdout)
    assert worst_fit["response_s"] < minimizing["response_s"]
    assert worst_fit["response_over_first"] is None
    assert "No ratio to the first policy and queue in 1 of 2 cells" in found.stderr
    assert "wf / placement: 1 of 1 simulation void, such as that of seed 0: 4 jobs failed" in found.stderr
    simulated = rows_of(tmp_path / "out" / "simulations.csv")
    assert [row["jobs_reached_limit"] for row in simulated] == ["0", "4"]
    assert simulated[1]["verdict_reasons"].startswith("4 jobs failed")


def test_a_sweep_says_that_a_table_that_matches_no_job_was_not_used(tmp_path: Path) -> None:
    table = tmp_path / "factors.csv"
    table.write_text(f"{FACTORS}heat,999,2,1.5,valid\n")
    options = ("--jobs", "5", "--seeds", "2", "--band", "none", "--extension-factors", str(table))
    found = sweep("W1", *options, out=tmp_path / "out")
    assert "Execution times in all simulations: " in found.stderr
    assert "0 jobs measured" in found.stderr
    assert "The table held the factors of 0 jobs." in found.stderr
    assert {row["jobs_measured"] for row in rows_of(tmp_path / "out" / "simulations.csv")} == {"0"}


def test_several_tables_of_factors_are_taken_together(tmp_path: Path) -> None:
    """Times of `first` are predicted; the factors of its jobs over several clusters are all in one of the tables."""
    tables = [tmp_path / f"{number}.csv" for number in (0, 1)]
    for table, sizes in zip(tables, ((8, 16), (32,)), strict=True):
        rows = (f"poisson,{size},{clusters},1.5,valid\n" for size in sizes for clusters in (2, 3, 4))
        table.write_text(FACTORS + "".join(rows))
    named = [word for table in tables for word in ("--extension-factors", str(table))]
    found = sweep("first", "--seeds", "1", *named, out=tmp_path / "out")
    assert found.exit_code == 0
    (row,) = rows_of(tmp_path / "out" / "simulations.csv")
    assert (row["jobs_measured"], row["jobs_predicted"]) == ("0", "20")
    assert int(row["jobs_in_table"]) > 0
    assert f"The table held the factors of {row['jobs_in_table']} job" in found.stderr
    assert float(row["load"]) > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--loads", "high"), "--loads: must be such as"),
        (("--seeds", "0"), "--seeds: must be at least 1"),
        (("--policies", "wf,wf"), "--policies: names wf twice"),
        (("--warm-up", "5"), "--warm-up: must be less than the 5 jobs, not 5"),
        (("--workers", "0"), "--workers: must be at least 1"),
        (("--extension-factors", "none.csv"), "none.csv"),
        (("--time-scale", "0"), "time_scale: must be"),
        (("--interarrival-factor", "2", "--loads", "0.5"), "--interarrival-factor: --loads says how often jobs come"),
    ],
)
def test_a_sweep_that_cannot_be_meant_is_refused_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    words = ["sweep", "W2", "--jobs", "5", "--out", str(tmp_path / "out"), *arguments]
    error = CliRunner().invoke(app, words).exception
    assert isinstance(error, TestbedError)
    assert sentence in str(error)
    assert not (tmp_path / "out").exists()
