"""A published table measured again on a standing `mini`: its cells run, and one that stops half-way is taken up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.command_line import CommandLine

SMALL = ("--grid", "100", "--processors", "16", "--iterations", "20", "--repeat", "1", "--dilation", "8")


def test_every_setup_is_measured_beside_what_was_published(standing_testbed: CommandLine, tmp_path: Path):
    out = tmp_path / "run"
    found = standing_testbed.succeed(
        "reproduce", "poisson-runtimes", *SMALL, "--even-if-hopeless", "--json", "--out", str(out)
    ).as_json()
    cells = {cell["setup"]: cell for cell in found["cells"]}
    assert list(cells) == ["pbs-1", "globus-1", "globus-2", "globus-4"]
    # On `mini` one cluster has the same interconnect in both setups, and several are 1 to 3 ms apart.
    assert cells["globus-1"]["iteration_s"] == pytest.approx(cells["pbs-1"]["iteration_s"], rel=0.2)
    for several in ("globus-2", "globus-4"):
        assert cells[several]["iteration_s"] > cells["pbs-1"]["iteration_s"] + 4 * 0.001
        assert cells[several]["published_s"] > 10
    again = standing_testbed.succeed("reproduce", "poisson-runtimes", "--resume", str(out), "--json").as_json()
    assert again["cells"] == found["cells"]


def test_a_time_scale_shortens_computing_alone(standing_testbed: CommandLine, tmp_path: Path):
    asked = ("--grid", "1000", "--processors", "4", "--clusters", "1", "--iterations", "20", "--repeat", "1")
    plain_s, scaled_s = (
        standing_testbed.succeed(
            "measure",
            *asked,
            "--dilation",
            "4",
            "--even-if-hopeless",
            "--time-scale",
            scale,
            "--json",
            "--out",
            str(tmp_path / scale),
        ).as_json()[0]["iteration_s"]
        for scale in ("1", "4")
    )
    assert scaled_s == pytest.approx(plain_s / 4, rel=0.1)
