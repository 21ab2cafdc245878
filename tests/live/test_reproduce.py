"""The reproduction of a published table on a running testbed: it is interrupted, and resumed where it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.runs.run_directory import read_run
from tests.live.command_line import CommandLine

TABLE = ("reproduce", "poisson-runtimes")
SMALL = ("--grid", "100", "--processors", "16", "--iterations", "50", "--repeat", "1", "--dilation", "8")


@pytest.mark.long
def test_every_setup_is_measured_beside_what_was_published_also_after_an_interrupt(
    testbed: CommandLine, tmp_path: Path
) -> None:
    out = tmp_path / "run"

    def one_has_finished() -> bool:
        return any("finished" in jobs.read_text() for jobs in out.rglob("jobs.csv"))

    interrupted = testbed.interrupted(
        *TABLE, *SMALL, "--even-if-hopeless", "--require", "void", "--out", str(out), when=one_has_finished
    )
    assert interrupted.exit_code == 130, interrupted.errors
    begun = {job.job for jobs in out.rglob("jobs.csv") for job in read_run(jobs.parent).jobs if job.state == "finished"}
    found = testbed.succeed(*TABLE, "--resume", str(out), "--require", "void", "--json").as_json()
    cells = {cell["setup"]: cell for cell in found["cells"]}
    assert list(cells) == ["pbs-1", "globus-1", "globus-2", "globus-4"]
    # On `quick` a single cluster has the same interconnect in both setups, and clusters are 1 to 3 ms apart.
    assert cells["globus-1"]["iteration_s"] == pytest.approx(cells["pbs-1"]["iteration_s"], rel=0.5)
    for several in ("globus-2", "globus-4"):
        assert cells[several]["iteration_s"] > cells["pbs-1"]["iteration_s"] + 4 * 0.001
        assert cells[several]["published_s"] > 10
    counted = [job for jobs in out.rglob("jobs.csv") for job in read_run(jobs.parent).jobs if job.state == "finished"]
    assert begun <= {job.job for job in counted}
    again = testbed.succeed(*TABLE, "--resume", str(out), "--require", "void", "--json").as_json()
    assert again["cells"] == found["cells"]
