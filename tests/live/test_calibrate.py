"""A profile calibrated with what a standing `mini` measures, and jobs of W1's applications under the broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.campaigns.run_directory import read_run
from emulator.model.documents import read_document
from emulator.model.house import HOUSE
from emulator.model.topology import Topology
from tests.live.command_line import CommandLine

KNOWN_ITERATION_S = 0.6
POINTS = 1000 * 2000


def test_a_known_iteration_less_the_measured_overhead_gives_a_cost(standing_testbed: CommandLine, tmp_path: Path):
    file, out = tmp_path / "mine.yaml", tmp_path / "run"
    file.write_text((HOUSE / "compose" / "mini.yaml").read_text())
    job = ("--app", "poisson", "--grid", "4000", "--processors", "8", "--dilation", "1", "--repeat", "1")
    known = ("--iteration-s", str(KNOWN_ITERATION_S), "--into", str(file), "--out", str(out))
    (row,) = standing_testbed.succeed("calibrate", *job, *known, "--json").as_json()
    assert row["key"] == "out_of_cache_ns_per_point"
    assert 0 < row["overhead_s"] < KNOWN_ITERATION_S
    assert row["after"] == pytest.approx((KNOWN_ITERATION_S - row["overhead_s"]) / POINTS * 1e9, rel=1e-3)
    assert read_document(file, Topology).processor.out_of_cache_ns_per_point == row["after"]
    records = read_run(out)
    assert [(entry.application, entry.components, entry.state) for entry in records.jobs] == [
        ("poisson", (8,), "finished")
    ]
    assert records.manifest.topology.processor.name == "das2-unweighted"
    assert standing_testbed("campaign", "stop").exit_code == 1


@pytest.mark.parametrize(
    ("application", "arguments", "components"),
    [("laplace", "{grid: 120, iterations: 40}", "[2, 2]"), ("heat", "{grid: 120, steps: 40}", "[3, 2]")],
)
def test_the_applications_of_w1_run_over_two_clusters(
    standing_testbed: CommandLine, tmp_path: Path, application: str, arguments: str, components: str
):
    file = tmp_path / "job.yaml"
    file.write_text(f"application: {application}\narguments: {arguments}\ncomponents: {components}\n")
    job = standing_testbed.succeed("submit", str(file), "--wait", "--json").as_json()[0]
    assert (job["state"], job["result"]["iterations"]) == ("finished", 40)
    assert job["result"]["interconnects"].startswith("myrinet")
