"""The reproduction of a published table on a running testbed: its cells run, and an interrupted run is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.command_line import CommandLine

SMALL = ("--grid", "100", "--processors", "16", "--iterations", "20", "--repeat", "1", "--dilation", "8")


def test_every_setup_is_measured_beside_what_was_published(testbed: CommandLine, tmp_path: Path):
    out = tmp_path / "run"
    found = testbed.succeed(
        "reproduce", "poisson-runtimes", *SMALL, "--even-if-hopeless", "--require", "void", "--json", "--out", str(out)
    ).as_json()
    cells = {cell["setup"]: cell for cell in found["cells"]}
    assert list(cells) == ["pbs-1", "globus-1", "globus-2", "globus-4"]
    # On `quick` a single cluster has the same interconnect in both setups, and clusters are 1 to 3 ms apart.
    assert cells["globus-1"]["iteration_s"] == pytest.approx(cells["pbs-1"]["iteration_s"], rel=0.5)
    for several in ("globus-2", "globus-4"):
        assert cells[several]["iteration_s"] > cells["pbs-1"]["iteration_s"] + 4 * 0.001
        assert cells[several]["published_s"] > 10
    again = testbed.succeed(
        "reproduce", "poisson-runtimes", "--resume", str(out), "--require", "void", "--json"
    ).as_json()
    assert again["cells"] == found["cells"]
