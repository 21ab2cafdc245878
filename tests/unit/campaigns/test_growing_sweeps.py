"""Live sweeps that grow, and what of them runs once more, on a double of the broker: all on one system."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.campaigns.live import run_campaign
from emulator.campaigns.live_sweep import RunState, begin_sweep, joined_sweep, read_sweep, run_sweep, sweep_of
from emulator.campaigns.live_sweep_process import own_process
from emulator.campaigns.run_again import moved_aside, rerun_campaign
from emulator.model.errors import InvalidInput, TestbedBusy
from emulator.model.project import CAMPAIGNS
from emulator.model.views import RunRequest
from emulator.runs.run_directory import read_manifest, replace_manifest
from tests.unit.workloads.seed_lists import campaign_with_a_list, write_list
from workloads.campaign import Campaign, campaign_named

pytestmark = pytest.mark.usefixtures("submitted_by_a_thread")

CAMPAIGN = campaign_named("first").changed(jobs=3, dilation=0.01)


def silent(progress) -> None:
    """Take note of nothing."""


def folders(path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir())


def other_delays(testbed):
    """The testbed with a topology of the same name whose delays are twice as long."""
    links = tuple(link.stretched(2.0) for link in testbed.topology.links)
    return replace(testbed, topology=testbed.topology.model_copy(update={"links": links}))


def judged(path: Path, verdict: str) -> None:
    """Replace the verdict on a run, which depends on how busy this host is."""
    replace_manifest(path, read_manifest(path).model_copy(update={"verdict": verdict}))


def test_a_sweep_grows_by_policies_and_seeds_and_only_what_is_new_runs(testbed, broker, tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1, 2]))
    run_campaign(testbed, CAMPAIGN.changed(dilation=0.02), seed=1, path=path / "wf-1", report_progress=silent)
    run_sweep(testbed, path, sweep, silent)
    before = {name: read_manifest(path / name) for name in folders(path)}
    wider = sweep_of(CAMPAIGN, ["cm", "wf"], [1, 2, 3])
    grown = begin_sweep(path, wider)
    assert grown == read_sweep(path)
    assert (grown.runs, grown.dilation) == (wider.runs, 0.02)
    assert len(broker.runs) == 2
    found = run_sweep(testbed, path, grown, silent)
    assert {each.state for each in found} == {RunState.COMPLETE}
    assert [(run.request.policy, run.request.seed) for run in broker.runs[2:]] == [
        ("cm", 1), ("cm", 2), ("cm", 3), ("wf", 3)
    ]  # fmt: skip
    assert {read_manifest(each.path).dilation for each in found} == {0.02}
    assert {name: read_manifest(path / name) for name in before} == before


@pytest.mark.parametrize(
    ("campaign", "policies", "seeds", "said"),
    [
        (CAMPAIGN, ["wf", "cm"], [1], r"its run wf-2 is not among those of this one"),
        (CAMPAIGN.changed(jobs=4), ["wf", "cm"], [1, 2], r"its run wf-1 is stated otherwise here"),
    ],
)
def test_a_sweep_that_lacks_a_run_of_the_folder_or_states_it_otherwise_is_another(
    tmp_path, campaign, policies, seeds, said
):
    begin_sweep(tmp_path, sweep_of(CAMPAIGN, ["wf"], [1, 2]))
    with pytest.raises(InvalidInput, match=said):
        joined_sweep(tmp_path, sweep_of(campaign, policies, seeds))
    assert len(read_sweep(tmp_path).runs) == 2


def test_a_sweep_does_not_grow_while_a_process_runs_it(tmp_path):
    begin_sweep(tmp_path, sweep_of(CAMPAIGN, ["wf"], [1]))
    with own_process(tmp_path), pytest.raises(TestbedBusy, match="runs this sweep already"):
        begin_sweep(tmp_path, sweep_of(CAMPAIGN, ["wf"], [1, 2]))
    assert len(read_sweep(tmp_path).runs) == 1


def test_a_file_of_a_sweep_that_an_older_version_wrote_is_read_and_may_grow(tmp_path):
    file, sweep = tmp_path / "sweep.json", sweep_of(CAMPAIGN, ["wf"], [1])
    stated = CAMPAIGN.model_dump(mode="json", exclude_unset=True)
    runs = [{"folder": "wf-1", "campaign": {**stated, "policy": "wf"}, "seed": 1}]
    file.write_text(json.dumps({"runs": runs, "dilation": 4.0}))
    assert read_sweep(tmp_path).runs == sweep.runs
    grown = begin_sweep(tmp_path, sweep_of(CAMPAIGN, ["wf"], [1, 2]))
    assert (len(grown.runs), grown.dilation, grown.repeat_void) == (2, 4.0, 0)


def with_a_log(folder: Path) -> Campaign:
    """Return a campaign whose local jobs are those of a log."""
    (folder / "log.swf").write_text("1 0 -1 60 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
    first, file = (CAMPAIGNS / "first.yaml").read_text(), folder / "mine.yaml"
    file.write_text(f"{first}background: {{band: [0.25, 0.5], local_jobs: log.swf}}\n")
    return campaign_named(str(file))


def with_a_spaced_list(folder: Path) -> Campaign:
    """Return a campaign whose jobs are those of a list, twice as far apart."""
    write_list(folder / "jobs.jsonl", jobs=4)
    return campaign_named(str(campaign_with_a_list(folder))).spaced(2.0)


@pytest.mark.parametrize(
    ("campaign_in", "part", "key"),
    [(with_a_log, "background", "log_digest"), (with_a_spaced_list, "job_list", "interarrival_factor")],
)
def test_what_an_older_version_did_not_note_makes_no_other_sweep(tmp_path, campaign_in, part, key):
    campaign, path = campaign_in(tmp_path), tmp_path / "sweep"
    begin_sweep(path, sweep_of(campaign, ["wf"], [1]))
    file = path / "sweep.json"
    stored = json.loads(file.read_text())
    assert stored["runs"][0]["campaign"][part].pop(key) is not None
    file.write_text(json.dumps(stored))
    before = read_sweep(path)
    grown = begin_sweep(path, sweep_of(campaign, ["cm", "wf"], [1, 2]))
    assert [run.folder for run in grown.runs] == ["cm-1", "wf-1", "cm-2", "wf-2"]
    assert grown.runs[1] == before.runs[0]
    assert {getattr(getattr(run.campaign, part), key) for run in grown.runs} == {None}
    assert read_sweep(path) == grown
    with pytest.raises(InvalidInput, match=r"its run cm-1 is stated otherwise here"):
        joined_sweep(path, sweep_of(campaign.changed(jobs=2), ["cm", "wf"], [1, 2]))


def test_the_first_queue_has_no_part_in_the_names_of_folders_so_that_one_queue_can_become_two(tmp_path):
    one = sweep_of(CAMPAIGN, ["wf", "cm"], [1], queues=["gs"])
    two = sweep_of(CAMPAIGN, ["wf", "cm"], [1], queues=["gs", "LS-DO"])
    assert [(run.folder, run.campaign.policy, run.campaign.queue) for run in two.runs] == [
        ("wf-1", "wf", "gs"), ("cm-1", "cm", "gs"), ("wf-ls-do-1", "wf", "ls-do"), ("cm-ls-do-1", "cm", "ls-do")
    ]  # fmt: skip
    begin_sweep(tmp_path, one)
    assert begin_sweep(tmp_path, two).runs == two.runs


def test_each_queue_has_its_own_policy_if_none_is_named(tmp_path):
    runs = sweep_of(CAMPAIGN, [], [1], queues=["placement", "gs"]).runs
    assert [(run.folder, run.campaign.policy) for run in runs] == [("wf-1", "wf"), ("wf-distinct-gs-1", "wf-distinct")]
    with pytest.raises(InvalidInput, match="--queue: gs, gs names one twice"):
        sweep_of(CAMPAIGN, [], [1], queues=["gs", "GS"])


def test_a_void_run_of_a_sweep_is_moved_aside_and_runs_once_more_if_that_is_asked_for(testbed, broker, tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(CAMPAIGN, ["wf", "cm"], [1], dilation=0.01))
    run_sweep(testbed, path, sweep, silent)
    judged(path / "wf-1", "void")
    judged(path / "cm-1", "valid")
    assert len(run_sweep(testbed, path, sweep, silent)) == len(broker.runs) == 2
    kept = read_manifest(path / "wf-1")
    found = run_sweep(testbed, path, sweep, silent, void_again=True)
    assert [run.request.policy for run in broker.runs] == ["wf", "cm", "wf"]
    assert folders(path) == ["cm-1", "wf-1", "wf-1-void"]
    assert read_manifest(path / "wf-1-void") == kept
    assert (found[0].path, found[0].verdict) == (path / "wf-1", read_manifest(path / "wf-1").verdict)


def test_a_void_run_stays_in_its_place_if_none_can_begin_there(testbed, broker, tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1], dilation=0.01))
    run_sweep(testbed, path, sweep, silent)
    judged(path / "wf-1", "void")
    testbed.client.take_run(RunRequest(name="another"))
    with pytest.raises(TestbedBusy, match="another"):
        run_sweep(testbed, path, sweep, silent, void_again=True)
    assert folders(path) == ["wf-1"]


def test_repetitions_of_before_stay_aside_when_a_run_has_begun_in_their_place(testbed, broker, tmp_path):
    paths = [tmp_path / "wf-1", tmp_path / "wf-1-2"]
    for path in paths:
        run_campaign(testbed, CAMPAIGN, seed=1, path=path, report_progress=silent)
        judged(path, "void")
    with moved_aside({path: read_manifest(path) for path in paths}):
        pass
    assert folders(tmp_path) == ["wf-1", "wf-1-2"]
    with moved_aside({path: read_manifest(path) for path in paths}):
        paths[0].mkdir()
    assert folders(tmp_path) == ["wf-1", "wf-1-2-void", "wf-1-void"]


def test_a_void_campaign_runs_once_more_if_that_is_asked_for(testbed, broker, tmp_path):
    path = run_campaign(testbed, CAMPAIGN, seed=5, path=tmp_path / "run", report_progress=silent)
    judged(path, "void")
    with pytest.raises(InvalidInput, match=r"is complete, nothing is left to run; it is void, .* --void` runs it once"):
        rerun_campaign(testbed, path, silent)
    assert rerun_campaign(testbed, path, silent, void_again=True) == path
    assert folders(tmp_path) == ["run", "run-void"]
    assert read_manifest(path).seed == read_manifest(tmp_path / "run-void").seed == 5
    judged(path, "valid")
    with pytest.raises(InvalidInput, match=r"nothing is left to run \(`testbed report"):
        rerun_campaign(testbed, path, silent, void_again=True)


def test_the_rest_of_a_sweep_does_not_run_on_other_links_of_the_same_name(testbed, broker, tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1], dilation=0.01))
    run_sweep(testbed, path, sweep, silent)
    grown, other = begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1, 2], dilation=0.01)), other_delays(testbed)
    with pytest.raises(InvalidInput, match=r"/wf-1: ran on topology 'mini' as it then was, which is not what runs"):
        run_sweep(other, path, grown, silent)
    assert len(broker.runs) == 1
    assert folders(path) == ["wf-1"]
    run_sweep(testbed, path, grown, silent)
    assert len(run_sweep(other, path, grown, silent)) == 2  # nothing was left to run
    assert len(broker.runs) == 2


def test_a_sweep_may_go_on_from_another_host_that_carries_the_same_system(testbed, broker, tmp_path):
    path = tmp_path / "sweep"
    begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1], dilation=0.01))
    run_sweep(testbed, path, read_sweep(path), silent)
    grown = begin_sweep(path, sweep_of(CAMPAIGN, ["wf"], [1, 2], dilation=0.01))
    described = testbed.topology.model_copy(update={"description": "The same, said otherwise."})
    assert len(run_sweep(replace(testbed, topology=described), path, grown, silent)) == len(broker.runs) == 2
