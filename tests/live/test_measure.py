"""Extension factors measured on a standing `mini`, and single jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.campaigns.run_directory import read_run
from tests.live.command_line import CommandLine

# These tests are not about what a plan thinks of this host.
ANYWAY = ("--even-if-hopeless",)
SMALL = ("--grid", "200", "--processors", "8", "--clusters", "1,2", "--iterations", "40", "--repeat", "2")


def test_a_job_over_two_clusters_takes_longer_by_at_least_the_round_trips(
    standing_testbed: CommandLine, tmp_path: Path
):
    out = tmp_path / "run"
    rows = standing_testbed.succeed("measure", *SMALL, *ANYWAY, "--json", "--out", str(out)).as_json()
    single, double = rows
    assert (single["clusters"], single["extension_factor"]) == (1, 1.0)
    assert (double["clusters"], double["components"], double["n"]) == (2, [4, 4], 2)
    assert double["extension_factor"] == pytest.approx(double["runtime_s"] / single["runtime_s"])
    topology = read_run(out).manifest.topology
    one_way_s = topology.path("amsterdam", "delft").delay_s
    assert double["iteration_s"] > single["iteration_s"] + 2 * one_way_s * 0.9
    assert len(read_run(out).jobs) == 4
    assert (out / "extension_factors.csv").read_text().count("\n") == 3


def test_communication_is_measured_by_process_and_direction_synchronized_and_not(
    standing_testbed: CommandLine, tmp_path: Path
):
    out = tmp_path / "run"
    asked = ("--grid", "100", "--processors", "4", "--clusters", "2", "--iterations", "20", "--repeat", "1")
    plain, synchronized = standing_testbed.succeed(
        "measure", "--communication", *asked, *ANYWAY, "--json", "--out", str(out)
    ).as_json()
    assert [plain["synchronized"], synchronized["synchronized"]] == [False, True]
    assert synchronized["data_rate_mbit"] > 0
    one_way_s = read_run(out).manifest.topology.path("amsterdam", "delft").delay_s
    for found in (plain, synchronized):
        assert [it["component"] for it in found["border_exchange"]] == [0, 0, 1, 1]
        # In the step left the western processes receive across the wide area, in the step right the eastern ones.
        west, _, east, _ = found["border_exchange"]
        assert west["left_s"] + east["right_s"] > 20 * one_way_s * 0.9
    assert synchronized["communication_s"] > 20 * one_way_s * 0.9
    assert len(list(out.glob("*.png"))) == 4


def test_an_interrupted_matrix_is_resumed_where_it_was(standing_testbed: CommandLine, tmp_path: Path):
    out = tmp_path / "run"
    asked = ("--app", "poisson,laplace", "--grid", "100", "--processors", "8", "--clusters", "1", "--repeat", "2")

    def one_has_finished() -> bool:
        return (out / "jobs.csv").is_file() and "finished" in (out / "jobs.csv").read_text()

    interrupted = standing_testbed.interrupted(
        "measure", *asked, "--iterations", "20", "--dilation", "1", *ANYWAY, "--out", str(out), when=one_has_finished
    )
    assert interrupted.exit_code == 130
    assert "left out: laplace grid 100 on 8 processors: A square process grid" in interrupted.errors
    (row,) = standing_testbed.succeed("measure", "--resume", str(out), "--json").as_json()
    assert (row["application"], row["n"]) == ("poisson", 2)
    jobs = read_run(out).jobs
    assert [job.state for job in jobs].count("finished") == 2
    assert standing_testbed("measure", "--resume", str(out)).sentence.endswith("shows it).")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--clusters", "3"), "do not divide equally among 3 clusters"),
        (("--processors", "32", "--clusters", "1"), "largest cluster of 'mini' has 16"),
        (("--app", "nosuch"), "nosuch"),
        (("--dilation", "0"), "dilation"),
    ],
)
def test_what_cannot_be_measured_is_refused_and_nothing_is_held(
    standing_testbed: CommandLine, tmp_path: Path, arguments: tuple[str, ...], sentence: str
):
    refused = standing_testbed("measure", *arguments, "--out", str(tmp_path / "run"))
    assert refused.exit_code == 1
    assert sentence in refused.sentence
    assert standing_testbed("campaign", "stop").exit_code == 1


def test_a_job_is_submitted_awaited_shown_and_refused_where_it_is_too_large(
    standing_testbed: CommandLine, tmp_path: Path
):
    file = tmp_path / "job.yaml"
    file.write_text("application: poisson\narguments: {grid: 100, iterations: 10, tolerance: 0}\ncomponents: [4, 4]\n")
    job = standing_testbed.succeed("submit", str(file), "--wait", "--json").as_json()[0]
    assert job["state"] == "finished"
    assert job["result"]["iterations"] == 10
    shown = standing_testbed.succeed("jobs", str(job["id"]), "--json").as_json()
    assert shown["finished_s"] == job["finished_s"]
    file.write_text("application: poisson\ncomponents: [17]\n")
    refused = standing_testbed("submit", str(file))
    assert refused.exit_code == 1
    assert "component of 17 processors" in refused.sentence


def test_a_job_is_cancelled_while_it_runs(standing_testbed: CommandLine, tmp_path: Path):
    file = tmp_path / "job.yaml"
    file.write_text(
        "application: poisson\narguments: {grid: 400, iterations: 100000, tolerance: 0}\ncomponents: [4, 4]\n"
    )
    job = standing_testbed.succeed("submit", str(file), "--json").as_json()[0]
    cancelled = standing_testbed.succeed("cancel", str(job["id"]), "--json").as_json()[0]
    assert cancelled["state"] == "cancelled"
