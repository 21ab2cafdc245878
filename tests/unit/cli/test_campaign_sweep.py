"""Seeds as people write them, and verbs of campaigns where no testbed runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.campaigns.live_sweep import begin_sweep, read_sweep, sweep_of
from emulator.cli.campaign_sweep import parse_seeds
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.records import Manifest, RunKind, RunProgress
from emulator.runs.run_directory import RunDirectory
from tests.unit.workloads.seed_lists import campaign_with_a_list, campaign_with_lists, write_list
from workloads.campaign import campaign_named


@pytest.mark.parametrize(
    ("text", "seeds"), [("1-3", (1, 2, 3)), ("7", (7,)), ("1,5, 8-9", (1, 5, 8, 9)), ("0-0", (0,))]
)
def test_seeds_are_numbers_and_ranges(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3-1", "3-1 goes backwards; write 1-3"),
        ("", "must be whole numbers"),
        ("1,,2", "must be whole numbers"),
        ("a-b", "must be whole numbers"),
        ("-4", "must be whole numbers"),
        ("1-", "must be whole numbers"),
        ("1-100000000000", "at most 1000 seeds"),
        ("0-600,1000-1600", "at most 1000 seeds"),
    ],
)
def test_what_is_no_list_of_seeds_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        parse_seeds(text)


def test_the_status_of_a_sweep_shows_what_waits(call, tmp_path) -> None:
    begin_sweep(tmp_path / "s", sweep_of(campaign_named("W30"), ["wf", "cf"], [1, 2]))
    code, output, _ = call("campaign", "status", str(tmp_path / "s"), "--follow")
    assert code == 0
    for name in ("wf-1", "wf-2", "cf-1", "cf-2"):
        assert name in output
    assert output.count("waiting") == 4
    assert "0 of 200" in output


def test_a_sweep_says_beforehand_that_its_seeds_draw_nothing(call, tmp_path) -> None:
    write_list(tmp_path / "jobs.jsonl", jobs=3)
    path = str(campaign_with_a_list(tmp_path))
    code, _, error = call("campaign", "sweep", path, "--seeds", "1-2")
    assert code != 0
    assert "Nothing in mine depends on the seed" in error
    assert "depends on the seed" not in call("campaign", "sweep", path, "--seeds", "1")[2]
    campaign_with_lists(tmp_path, (1, 2))
    assert "on the seed" not in call("campaign", "sweep", path, "--seeds", "1-2")[2]
    assert "jobs-3.jsonl: cannot be read" in call("campaign", "sweep", path, "--seeds", "1-3")[2]


def _begun(path: Path, *, killed: bool, kind: RunKind = RunKind.CAMPAIGN) -> RunDirectory:
    """Begin a run in `path`; if it was killed, its lock is gone and its manifest says that it runs."""
    manifest = Manifest(
        kind=kind, name="first", verdict="void", topology=topology_named("mini"), workload={}, jobs=3,
        policy="wf", queue="placement", seed=1, dilation=2, paced_middleware=True, host_began_at="", host={},
        versions={},
    )  # fmt: skip
    directory = RunDirectory(path, manifest)
    if killed:
        with directory:
            return directory
    return directory


@pytest.mark.parametrize("of_a_sweep", [False, True])
def test_the_status_of_a_campaign_whose_process_was_killed_ends_and_says_so(call, tmp_path, of_a_sweep) -> None:
    folder = tmp_path / "s"
    begin_sweep(folder, sweep_of(campaign_named("first"), ["wf"], [1]))
    _begun(folder / read_sweep(folder).runs[0].folder, killed=True)
    shown = folder if of_a_sweep else folder / "wf-1"
    code, output, error = call("campaign", "status", str(shown), "--follow", "--json")
    assert code == 0
    assert '"interrupted"' in output
    assert f"No process runs {shown}, and it is not complete" in error
    assert len(error.splitlines()) == 1


def test_the_status_of_a_campaign_that_runs_says_nothing_of_its_process(call, tmp_path) -> None:
    with _begun(tmp_path / "run", killed=False):
        _, output, error = call("campaign", "status", "run")
    assert "running" in output
    assert error == ""


def test_the_status_of_a_void_run_says_how_it_can_run_once_more(call, tmp_path) -> None:
    with _begun(tmp_path / "run", killed=False) as directory:
        directory.update_manifest({"progress": RunProgress.COMPLETE})
    _, output, error = call("campaign", "status", "run")
    assert "void" in output
    assert "`testbed campaign resume run --void`" in error


@pytest.mark.parametrize("kind", [RunKind.MEASUREMENT, RunKind.SIMULATION])
def test_the_status_of_what_campaign_resume_refuses_does_not_advise_it(call, tmp_path, kind) -> None:
    with _begun(tmp_path / "run", killed=False, kind=kind) as directory:
        directory.update_manifest({"progress": RunProgress.COMPLETE})
    _, output, error = call("campaign", "status", "run")
    assert "void" in output
    assert error == ""


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        (RunKind.CAMPAIGN, "`testbed campaign resume run` runs what is left"),
        (RunKind.MEASUREMENT, "`testbed measure --resume run` runs what is left"),
        (RunKind.SIMULATION, "no simulation goes on: remove it, and give the command that made it again"),
    ],
)
def test_the_status_of_what_was_interrupted_advises_the_command_that_takes_it(call, tmp_path, kind, advice) -> None:
    _begun(tmp_path / "run", killed=True, kind=kind)
    _, output, error = call("campaign", "status", "run", "--json")
    assert "interrupted" in output
    assert f"No process runs run, and it is not complete ({advice}" in error
    assert ("campaign resume" in error) is (kind is RunKind.CAMPAIGN)
    assert len(error.splitlines()) == 1


def test_a_folder_with_other_runs_is_refused_and_one_that_may_grow_stays_as_it_is_without_a_testbed(
    call, tmp_path
) -> None:
    begun = begin_sweep(tmp_path / "s", sweep_of(campaign_named("first"), ["wf"], [1]))
    _, _, error = call("campaign", "sweep", "first", "--policy", "cm", "--out", "s")
    assert "s: holds another sweep of first: its run wf-1 is not among those of this one; `testbed campaign" in error
    _, _, error = call("campaign", "sweep", "first", "--policy", "wf,cm", "--seeds", "1-3", "--out", "s")
    assert "No testbed called" in error
    assert read_sweep(tmp_path / "s").runs == begun.runs


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("status", "nowhere"), "nowhere: is no run's directory"),
        (("resume", "nowhere", "--detach"), "--detach: nowhere is no sweep's folder"),
        (("sweep", "W1", "--seeds", "2-1"), "--seeds: 2-1 goes backwards"),
        (("sweep", "W1", "--policy", "wf,fcm,wf"), "--policy: wf, fcm, wf names one twice"),
        (("sweep", "SIT", "--queue", "gs", "--policy", "3dbf-light"), "queue: the composition '3dbf-light' has one"),
        (("sweep", "W1", "--queue", "gs,ls-do,GS"), "--queue: gs, ls-do, gs names one twice"),
        (("sweep", "W99"), "W99"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(call, arguments: tuple[str, ...], said: str) -> None:
    code, output, error = call("campaign", *arguments)
    assert code != 0
    assert output == ""
    assert said in error.replace("\n", " ")
    assert "Traceback" not in error
