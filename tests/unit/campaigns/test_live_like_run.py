"""A live campaign like a recorded one, on a double of the broker: what an archived run needs to be run once more."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.campaigns.live import run_campaign
from emulator.campaigns.live_like_run import RecordedRun, recorded_run
from emulator.campaigns.run_again import rerun_campaign
from emulator.model.errors import ImpossibleRequest, InvalidInput, RunFailed
from emulator.model.project import PROJECT_ROOT, TOPOLOGIES
from emulator.model.records import SCHEDULE_FILE, Manifest, RunKind, RunProgress
from emulator.model.views import EventKind
from emulator.runs.run_directory import read_manifest, replace_manifest
from emulator.runs.same_campaign import campaign_of, scheduling_of
from workloads.campaign import campaign_named
from workloads.custom_sources import carrying_sources
from workloads.schedule import read_schedule, schedule, write_schedule

pytestmark = pytest.mark.usefixtures("submitted_by_a_thread")

CAMPAIGN = campaign_named("first").changed(jobs=3, dilation=0.01)
OWN_POLICY = PROJECT_ROOT / "examples" / "policies" / "one_cluster_first.py"


def silent(progress) -> None:
    """Take note of nothing."""


def run(testbed, path: Path, campaign=CAMPAIGN) -> Path:
    return run_campaign(testbed, campaign, seed=7, path=path, report_progress=silent)


def run_like(testbed, recorded: RecordedRun, path: Path) -> Manifest:
    """Run what was recorded once more; the manifest of the new run."""
    like = recorded.schedule_on(testbed)
    run_campaign(testbed, recorded.campaign, seed=recorded.seed, path=path, report_progress=silent, like=like)
    return read_manifest(path)


def changed_last(path: Path, **changes: object) -> None:
    """Change the specification of the last job in the schedule of a run."""
    *others, last = read_schedule(path / SCHEDULE_FILE)
    specification = last.specification.model_copy(update=changes)
    write_schedule([*others, last.model_copy(update={"specification": specification})], path / SCHEDULE_FILE)


@pytest.fixture
def first(testbed, tmp_path) -> Path:
    """Return the directory of a run of three jobs."""
    return run(testbed, tmp_path / "first")


def test_a_run_like_another_submits_its_jobs_and_is_a_run_of_its_campaign(testbed, broker, first, tmp_path):
    before, again = read_manifest(first), run_like(testbed, recorded_run(first), tmp_path / "again")
    assert (tmp_path / "again" / SCHEDULE_FILE).read_bytes() == (first / SCHEDULE_FILE).read_bytes()
    submitted = [[job.specification for job in broker.jobs.values() if job.run == number] for number in (1, 2)]
    assert submitted[0] == submitted[1]
    assert len(submitted[0]) == 3
    assert (again.like, before.like) == ("first", None)
    assert (again.seed, again.dilation) == (7, 0.01)
    assert again.workload == before.workload
    assert campaign_of(again) == campaign_of(before)
    assert scheduling_of(again) == scheduling_of(before)


def test_the_recorded_schedule_counts_and_not_what_the_seed_draws_today(testbed, first, tmp_path):
    changed_last(first, name="renamed")
    run_like(testbed, recorded_run(first), tmp_path / "again")
    found = read_schedule(tmp_path / "again" / SCHEDULE_FILE)
    drawn = schedule(CAMPAIGN, 7)
    assert [arrival.specification.name for arrival in found[:-1]] == [each.specification.name for each in drawn[:-1]]
    assert found[-1].specification.name == "renamed"


def test_neither_the_file_of_the_policy_nor_that_of_the_topology_is_needed(testbed, broker, tmp_path):
    policy, topology = tmp_path / "mine.py", tmp_path / "ours.yaml"
    shutil.copy(OWN_POLICY, policy)
    shutil.copy(TOPOLOGIES / "mini.yaml", topology)
    stated = CAMPAIGN.changed(policy=f"{policy}:OneClusterFirst", topology=str(topology))
    first = run(testbed, tmp_path / "first", carrying_sources(stated))
    policy.unlink()
    topology.unlink()
    recorded = recorded_run(first)
    assert recorded.sources == ["mine.py"]
    run_like(testbed, recorded, tmp_path / "again")
    requests = [each.request for each in broker.runs]
    assert requests[0] == requests[1]
    assert set(requests[1].sources) == {"mine.py"}


def test_a_campaign_that_ended_early_can_be_run_whole(testbed, broker, tmp_path):
    finishes = broker.on_submit
    broker.on_submit = lambda job: broker.append(EventKind.POLICY_FAILED, job.submitted_s, reason="mine.py failed.")
    with pytest.raises(RunFailed):
        run(testbed, tmp_path / "first")
    broker.on_submit = finishes
    assert run_like(testbed, recorded_run(tmp_path / "first"), tmp_path / "again").jobs == 3


def test_a_run_like_another_that_was_interrupted_has_its_jobs_when_it_runs_once_more(testbed, tmp_path):
    topology = tmp_path / "ours.yaml"
    shutil.copy(TOPOLOGIES / "mini.yaml", topology)
    first = run(testbed, tmp_path / "first", CAMPAIGN.changed(topology=str(topology)))
    topology.unlink()
    changed_last(first, name="renamed")
    again = tmp_path / "again"
    begun = run_like(testbed, recorded_run(first), again)
    replace_manifest(again, begun.model_copy(update={"progress": RunProgress.INCOMPLETE}))
    before = (again / SCHEDULE_FILE).read_bytes()
    shutil.rmtree(first)
    assert rerun_campaign(testbed, again, silent) == again
    assert (again / SCHEDULE_FILE).read_bytes() == before
    assert (read_manifest(again).like, read_manifest(again).progress) == ("first", RunProgress.COMPLETE)
    assert read_schedule(tmp_path / "again-interrupted" / SCHEDULE_FILE)[-1].specification.name == "renamed"


def test_a_testbed_with_another_system_is_refused_and_one_with_other_words_about_it_is_not(testbed, broker, first):
    recorded, topology = recorded_run(first), testbed.topology
    other = replace(testbed, topology=topology.model_copy(update={"middleware": None}))
    with pytest.raises(InvalidInput, match=r"first: ran on topology 'mini' as it then was, .*--format topology"):
        recorded.schedule_on(other)
    described = replace(testbed, topology=topology.model_copy(update={"description": "in other words"}))
    assert len(recorded.schedule_on(described).arrivals) == 3
    assert len(broker.runs) == 1


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"components": (17,)}, ImpossibleRequest, "component of 17 processors, but the largest cluster"),
        ({"file": "first-file-3"}, InvalidInput, r"line 3: file: its campaign has no file 'first-file-3'"),
        ({"application": "quake"}, InvalidInput, "no application 'quake'"),
    ],
)
def test_a_job_that_is_impossible_here_is_said_beforehand(testbed, broker, first, changes, error, said):
    changed_last(first, **changes)
    with pytest.raises(error, match=said):
        recorded_run(first).schedule_on(testbed)
    assert len(broker.runs) == 1


def test_what_is_no_live_campaign_is_refused(first, tmp_path):
    with pytest.raises(InvalidInput, match=r"nowhere: is no run's directory"):
        recorded_run(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match=r"is a folder of runs: name one of them, such as .*/first\."):
        recorded_run(tmp_path)
    replace_manifest(first, read_manifest(first).model_copy(update={"kind": RunKind.SIMULATION}))
    with pytest.raises(InvalidInput, match=r"first: is a simulation; only a live campaign can be run again"):
        recorded_run(first)


def test_a_schedule_that_is_not_of_the_run_is_refused(first):
    write_schedule(read_schedule(first / SCHEDULE_FILE)[:-1], first / SCHEDULE_FILE)
    with pytest.raises(InvalidInput, match=r"schedule\.jsonl: holds 2 jobs, but the run had 3"):
        recorded_run(first)
