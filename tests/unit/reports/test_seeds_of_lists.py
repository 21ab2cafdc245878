"""Policies over seeds where the jobs stand in lists: a list for each seed is a sample, one list for all is one case."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import pytest
from typer.testing import CliRunner

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.cli.main import app
from emulator.model.records import JobRow, RunKind
from emulator.reports.comparison_tables import remarks
from emulator.reports.errors_over_seeds import compare_folders
from emulator.reports.policies_live_and_simulated import policies_on_both_sides
from emulator.reports.policies_over_seeds import ComparedPolicies, compared_policies
from emulator.runs.folders import runs_in
from emulator.runs.run_directory import read_manifest, read_rows, read_run, replace_manifest, replace_rows
from emulator.runs.same_campaign import campaign_of
from tests.unit.workloads.seed_lists import campaign_with_a_list, campaign_with_lists, write_list

SEEDS = (1, 2, 3)


def run_like(path: Path, campaign: Path, policy: str, seed: int, factor: float | None = None) -> Path:
    """Leave the record of a run that looks live, in which jobs execute longer by a factor of the host's."""
    simulate_workload(str(campaign), SimulationOptions(policy=policy, seed=seed, runtime=1.25), out=path)
    replace_manifest(path, read_manifest(path).model_copy(update={"kind": RunKind.CAMPAIGN}))
    noise = 1 + 0.01 * seed if factor is None else factor
    times = [(row, noise * (row.execution_time_s or 0.0)) for row in read_rows(path, JobRow)]
    replace_rows(path, JobRow, [row.model_copy(update={"execution_time_s": time_s}) for row, time_s in times])
    return path


def sweep(folder: Path, campaign: Path) -> Path:
    for seed in SEEDS:
        for policy in ("wf", "cm"):
            run_like(folder / f"{policy}-{seed}", campaign, policy, seed)
    return folder


def compared(folder: Path) -> ComparedPolicies:
    (found,) = compared_policies([read_run(run) for run in runs_in(folder)])
    return found


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """Make a sweep over two policies and three seeds, each of which has its own list."""
    return sweep(tmp_path / "runs", campaign_with_lists(tmp_path, SEEDS))


@pytest.fixture
def one_list(tmp_path: Path) -> Path:
    """Make such a sweep with one list for all seeds."""
    write_list(tmp_path / "jobs.jsonl", jobs=6)
    return sweep(tmp_path / "runs", campaign_with_a_list(tmp_path))


def test_a_list_for_each_seed_is_one_campaign_with_as_many_seeds(lists):
    assert len({read_manifest(run).jobs for run in runs_in(lists)}) == 3
    found = compared(lists)
    assert (found.policies, found.seeds, found.remark) == (("cm", "wf"), SEEDS, "")
    timed = [each.mean for each in found.quantities if each.name == "execution"]
    assert [(each.n, each.low is None) for each in timed] == [(3, False)] * 2


def test_a_seed_whose_list_has_changed_between_two_policies_does_not_count(lists):
    write_list(lists.parent / "jobs-2.jsonl", jobs=6, apart_s=5)
    run_like(lists.parent / "again", lists.parent / "mine.yaml", "cm", 2).rename(lists / "cm-2-again")
    assert compared(lists).seeds == SEEDS
    changed = read_run(lists / "cm-2-again")
    runs = [read_run(lists / name) for name in ("wf-1", "wf-2", "wf-3", "cm-1", "cm-3")]
    found = compared_policies([*runs, changed])
    assert [each.seeds for each in found] == [(1, 3)]


def test_other_arrivals_and_fewer_jobs_of_the_same_lists_are_other_campaigns(tmp_path):
    path = campaign_with_lists(tmp_path, SEEDS)
    chosen = {
        "all": SimulationOptions(runtime=1.25, seed=1),
        "dense": SimulationOptions(runtime=1.25, seed=1, interarrival_factor=0.5),
        "few": SimulationOptions(runtime=1.25, seed=1, jobs=3),
    }
    for name, options in chosen.items():
        simulate_workload(str(path), options, out=tmp_path / name)
    assert len({campaign_of(read_manifest(tmp_path / name)) for name in chosen}) == 3


def test_one_list_for_all_seeds_is_one_case_without_an_interval_and_a_sentence_says_so(one_list):
    found = compared(one_list)
    assert found.seeds == SEEDS
    assert {(each.mean.n, each.mean.low) for each in found.quantities} == {(1, None)}
    sentence = "Nothing in mine depends on the seed: its runs are repeats of one case (n = 1)"
    assert found.remark.startswith(sentence)
    shown = CliRunner().invoke(app, ["report", str(one_list)], env={"COLUMNS": "300"}).stdout
    assert sentence in shown
    *_, policies = json.loads(CliRunner().invoke(app, ["report", str(one_list), "--json"]).stdout)
    assert (policies["drawn_by_seed"], {row["n"] for row in policies["quantities"]}) == ([], {1})


def test_the_mean_of_repeats_is_that_of_all_seeds(one_list):
    execution = next(each for each in compared(one_list).quantities if each.name == "execution")
    of_seeds = [read_rows(one_list / f"cm-{seed}", JobRow) for seed in SEEDS]
    times_s = [row.execution_time_s or 0.0 for rows in of_seeds for row in rows]
    assert execution.mean.value == pytest.approx(sum(times_s) / len(times_s))


def test_seeds_that_draw_only_the_background_load_count_and_a_sentence_says_so(tmp_path):
    write_list(tmp_path / "jobs.jsonl", jobs=6)
    campaign = campaign_with_a_list(tmp_path, more="background: {band: [0.1, 0.3]}\n")
    found = compared(sweep(tmp_path / "runs", campaign))
    assert {each.mean.n for each in found.quantities if each.name == "execution"} == {3}
    assert found.remark == "The jobs of mine are the same with every seed, which draws only the background load."


def test_a_comparison_with_simulations_treats_seeds_alike(one_list, tmp_path):
    copytree(one_list, tmp_path / "simulated")
    folders = compare_folders(one_list, tmp_path / "simulated")
    (found,) = policies_on_both_sides(folders)
    assert {(each.live.n, each.live.low) for each in found.quantities} == {(1, None)}
    assert found.remark.startswith("Nothing in mine depends on the seed")
    (said,) = remarks(folders.campaigns)
    assert said.endswith("The intervals of its errors are over these repeats.")
    assert {campaign.seeds for campaign in folders.campaigns} == {3}


def test_lists_of_seeds_are_compared_with_simulations_as_one_campaign(lists, tmp_path):
    copytree(lists, tmp_path / "simulated")
    folders = compare_folders(lists, tmp_path / "simulated")
    (found,) = policies_on_both_sides(folders)
    assert (found.seeds, found.remark, remarks(folders.campaigns)) == (SEEDS, "", [])
