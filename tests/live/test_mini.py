"""The stated middleware of `mini` is waited for, and a job can be cancelled meanwhile; a campaign runs by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.model.job import JobState
from emulator.runs.run_directory import read_run
from tests.live.command_line import CommandLine
from tests.live.grid import SHORT, Grid
from tests.live.test_campaign import ANYWAY, replayed_decisions
from tests.live.test_claiming import SLEEP, cancel, no_process_at, submit_plain
from tests.unit.broker.own_policies import BEST_FIT


def test_a_finished_job_has_its_whole_timeline_its_result_and_the_stated_overhead(paced_grid: Grid) -> None:
    job = paced_grid.finished(paced_grid.submit(4, 4, 4, 4, arguments=SHORT))
    timestamps = [job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s, job.released_s]
    assert timestamps == sorted(timestamps)
    # The middleware of `mini` takes 5 s + 1 s per component at dilation 1. The start may be late, but never early.
    assert job.started_s - job.placed_s >= 9.0 - 0.001
    assert job.started_s - job.placed_s - (job.overhead_late_s or 0.0) <= 9.0 + 0.25
    assert job.result["iterations"] == SHORT["iterations"]
    assert job.result["processors"] == 16
    paced_grid.nothing_held_at(*{component.cluster for component in job.components})


@pytest.mark.long
@pytest.mark.timed
def test_a_campaign_by_its_name_under_a_policy_of_ones_own_is_recorded_with_it(
    mini: CommandLine, tmp_path: Path
) -> None:
    file, out = tmp_path / "mypolicy.py", tmp_path / "run"
    file.write_text(BEST_FIT)
    options = ("--policy", f"{file}:Mine", "--jobs", "3", "--time-scale", "8", *ANYWAY, "--dilation", "1")
    mini.succeed("campaign", "run", "first", *options, "--out", str(out))
    records = read_run(out)
    assert [job.state for job in records.jobs] == ["finished"] * 3
    for job in records.jobs:
        # The time scale divides the middleware's overhead, too.
        stated_s = records.manifest.topology.middleware.overhead_s(len(job.components)) / 8
        assert job.overhead_s >= stated_s - 0.05
        assert job.overhead_s == pytest.approx(stated_s + (job.overhead_late_s or 0), abs=0.25)
    assert records.manifest.policy == "mypolicy.py:Mine"
    assert records.manifest.workload["sources"] == {"mypolicy.py": BEST_FIT}
    file.unlink()
    assert replayed_decisions(mini, out) >= 2 * 3


def test_a_job_cancelled_while_it_is_starting_leaves_nothing(paced_grid: Grid) -> None:
    starting = submit_plain(paced_grid, SLEEP, [16], ["delft"])
    paced_grid.await_state(starting, JobState.STARTING)
    cancel(paced_grid, starting, JobState.STARTING)
    paced_grid.nothing_held_at("delft")
    assert no_process_at(paced_grid, "delft", SLEEP)
