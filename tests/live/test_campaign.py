"""A campaign on a standing `mini`: submitted, placed, run and recorded, and what is left when a cluster is killed."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from emulator.campaigns.run_directory import read_run
from emulator.containers import engine
from emulator.model.records import SCHEDULE_FILE, RunProgress
from tests.live.command_line import CommandLine
from tests.unit.broker.own_policies import BEST_FIT
from workloads.schedule import read_schedule

# These tests are not about what a plan thinks of this host.
ANYWAY = ("--even-if-hopeless",)
SMALL = """
name: small
topology: mini
jobs: 4
interarrival: {mean_s: 3}
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
    """How many decisions of `run` were made again; none may differ."""
    said = testbed.succeed("replay", str(run)).output
    assert said.endswith(" decisions replayed, 0 differences\n")
    return int(said.split()[0])


@pytest.fixture
def campaign(tmp_path: Path) -> str:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return str(file)


def test_a_campaign_runs_and_is_recorded(standing_testbed: CommandLine, campaign: str, tmp_path: Path):
    out = tmp_path / "run"
    printed = standing_testbed.succeed("campaign", "run", campaign, "--seed", "1", *ANYWAY, "--out", str(out), "--json")
    records = read_run(out)
    assert records.manifest.progress is RunProgress.COMPLETE
    assert [job.state for job in records.jobs] == ["finished"] * 4
    for job in records.jobs:
        moments = [job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s]
        assert moments == sorted(moments)
        assert job.iterations == 60
        stated = records.manifest.topology.middleware.overhead_s(len(job.components))
        assert job.overhead_s >= stated - 0.05
        assert job.overhead_s == pytest.approx(stated + (job.overhead_late_s or 0), abs=0.25)
    assert len(records.components) == sum(len(job.components) for job in records.jobs)
    assert all(component.allocation for component in records.components)
    assert {link.moment for link in records.links} == {"before", "after"}
    assert {row.claimed_processors for row in records.utilization} >= {0, 4}
    assert printed.as_json()[0]["finished"] == 4
    status = standing_testbed.succeed("status", "--json").as_json()
    assert [cluster["idle"] for cluster in status] == [cluster["processors"] for cluster in status]
    assert replayed_decisions(standing_testbed, out) >= 2 * 4


def test_local_queues_hold_their_jobs_and_every_decision_can_be_made_again(
    standing_testbed: CommandLine, tmp_path: Path
):
    file, out = tmp_path / "local.yaml", tmp_path / "run"
    local = {"jobs: 4": "jobs: 6", "mean_s: 3": "mean_s: 1", "sizes: [4]": "sizes: [12]", "name: small": "name: local"}
    text = SMALL + "request: unordered\n"
    for old, new in local.items():
        text = text.replace(old, new)
    file.write_text(text)
    options = ("--queue", "ls-do", "--policy", "wf-distinct", "--seed", "2", *ANYWAY, "--out", str(out))
    standing_testbed.succeed("campaign", "run", str(file), *options)
    jobs = read_run(out).jobs
    assert [job.state for job in jobs] == ["finished"] * 6
    homes = {it.specification.name: it.specification.queue for it in read_schedule(out / SCHEDULE_FILE)}
    singles = [job for job in jobs if len(job.components) == 1]
    assert [job.execution_clusters for job in singles] == [(homes[job.name],) for job in singles]
    assert replayed_decisions(standing_testbed, out) >= 2 * 6


def test_a_policy_of_ones_own_decides_live_and_is_recorded_with_the_run(standing_testbed: CommandLine, tmp_path: Path):
    file, out = tmp_path / "mypolicy.py", tmp_path / "run"
    file.write_text(BEST_FIT)
    options = ("--policy", f"{file}:Mine", "--jobs", "3", "--time-scale", "8", *ANYWAY, "--dilation", "1")
    standing_testbed.succeed("campaign", "run", "first", *options, "--out", str(out))
    records = read_run(out)
    assert [job.state for job in records.jobs] == ["finished"] * 3
    assert records.manifest.policy == "mypolicy.py:Mine"
    assert records.manifest.workload["sources"] == {"mypolicy.py": BEST_FIT}
    file.unlink()
    assert replayed_decisions(standing_testbed, out) >= 2 * 3


def test_the_same_directory_is_not_written_twice(standing_testbed: CommandLine, campaign: str, tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").write_text("")
    refused = standing_testbed("campaign", "run", campaign, "--out", str(tmp_path / "run"))
    assert refused.exit_code == 1
    assert "is not empty" in refused.sentence


def test_an_unknown_policy_is_refused_and_nothing_is_held(standing_testbed: CommandLine, campaign: str, tmp_path: Path):
    out = tmp_path / "run"
    refused = standing_testbed("campaign", "run", campaign, "--policy", "nosuch", "--out", str(out))
    assert refused.exit_code == 1
    assert "'nosuch'" in refused.sentence
    assert not out.exists()
    assert standing_testbed("campaign", "stop").exit_code == 1


def test_a_killed_cluster_ends_the_campaign_and_keeps_what_had_finished(standing_testbed: CommandLine, tmp_path: Path):
    file, out = tmp_path / "long.yaml", tmp_path / "run"
    file.write_text(SMALL.replace("iterations: 60", "iterations: 100000").replace("name: small", "name: long"))
    victim = engine.connect().containers.get(f"{standing_testbed.name}-leiden")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            standing_testbed, "campaign", "run", str(file), "--dilation", "1", *ANYWAY, "--out", str(out)
        )
        try:
            await_text(out / "decisions.jsonl", '"kind":"started"')
            victim.kill()
            ended = running.result()
        finally:
            standing_testbed.succeed("up", "--topology", "mini")
    assert ended.exit_code == 1
    assert f"container {standing_testbed.name}-leiden does not run" in ended.sentence
    assert str(out) in ended.sentence
    assert read_run(out).manifest.verdict == "void"
