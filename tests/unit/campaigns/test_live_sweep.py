"""Live sweeps on a double of the broker: one folder, resumable, and what was interrupted is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.campaigns.live import run_campaign
from emulator.campaigns.live_sweep import (
    RunState,
    begin_sweep,
    read_sweep,
    run_sweep,
    statuses,
    sweep_of,
)
from emulator.campaigns.run_again import rerun_campaign
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput, RunFailed, TestbedBusy
from emulator.model.process_lock import ProcessLock
from emulator.model.project import CAMPAIGNS
from emulator.model.records import MANIFEST_FILE
from emulator.model.views import EventKind, RunRequest
from emulator.runs.run_directory import WRITING, read_manifest, read_run, replace_manifest
from tests.unit.scripted_users import ScriptedUsers
from workloads.campaign import campaign_named, recorded_campaign, shipped_campaigns
from workloads.local_jobs import digest_of_log

pytestmark = pytest.mark.usefixtures("submitted_by_a_thread")

CAMPAIGN = campaign_named("first").changed(jobs=3, dilation=0.01)


def silent(progress) -> None:
    """Take note of nothing."""


def folders(path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir())


def fails_after(broker, jobs: int):
    """Have the broker lose its policy once so many jobs have been submitted."""
    seen: list[int] = []

    def submit(job) -> None:
        seen.append(job.id)
        if len(seen) > jobs:
            broker.append(EventKind.POLICY_FAILED, job.submitted_s, reason="mine.py:Mine: place raised KeyError: 7.")
        else:
            broker.finish(job)

    return submit


def test_a_sweep_runs_each_policy_with_each_seed_in_folders_of_one_folder(testbed, broker, tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(CAMPAIGN, ["wf", "cm"], [2], dilation=0.01))
    found = run_sweep(testbed, path, sweep, silent)
    assert folders(path) == ["cm-2", "wf-2"]
    assert {each.state for each in found} == {RunState.COMPLETE}
    manifests = [read_manifest(path / name) for name in folders(path)]
    assert [(each.policy, each.seed) for each in manifests] == [("cm", 2), ("wf", 2)]
    assert {each.dilation for each in manifests} == {0.01}
    assert [run.request.policy for run in broker.runs] == ["wf", "cm"]
    assert not (path / "sweep.pid").exists()


def test_the_policies_of_a_sweep_take_turns_with_each_seed():
    runs = sweep_of(CAMPAIGN, ["wf", "cm"], [1, 2]).runs
    assert [(run.campaign.policy, run.seed) for run in runs] == [("wf", 1), ("cm", 1), ("wf", 2), ("cm", 2)]


def test_the_repeats_of_a_run_have_folders_of_their_own():
    runs = sweep_of(CAMPAIGN, ["wf", "cm"], [4], repeats=3).runs
    assert [run.folder for run in runs[:4]] == ["wf-4", "wf-4-repeat-2", "wf-4-repeat-3", "cm-4"]
    assert {run.seed for run in runs} == {4}


def test_an_interrupted_sweep_runs_what_is_left_and_keeps_what_was_interrupted(testbed, broker, tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(CAMPAIGN, ["wf", "cm"], [1], dilation=0.01))
    finishes, broker.on_submit = broker.on_submit, fails_after(broker, 4)
    with pytest.raises(RunFailed, match="KeyError"):
        run_sweep(testbed, path, sweep, silent)
    complete, interrupted = statuses(path, sweep)
    assert (complete.state, complete.ended) == (RunState.COMPLETE, 3)
    assert complete.verdict == read_manifest(path / "wf-1").verdict
    assert (interrupted.state, interrupted.verdict) == (RunState.INTERRUPTED, "")
    broker.on_submit = finishes
    begun = read_manifest(path / "wf-1")
    assert {each.state for each in run_sweep(testbed, path, read_sweep(path), silent)} == {RunState.COMPLETE}
    assert folders(path) == ["cm-1", "cm-1-interrupted", "wf-1"]
    assert read_manifest(path / "wf-1") == begun


def test_a_sweep_takes_its_dilation_from_a_complete_run_if_it_was_killed_before_noting_it(testbed, tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(CAMPAIGN, ["wf", "cm"], [2]))
    run_campaign(testbed, CAMPAIGN.changed(dilation=0.02), seed=2, path=path / "wf-2", report_progress=silent)
    found = run_sweep(testbed, path, sweep, silent)
    assert [read_manifest(each.path).dilation for each in found] == [0.02, 0.02]
    assert read_sweep(path).dilation == 0.02


def test_a_sweep_of_a_campaign_with_choices_reads_back_equal(tmp_path):
    sweep = sweep_of(campaign_named("W1"), ["wf", "fcm"], [1, 3])
    assert begin_sweep(tmp_path / "sweep", sweep) == sweep
    again = begin_sweep(tmp_path / "sweep", sweep)
    assert again.runs == sweep.runs
    assert [run.campaign.states_dilation for run in again.runs] == [False] * 4


@pytest.mark.parametrize("name", sorted(shipped_campaigns()))
def test_a_campaign_is_read_back_from_what_a_manifest_records(name):
    campaign = campaign_named(name).changed(dilation=2, jobs=7)
    record = json.loads(json.dumps(campaign.model_dump(mode="json")))
    assert recorded_campaign(record, source="here").model_dump(mode="json") == record


def test_a_folder_of_another_sweep_or_of_something_else_is_refused(tmp_path):
    path = tmp_path / "sweep"
    begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1]))
    with pytest.raises(InvalidInput, match=r"holds another sweep of first: .* another --out begins this one"):
        begin_sweep(path, sweep_of(campaign_named("W1"), ["wf"], [1]))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").touch()
    with pytest.raises(InvalidInput, match="is no sweep, and not empty"):
        begin_sweep(tmp_path / "other", sweep_of(CAMPAIGN, ["wf"], [1]))
    with pytest.raises(InvalidInput, match="is no sweep's folder"):
        read_sweep(tmp_path / "other")


@pytest.mark.parametrize(
    ("policies", "seeds", "said"),
    [
        (["wf", "wf"], [1], "--policy: wf, wf names one twice"),
        (["wf", "WF"], [1], "--policy: wf, wf names one twice"),
        (["wf"], [1, 1], "--seeds: 1, 1 names one twice"),
        (["wf"], [], "--seeds: at least one is needed"),
    ],
)
def test_a_policy_or_a_seed_twice_or_no_seed_is_refused(policies, seeds, said):
    with pytest.raises(InvalidInput, match=said):
        sweep_of(CAMPAIGN, policies, seeds)


def test_a_run_has_as_many_jobs_as_were_admitted(testbed, broker, tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(CAMPAIGN, ["wf", "cm"], [1], dilation=0.01))
    (tmp_path / "one").mkdir()
    run_sweep(testbed, tmp_path / "one", sweep_of(CAMPAIGN, ["wf"], [1], dilation=0.01), silent)
    (tmp_path / "one" / "wf-1").rename(path / "wf-1")
    replace_manifest(path / "wf-1", read_manifest(path / "wf-1").model_copy(update={"jobs": 2}))
    assert [each.jobs for each in statuses(path, sweep)] == [2, 3]


def test_a_file_of_a_sweep_that_is_no_text_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "sweep.json").write_bytes(b'{"runs": "\xff')
    with pytest.raises(InvalidInput, match=r"sweep\.json: ") as refused:
        read_sweep(tmp_path)
    assert "\n" not in str(refused.value)


def test_nothing_begins_if_one_of_the_runs_is_impossible(testbed, broker, tmp_path):
    sweep = sweep_of(CAMPAIGN.changed(policy="wf", quota=0.4), ["wf"], [1])
    path = tmp_path / "sweep"
    begin_sweep(path, sweep)
    with pytest.raises(InvalidInput, match="quota"):
        run_sweep(testbed, path, sweep, silent)
    assert broker.runs == []


def test_an_interrupted_campaign_runs_again_with_its_seed_and_dilation(testbed, broker, tmp_path):
    path = tmp_path / "run"
    finishes, broker.on_submit = broker.on_submit, fails_after(broker, 1)
    with pytest.raises(RunFailed):
        run_campaign(testbed, CAMPAIGN, seed=5, path=path, report_progress=silent)
    broker.on_submit = finishes
    assert rerun_campaign(testbed, path, silent) == path
    again, before = read_run(path), read_run(tmp_path / "run-interrupted")
    assert (again.manifest.seed, again.manifest.dilation, len(again.jobs)) == (5, 0.01, 3)
    assert again.manifest.workload == before.manifest.workload
    with pytest.raises(InvalidInput, match="is complete, nothing is left to run"):
        rerun_campaign(testbed, path, silent)


def test_an_interrupted_campaign_runs_again_from_within_its_directory(testbed, broker, tmp_path, monkeypatch):
    path = tmp_path / "run"
    finishes, broker.on_submit = broker.on_submit, fails_after(broker, 1)
    with pytest.raises(RunFailed):
        run_campaign(testbed, CAMPAIGN, seed=5, path=path, report_progress=silent)
    broker.on_submit = finishes
    monkeypatch.chdir(path)
    assert rerun_campaign(testbed, Path(), silent) == path
    assert folders(tmp_path) == ["run", "run-interrupted"]
    assert len(read_run(path).jobs) == 3


def test_what_cannot_be_run_again_stays_as_it_is(testbed, broker, tmp_path):
    path = tmp_path / "run"
    broker.on_submit = fails_after(broker, 1)
    with pytest.raises(RunFailed):
        run_campaign(testbed, CAMPAIGN, seed=5, path=path, report_progress=silent)
    before = (path / MANIFEST_FILE).read_bytes()
    with pytest.raises(InvalidInput, match="ran on topology 'mini' as it then was"):
        rerun_campaign(replace(testbed, topology=topology_named("das2")), path, silent)
    testbed.client.take_run(RunRequest(name="another"))
    with pytest.raises(TestbedBusy, match="another"):
        rerun_campaign(testbed, path, silent)
    assert folders(tmp_path) == ["run"]
    assert (path / MANIFEST_FILE).read_bytes() == before
    with pytest.raises(InvalidInput, match="is no run's directory"):
        rerun_campaign(testbed, tmp_path / "nowhere", silent)


def test_a_campaign_that_another_process_still_writes_is_not_run_again(testbed, broker, tmp_path):
    path = tmp_path / "run"
    finishes, broker.on_submit = broker.on_submit, fails_after(broker, 1)
    with pytest.raises(RunFailed):
        run_campaign(testbed, CAMPAIGN, seed=5, path=path, report_progress=silent)
    broker.on_submit = finishes
    writing = ProcessLock(path / WRITING)
    with pytest.raises(TestbedBusy, match="/run: is being written by another process"):
        rerun_campaign(testbed, path, silent)
    assert folders(tmp_path) == ["run"]
    writing.release()
    assert rerun_campaign(testbed, path, silent) == path


def test_a_run_of_a_sweep_that_another_process_still_writes_is_not_moved_aside(testbed, broker, tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [2], dilation=0.01))
    broker.on_submit = fails_after(broker, 1)
    with pytest.raises(RunFailed):
        run_sweep(testbed, path, sweep, silent)
    writing = ProcessLock(path / "wf-2" / WRITING)
    with pytest.raises(TestbedBusy, match="/wf-2: is being written by another process"):
        run_sweep(testbed, path, sweep, silent)
    assert folders(path) == ["wf-2"]
    writing.release()


def test_a_sweep_that_goes_on_takes_what_is_said_of_hopeless_and_void_runs(tmp_path):
    path = tmp_path / "sweep"
    begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1]))
    begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1], even_if_hopeless=True))
    begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1], repeat_void=2))
    found = read_sweep(path)
    assert (found.even_if_hopeless, found.repeat_void) == (True, 2)
    with pytest.raises(InvalidInput, match="holds another sweep of first"):
        begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1], dilation=3.0))


def test_a_log_of_local_jobs_that_changes_between_two_runs_of_a_sweep_is_refused(testbed, broker, tmp_path):
    log, file = tmp_path / "log.swf", tmp_path / "mine.yaml"
    log.write_text("1 0 -1 60 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
    first = (CAMPAIGNS / "first.yaml").read_text()
    file.write_text(f"{first}background: {{band: [0.25, 0.5], local_jobs: log.swf}}\n")
    digest, path = digest_of_log(log), tmp_path / "sweep"
    users = ScriptedUsers({cluster.name: cluster.processors for cluster in testbed.topology.clusters})
    campaign = campaign_named(str(file)).changed(jobs=3, dilation=0.02)
    sweep = begin_sweep(path, sweep_of(campaign, ["wf", "cm"], [1], dilation=0.02))

    def submit(job) -> None:
        log.write_text(log.read_text().replace(" 60 ", " 90 "))
        broker.finish(job)

    broker.on_submit = submit
    with pytest.raises(InvalidInput, match=r"log\.swf: is another log of local jobs than the campaign's"):
        run_sweep(replace(testbed, local_users=users), path, sweep, silent)
    assert folders(path) == ["wf-1"]
    assert read_manifest(path / "wf-1").workload["background"]["log_digest"] == digest
    assert len(broker.runs) == 1
