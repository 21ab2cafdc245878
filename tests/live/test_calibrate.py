"""Calibration of a profile from measurements on a running testbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.model.documents import read_document
from emulator.model.topology import Topology
from emulator.runs.run_directory import read_run
from tests.live.command_line import TWO_SITES_FILE, CommandLine

KNOWN_ITERATION_S = 0.05
POINTS = 250 * 500


def test_a_known_iteration_less_the_measured_overhead_gives_a_cost(two_sites: CommandLine, tmp_path: Path):
    file, out = tmp_path / "mine.yaml", tmp_path / "run"
    file.write_text(TWO_SITES_FILE.read_text())
    job = ("--app", "poisson", "--grid", "1000", "--processors", "8", "--dilation", "1", "--repeat", "1")
    known = ("--iteration-s", str(KNOWN_ITERATION_S), "--into", str(file), "--out", str(out))
    (row,) = two_sites.succeed("calibrate", *job, *known, "--json").as_json()
    assert row["key"] == "out_of_cache_ns_per_point"
    assert 0 < row["overhead_s"] < KNOWN_ITERATION_S
    assert row["after"] == pytest.approx((KNOWN_ITERATION_S - row["overhead_s"]) / POINTS * 1e9, rel=1e-3)
    assert read_document(file, Topology).processor.out_of_cache_ns_per_point == row["after"]
    records = read_run(out)
    assert [(entry.application, entry.components, entry.state) for entry in records.jobs] == [
        ("poisson", (8,), "finished")
    ]
    assert records.manifest.topology.processor.name == "das2-unweighted"
    assert two_sites("campaign", "stop").exit_code == 1
