"""Campaigns on a running testbed: submission, placement, execution and records, also when the broker is killed."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from emulator.model.job import JobState
from emulator.model.records import DECISIONS_FILE, SCHEDULE_FILE, RunProgress
from emulator.runs.run_directory import read_run
from tests.live.command_line import CommandLine
from tests.live.grid import Grid, until
from tests.unit.broker.own_policies import BEST_FIT
from workloads.schedule import read_schedule

# These tests do not depend on the plan for this host.
ANYWAY = ("--even-if-hopeless", "--require", "void")
SMALL = """
name: small
topology: quick
jobs: 4
interarrival: {mean_s: 1}
application: poisson
arguments: {grid: 1000, iterations: 60, tolerance: 0}
component_counts: [1, 2]
component_sizes: [4]
dilation: 2
"""


def await_text(file: Path, text: str, host_within_s: float = 120) -> None:
    """Wait until `file` holds `text`."""
    host_deadline_s = time.monotonic() + host_within_s
    while not (file.is_file() and text in file.read_text()):
        assert time.monotonic() < host_deadline_s, f"{file} never held {text}"
        time.sleep(0.2)


def replayed_decisions(testbed: CommandLine, run: Path) -> int:
    """Replay the decisions of `run`, assert that none differs, and return their number."""
    said = testbed.succeed("replay", str(run)).output
    assert said.endswith(" decisions replayed, 0 differences\n")
    return int(said.split()[0])


def test_a_campaign_under_a_users_policy_goes_on_after_its_broker_was_killed_and_its_decisions_can_be_made_again(
    grid: Grid, tmp_path: Path
) -> None:
    """Local queues are used. No event is missing or doubled; jobs that ran at the kill have failed, all others run."""
    file, policy, out = tmp_path / "local.yaml", tmp_path / "mypolicy.py", tmp_path / "run"
    file.write_text(SMALL.replace("jobs: 4", "jobs: 6").replace("sizes: [4]", "sizes: [12]"))
    policy.write_text(BEST_FIT)
    options = ("--queue", "ls-do", "--policy", f"{policy}:Mine", "--seed", "2", *ANYWAY, "--out", str(out))
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(grid.testbed, "campaign", "run", str(file), *options, "--json")
        until(lambda: ended.done() or grid.client.current_run())
        run = grid.client.current_run().id
        until(lambda: ended.done() or any(job.state is JobState.RUNNING for job in grid.client.jobs(run)))
        assert not ended.done(), ended.result().errors
        grid.kill_broker()
        printed = ended.result()
    policy.unlink()
    records = read_run(out)
    assert records.manifest.progress is RunProgress.COMPLETE, printed.errors
    assert records.manifest.policy == "mypolicy.py:Mine"
    assert records.manifest.workload["sources"] == {"mypolicy.py": BEST_FIT}
    assert len({job.job for job in records.jobs}) == len(records.jobs) == 6
    finished = [job for job in records.jobs if job.state == "finished"]
    assert 0 < len(finished) < 6
    assert {job.state for job in records.jobs} == {"finished", "failed"}
    assert printed.as_json()[0]["finished"] == len(finished)
    for job in finished:
        timestamps = [job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s]
        assert timestamps == sorted(timestamps)
        assert job.iterations == 60
    homes = {planned.specification.name: planned.specification.queue for planned in read_schedule(out / SCHEDULE_FILE)}
    singles = [job for job in finished if len(job.components) == 1]
    assert [job.execution_clusters for job in singles] == [(homes[job.name],) for job in singles]
    assert len(records.components) == sum(len(job.components) for job in records.jobs)
    assert {link.moment for link in records.links} == {"before", "after"}
    assert {row.claimed_processors for row in records.utilization} >= {0, 12}
    recorded = [json.loads(line)["sequence"] for line in (out / DECISIONS_FILE).read_text().splitlines()]
    assert recorded == [event.sequence for event in grid.client.events(run, host_wait_s=0)][: len(recorded)]
    assert len(recorded) > 6 * 3
    assert replayed_decisions(grid.testbed, out) >= 6
    status = grid.testbed.succeed("status", "--json").as_json()
    assert [cluster["idle"] for cluster in status] == [cluster["processors"] for cluster in status]
