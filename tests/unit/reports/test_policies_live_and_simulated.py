"""Policies on both sides: one table of the same seeds and the same jobs, live and simulated."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path
from shutil import copytree

import pytest

from emulator.fidelity.intervals import Estimate, mean
from emulator.model.records import JobRow
from emulator.reports.comparison_tables import folders_object
from emulator.reports.errors_over_seeds import compare_folders
from emulator.reports.figures.compared_folders import figures_of_folders
from emulator.reports.figures.drawing import write_figures
from emulator.reports.policies_live_and_simulated import (
    PoliciesOnBothSides,
    PolicyOnBothSides,
    policies_on_both_sides,
)
from emulator.reports.policy_tables import sides_in_words, sides_table, sides_title
from emulator.runs.run_directory import read_manifest, read_rows, replace_manifest, replace_rows
from tests.unit.reports.simulated_runs import simulated_run

SEEDS = (1, 2, 3)
FACTORS = {"cm-1": 1.1, "cm-2": 1.2, "cm-3": 0.9, "wf-1": 1.3, "wf-2": 1.0, "wf-3": 1.1}
"""How many times as long jobs execute in the simulation of each run."""


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """W1 under two policies with three seeds, and beside it simulations whose jobs take other times."""
    folder = tmp_path / "live"
    for policy in ("cm", "wf"):
        for seed in SEEDS:
            simulated_run(folder / f"{policy}-{seed}", policy=policy, jobs=12, seed=seed, factor=1.3)
    copytree(folder, tmp_path / "simulated")
    for name, factor in FACTORS.items():
        stretched(tmp_path / "simulated" / name, factor)
    return folder


def stretched(run: Path, factor: float) -> None:
    """Let each job of a recorded run execute `factor` times as long."""
    rows = [
        row.model_copy(update={"execution_time_s": factor * (row.execution_time_s or 0.0)})
        for row in read_rows(run, JobRow)
    ]
    replace_rows(run, JobRow, rows)


def changed(run: Path, **changes: object) -> None:
    replace_manifest(run, read_manifest(run).model_copy(update=changes))


def compared(live: Path) -> PoliciesOnBothSides:
    (found,) = policies_on_both_sides(compare_folders(live, live.with_name("simulated")))
    return found


def execution(found: PoliciesOnBothSides, policy: str) -> PolicyOnBothSides:
    return next(
        each for each in found.quantities if (each.policy, each.name, each.statistic) == (policy, "execution", "mean")
    )


def mean_execution_s(run: Path) -> float:
    return statistics.fmean(row.execution_time_s or 0.0 for row in read_rows(run, JobRow))


def is_about(estimate: Estimate | None, expected: Estimate) -> bool:
    assert estimate is not None
    found = (estimate.value, estimate.low, estimate.high, estimate.n)
    return found == pytest.approx((expected.value, expected.low, expected.high, expected.n))


def test_means_and_ratios_are_over_the_same_seeds_live_and_simulated(live):
    found = compared(live)
    assert (found.label, found.policies, found.seeds, found.left_out) == ("w1", ("cm", "wf"), SEEDS, ())
    cm, wf = ([mean_execution_s(live / f"{policy}-{seed}") for seed in SEEDS] for policy in ("cm", "wf"))
    again = {name: mean_execution_s(live.with_name("simulated") / name) for name in FACTORS}
    shown = execution(found, "wf")
    assert is_about(shown.live, mean(wf))
    assert is_about(shown.simulated, mean([again[f"wf-{seed}"] for seed in SEEDS]))
    live_ratios = [above / under for above, under in zip(wf, cm, strict=True)]
    simulated_ratios = [again[f"wf-{seed}"] / again[f"cm-{seed}"] for seed in SEEDS]
    assert is_about(shown.live_ratio, mean(live_ratios))
    assert is_about(shown.simulated_ratio, mean(simulated_ratios))
    # The simulation of a seed stretches each ratio by these factors.
    assert is_about(shown.agreement, mean([1.3 / 1.1, 1.0 / 1.2, 1.1 / 0.9]))
    first = execution(found, "cm")
    assert (first.live_ratio, first.simulated_ratio, first.agreement, first.same_order) == (None, None, None, None)


def test_a_seed_that_is_void_under_one_policy_counts_under_none(live):
    changed(live / "cm-2", verdict="void")
    found = compared(live)
    assert (found.seeds, found.left_out) == ((1, 3), (2,))
    expected = mean([mean_execution_s(live / f"wf-{seed}") for seed in (1, 3)])
    assert is_about(execution(found, "wf").live, expected)
    assert "seeds 2." in sides_in_words(found)
    # The errors of each policy stay those over its own seeds.
    campaigns = compare_folders(live, live.with_name("simulated")).campaigns
    assert {campaign.label: campaign.seeds for campaign in campaigns} == {"w1 cm": 2, "w1 wf": 3}


def test_a_void_simulation_takes_its_seed_out_too(live):
    changed(live.with_name("simulated") / "wf-1", verdict="void")
    assert (compared(live).seeds, compared(live).left_out) == ((2, 3), (1,))


def test_times_are_those_of_the_jobs_that_finished_under_every_policy_on_both_sides(live):
    run = live.with_name("simulated") / "cm-1"
    rows = read_rows(run, JobRow)
    replace_rows(run, JobRow, [rows[0].model_copy(update={"state": "failed"}), *rows[1:]])
    kept = [row for row in read_rows(live / "wf-1", JobRow) if row.name != rows[0].name]
    of_seeds = [statistics.fmean(row.execution_time_s for row in kept)]
    of_seeds += [mean_execution_s(live / f"wf-{seed}") for seed in (2, 3)]
    assert is_about(execution(compared(live), "wf").live, mean(of_seeds))


def test_without_a_common_seed_a_sentence_says_so(live):
    for name in ("cm-1", "cm-2", "wf-3"):
        changed(live / name, verdict="void")
    found = compared(live)
    assert (found.seeds, found.quantities) == ((), ())
    assert sides_in_words(found).startswith("Policies of w1 (cm, wf): no seed has a live run and a simulation")


def test_one_policy_is_compared_with_none_and_other_assumptions_are_kept_apart(live):
    for seed in SEEDS:
        changed(live.with_name("simulated") / f"wf-{seed}", simulated={"times": "run"})
    folders = compare_folders(live, live.with_name("simulated"))
    assert policies_on_both_sides(folders) == []
    assert folders_object(folders)["policies"] == []


def side(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, 3)


@pytest.mark.parametrize(
    ("live_ratio", "simulated_ratio", "same"),
    [
        (side(1.1, 1.2), side(1.3, 1.9), True),
        (side(0.8, 0.9), side(0.1, 0.2), True),
        (side(1.1, 1.2), side(0.8, 0.9), False),
        (side(1.1, 1.2), side(0.9, 1.3), None),
        (side(1.1, 1.2), Estimate(1.2, None, None, 1), None),
        (None, None, None),
    ],
)
def test_the_order_is_the_same_if_both_intervals_lie_on_one_side(live_ratio, simulated_ratio, same):
    of_policy = PolicyOnBothSides("wf", "wait", "mean", side(1, 2), side(1, 2), live_ratio, simulated_ratio, None)
    assert of_policy.same_order is same


def test_tables_rows_and_figures_hold_the_same_numbers(live, tmp_path):
    folders = compare_folders(live, live.with_name("simulated"))
    found = compared(live)
    row = next(row for row in sides_table(found) if (row["quantity"], row["policy"]) == ("execution mean", "wf"))
    assert list(row)[4:6] == ["over cm, live", "over cm, simulated"]
    assert row["simulated ratio over live"].startswith(f"{execution(found, 'wf').agreement.value:.4g} [")
    assert sides_title(found) == "Policies of w1, live and simulated, over the seeds 1, 2, 3"
    figures = {figure.name: figure for figure in figures_of_folders(folders)}
    assert list(figures) == ["errors-over-seeds", "policies-live-and-simulated"]
    assert all(figure.draw().axes for figure in figures.values())
    write_figures(figures.items(), tmp_path / "figures")
    with (tmp_path / "figures" / "policies-live-and-simulated.csv").open(newline="") as text:
        written = list(csv.DictReader(text))
    (said,) = folders_object(folders)["policies"]
    assert (said["policies"], said["seeds"], said["seeds_left_out"]) == (["cm", "wf"], [1, 2, 3], [])
    assert [float(row["live"]) for row in written] == [row["live"] for row in said["quantities"]]
    assert [float(row["live"]) for row in written] == [each.live.value for each in found.quantities]
