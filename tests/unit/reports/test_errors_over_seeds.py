"""Folders of live runs beside their simulations: errors over seeds, repeats of a seed, and what is left out."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.records import JobRow, RunKind, RunProgress
from emulator.reports.comparison_tables import compared_runs_table, errors_table, folders_object
from emulator.reports.errors_over_seeds import ComparedFolders, compare_folders
from emulator.runs.run_directory import read_manifest, read_rows, replace_manifest, replace_rows
from tests.unit.reports.simulated_runs import simulated_run


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """Two seeds of one campaign."""
    for seed in (1, 2):
        simulated_run(tmp_path / "live" / f"wf-{seed}", jobs=6, seed=seed)
    return tmp_path / "live"


def stretched(run: Path, factor: float) -> None:
    """Let each job of a recorded run execute `factor` times as long."""
    rows = [
        row.model_copy(update={"execution_time_s": factor * (row.execution_time_s or 0.0)})
        for row in read_rows(run, JobRow)
    ]
    replace_rows(run, JobRow, rows)


def changed(run: Path, **changes: object) -> None:
    replace_manifest(run, read_manifest(run).model_copy(update=changes))


def simulations(live: Path, **factors: float) -> Path:
    """Copy all runs in `live`, each with the factor that is stated for it."""
    folder = live.with_name("simulated")
    copytree(live, folder)
    for name, factor in factors.items():
        stretched(folder / name.replace("_", "-"), factor)
    return folder


def execution(folders: ComparedFolders):
    (campaign,) = folders.campaigns
    return next(error for error in campaign.errors if (error.name, error.statistic) == ("execution", "mean"))


def test_simulations_that_repeat_their_runs_have_no_error(live):
    found = compare_folders(live, simulations(live))
    (campaign,) = found.campaigns
    assert (campaign.label, campaign.seeds, len(campaign.runs), found.left_out) == ("w1 wf", 2, 2, ())
    assert {(error.ratio.value, error.largest, error.spread) for error in campaign.errors if error.ratio} == {
        (1.0, 0.0, None)
    }


def test_the_error_is_that_of_the_means_over_seeds_with_its_interval(live):
    found = compare_folders(live, simulations(live, wf_1=1.1, wf_2=1.3))
    error = execution(found)
    first, second = (sum(row.execution_time_s for row in read_rows(live / f"wf-{seed}", JobRow)) / 6 for seed in (1, 2))
    assert error.live == pytest.approx((first + second) / 2)
    assert error.ratio.value == pytest.approx((1.1 * first + 1.3 * second) / (first + second))
    assert error.ratio.low < error.ratio.value < error.ratio.high
    assert error.largest == pytest.approx(0.3)
    row = next(row for row in errors_table(found.campaigns) if row["quantity"] == "execution mean")
    assert row["largest of a seed"] == "+30.00%"
    assert [row["execution mean"] for row in compared_runs_table(found.campaigns)] == ["+10.00%", "+30.00%"]
    (shown,) = folders_object(found)["campaigns"]
    (value,) = [one for one in shown["quantities"] if (one["quantity"], one["statistic"]) == ("execution", "mean")]
    assert value["error"] == pytest.approx(error.ratio.value - 1)


def test_repeats_of_a_seed_count_as_one_and_show_the_spread_of_live_runs(live):
    copytree(live / "wf-1", live / "wf-1-repeat-2")
    stretched(live / "wf-1-repeat-2", 1.5)
    simulated = simulations(live, wf_1=1.25, wf_1_repeat_2=1.25 / 1.5)
    found = compare_folders(live, simulated)
    assert (found.campaigns[0].seeds, len(found.campaigns[0].runs)) == (2, 3)
    error = execution(found)
    # Live the seed took 1 and 1.5 times as long, simulated both times 1.25: in the mean there is no error.
    assert error.spread == pytest.approx(0.5 / 1.25)
    assert error.ratio.value == pytest.approx(1.0)


def test_campaigns_and_policies_are_put_together_apart(live):
    simulated_run(live / "cm-1", jobs=6, policy="cm")
    simulated_run(live / "w2", "W2", jobs=6)
    found = compare_folders(live, simulations(live))
    assert {campaign.label: campaign.seeds for campaign in found.campaigns} == {"w1 cm": 1, "w2 wf": 1, "w1 wf": 2}
    assert all(error.ratio.low is None for error in found.campaigns[0].errors)


def test_one_policy_on_two_workloads_of_a_name_is_told_apart_by_its_first_run(live):
    simulated_run(live / "longer", jobs=6, seed=3, workload={"time_scale": 2})
    found = compare_folders(live, simulations(live))
    assert [campaign.label for campaign in found.campaigns] == ["w1 wf (longer)", "w1 wf (wf-1)"]


def test_runs_that_are_void_cut_short_or_simulated_are_left_out_with_the_reason(live):
    for name, changes in {
        "void": {"verdict": "void"},
        "short": {"progress": RunProgress.INCOMPLETE},
        "model": {"kind": RunKind.SIMULATION},
    }.items():
        copytree(live / "wf-1", live / name)
        changed(live / name, **changes)
    found = compare_folders(live, simulations(live))
    assert found.left_out == ("model (a simulation)", "short (cut short)", "void (void)")
    assert found.campaigns[0].seeds == 2
    for run in live.iterdir():
        changed(run, verdict="void")
    with pytest.raises(InvalidInput, match="has no live campaign that is whole and not void: model"):
        compare_folders(live, live.with_name("simulated"))


def test_a_run_without_a_simulation_is_named_with_the_remedy(live, tmp_path):
    with pytest.raises(InvalidInput, match=r"has no simulation 'wf-1' .*`testbed simulate --like .* --out FOLDER`"):
        compare_folders(live, tmp_path / "none")
