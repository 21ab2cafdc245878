"""The planner on this host: its costs are measured on real containers, and what it predicts is kept with a real run."""

from __future__ import annotations

from pathlib import Path

from emulator.campaigns.host_probe import PROBE_NAME
from emulator.campaigns.run_directory import read_run
from tests.live.command_line import CommandLine


def test_the_host_is_measured_once_and_nothing_of_the_probe_stays(standing_testbed: CommandLine):
    first, second = (standing_testbed.succeed("plan", "--json").as_json()[0] for _ in range(2))
    assert first["host_measured_at"] == second["host_measured_at"]
    assert first["faithful"]
    assert first["host_cpu_s"] > 0
    assert CommandLine(PROBE_NAME).left_over() == []


def test_a_measurement_runs_at_the_dilation_that_the_plan_proposes_and_keeps_both(
    standing_testbed: CommandLine, tmp_path: Path
):
    asked = ("--grid", "400", "--processors", "8", "--clusters", "1,2", "--iterations", "30")
    proposed = standing_testbed.succeed("plan", *asked, "--json").as_json()[0]["proposed_dilation"]
    out = tmp_path / "run"
    standing_testbed.succeed("measure", *asked, "--repeat", "1", "--out", str(out))
    manifest = read_run(out).manifest
    assert manifest.dilation == manifest.plan["dilation"] == proposed
    assert manifest.verdict != "void"
    *cells, total = manifest.plan["outcomes"]
    assert len(cells) == 2
    assert 0.2 < total["predicted_host_cpu_s"] / total["host_cpu_s"] < 5


def test_the_hopeless_is_refused_before_anything_is_held(standing_testbed: CommandLine, tmp_path: Path):
    asked = (
        "--grid",
        "60",
        "--processors",
        "16",
        "--clusters",
        "4",
        "--dilation",
        "0.05",
        "--out",
        str(tmp_path / "run"),
    )
    refused = standing_testbed("measure", *asked)
    assert refused.exit_code == 1
    assert "is hopeless on this host" in refused.sentence
    assert not (tmp_path / "run").exists()
