"""Background load on a running testbed: other users' jobs in each Slurm, held in a band, and none left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from emulator.runs.run_directory import read_run
from tests.live.command_line import TESTBED, CommandLine
from tests.live.grid import Grid, until

CLUSTERS = ("amsterdam", "delft", "leiden", "utrecht")
PROCESSORS = 64
LOADED = """
name: loaded
topology: quick
jobs: 4
interarrival: {mean_s: 15}
application: poisson
arguments: {grid: 400, iterations: 60, tolerance: 0}
component_counts: [1, 2]
component_sizes: [4]
background:
  band: [0.25, 0.5]
  local_jobs: {interarrival: {mean_s: 8}, sizes: [2, 4], lengths: {low_s: 10, high_s: 30}}
  dummy: {sizes: [1, 2, 4], lengths: {low_s: 20, high_s: 60}}
dilation: 0.5
"""
ANYWAY = ("--even-if-hopeless", "--require", "void")


def held_by(grid: Grid, account: str) -> int:
    """Count the processors that the jobs of `account` hold in all clusters."""
    listed = [grid.at(cluster, f"squeue -h -t R -u {account} -o %C") for cluster in CLUSTERS]
    return sum(int(number) for text in listed for number in text.split())


def test_a_standing_load_is_in_its_band_is_nobodys_job_to_the_broker_and_ends_when_it_is_stopped(grid: Grid) -> None:
    testbed: CommandLine = grid.testbed
    before = len(grid.client.jobs())
    testbed.succeed("background", "start", "--band", "30-40")
    try:
        until(lambda: 0.3 * PROCESSORS <= held_by(grid, "background") <= 0.4 * PROCESSORS)
        assert 0.3 <= testbed.succeed("background", "status", "--json").as_json()["load"] <= 0.4
        assert len(grid.client.jobs()) == before
        status = testbed.succeed("status", "--json").as_json()
        assert sum(cluster["idle"] for cluster in status) == PROCESSORS - held_by(grid, "background")
        # A dummy job that is ended by somebody else is replaced.
        for cluster in CLUSTERS:
            grid.at(cluster, "scancel --user=background")
        until(lambda: held_by(grid, "background") >= 0.3 * PROCESSORS)
        assert "already" in testbed("background", "start", "--band", "10-20").sentence
    finally:
        testbed.succeed("background", "stop")
    grid.nothing_held_at(*CLUSTERS)


def test_a_campaign_keeps_its_load_in_the_band_and_records_it(grid: Grid, tmp_path: Path) -> None:
    file, out = tmp_path / "loaded.yaml", tmp_path / "run"
    file.write_text(LOADED)
    grid.testbed.succeed("campaign", "run", str(file), *ANYWAY, "--seed", "1", "--out", str(out))
    records = read_run(out)
    assert records.manifest.background is not None
    share = records.manifest.background["share_in_band"]
    assert share is not None
    # On a busy host a load may leave its band for longer; the verdict then says so.
    assert share > 0.5
    assert share < 0.95 or not any("background load in" in reason for reason in records.manifest.verdict_reasons)
    assert {row.cluster for row in records.background} == set(CLUSTERS)
    assert max(row.local_processors for row in records.background) > 0
    for row in records.background:
        assert row.dummy_processors + row.local_processors + row.grid_processors <= row.processors
    grid.nothing_held_at(*CLUSTERS)


def test_a_campaign_that_is_killed_leaves_no_dummy_job_behind(grid: Grid, tmp_path: Path) -> None:
    file = tmp_path / "loaded.yaml"
    file.write_text(LOADED.replace("iterations: 60", "iterations: 100000"))
    command = [str(TESTBED), "campaign", "run", str(file), *ANYWAY, "--out", str(tmp_path / "run")]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "TESTBED_NAME": grid.testbed.name},
    ) as running:  # fmt: skip
        try:
            until(lambda: held_by(grid, "background") > 0)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
    until(lambda: held_by(grid, "background") + held_by(grid, "local") == 0, host_within_s=30)
    grid.testbed.succeed("campaign", "stop")
    grid.nothing_held_at(*CLUSTERS)
