"""Policies over seeds: a campaign's runs are paired by seed, and runs that do not count are left out."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.cli.main import app
from emulator.fidelity.intervals import paired_ratio_of_means
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput
from emulator.model.records import JobRow, RunProgress
from emulator.reports.figures.choice import figures_of_all
from emulator.reports.figures.reported_run import reported_run
from emulator.reports.policies_over_seeds import OverSeeds, compared_policies, with_first
from emulator.runs.folders import SWEEP_FILE, runs_in
from emulator.runs.run_directory import read_manifest, read_rows, read_run, replace_manifest
from emulator.runs.same_campaign import campaign_of, scheduling_of
from emulator.simulator.runtime_tables import read_factors
from tests.unit.reports.simulated_runs import simulated_run

SEEDS = (1, 2, 3)
OWN_POLICY = """
from pathlib import Path

from emulator.policies.placement.worst_fit import WorstFit


class Mine:
    accepts = WorstFit.accepts

    def place(self, request, state):
        return WorstFit().place(request, state) if Path(__file__).exists() else None
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make W1 under two policies, each with three seeds, as a sweep leaves them."""
    for policy in ("cm", "wf"):
        for seed in SEEDS:
            simulated_run(tmp_path / f"{policy}-{seed}", policy=policy, jobs=12, seed=seed, factor=1.3)
    return tmp_path


def changed(run: Path, **changes: object) -> None:
    replace_manifest(run, read_manifest(run).model_copy(update=changes))


def compared(folder: Path):
    return compared_policies([read_run(run) for run in runs_in(folder)])


def mean_response_s(run: Path) -> float:
    return statistics.fmean(row.response_time_s or 0.0 for row in read_rows(run, JobRow))


def response(quantities: tuple[OverSeeds, ...], policy: str) -> OverSeeds:
    return next(each for each in quantities if (each.policy, each.name, each.statistic) == (policy, "response", "mean"))


def test_two_policies_are_compared_seed_by_seed(folder):
    (found,) = compared(folder)
    assert (found.label, found.policies, found.seeds) == ("w1", ("cm", "wf"), SEEDS)
    cm, wf = ([mean_response_s(folder / f"{policy}-{seed}") for seed in SEEDS] for policy in ("cm", "wf"))
    assert response(found.quantities, "cm").mean.value == pytest.approx(statistics.fmean(cm))
    assert response(found.quantities, "cm").ratio is None
    ratio, expected = response(found.quantities, "wf").ratio, paired_ratio_of_means(wf, cm)
    assert ratio is not None
    assert expected is not None
    assert (ratio.value, ratio.low, ratio.high, ratio.n) == pytest.approx(
        (expected.value, expected.low, expected.high, 3)
    )


def test_repeats_of_a_seed_count_as_one(folder):
    before = compared(folder)
    simulated_run(folder / "wf-1-repeat-2", policy="wf", jobs=12, seed=1, factor=1.3)
    assert compared(folder) == before


@pytest.mark.parametrize("change", [{"verdict": Judgement.VOID.value}, {"progress": RunProgress.INCOMPLETE}])
def test_a_seed_counts_only_if_each_policy_has_a_run_that_counts(folder, change):
    changed(folder / "wf-2", **change)
    (found,) = compared(folder)
    assert found.seeds == (1, 3)
    changed(folder / "cm-3", **change)
    assert compared(folder) == []


def test_another_campaign_is_compared_by_itself_and_one_policy_not_at_all(folder):
    for seed in SEEDS:
        changed(folder / f"wf-{seed}", time_scale=2.0)
    assert compared(folder) == []


def test_one_policy_under_two_queues_is_named_with_them(folder):
    for seed in SEEDS:
        changed(folder / f"cm-{seed}", policy="wf", queue="placement-adaptive")
    (found,) = compared(folder)
    assert found.policies == ("wf / placement-adaptive", "wf / placement")


def listed_in_a_sweep(folder: Path, policies: tuple[str, ...]) -> None:
    """Note beside the runs in which order a sweep has made them."""
    runs = [{"folder": f"{policy}-{seed}"} for seed in SEEDS for policy in policies]
    (folder / SWEEP_FILE).write_text(json.dumps({"runs": runs}))


def test_the_first_policy_is_that_of_the_sweep_also_if_its_first_run_is_void(folder):
    listed_in_a_sweep(folder, ("wf", "cm"))
    (found,) = compared(folder)
    assert (found.policies, response(found.quantities, "wf").ratio) == (("wf", "cm"), None)
    changed(folder / "wf-1", verdict="void")
    (found,) = compared(folder)
    assert (found.policies, found.seeds) == (("wf", "cm"), (2, 3))


@pytest.mark.parametrize("first", ["wf", "WF", "wf / placement"])
def test_another_policy_may_come_first(folder, first):
    shown = CliRunner().invoke(app, ["report", str(folder), "--first", first, "--json"]).stdout
    *runs, policies = json.loads(shown)
    assert [run["policy"] for run in runs] == ["wf"] * 3 + ["cm"] * 3
    assert policies["policies"] == ["wf", "cm"]


def test_a_policy_of_ones_own_is_known_by_its_file_too(folder):
    manifest = read_manifest(folder / "wf-1").model_copy(update={"policy": "mine.py:Mine"})
    assert with_first("my/mine.py:Mine", [manifest], lambda each: each) == [manifest]
    with pytest.raises(InvalidInput, match=r"--first: no run is under 'fcm' \(policies of the runs: mine\.py:Mine\)"):
        with_first("fcm", [manifest], lambda each: each)
    with pytest.raises(InvalidInput, match=r"policies of the runs: none"):
        with_first("fcm", [], lambda each: each)


def test_the_report_shows_them_and_draws_them_and_pairs_jobs_within_a_seed_only(folder):
    shown = CliRunner().invoke(app, ["report", str(folder)], env={"COLUMNS": "300"}).stdout
    assert "Policies of w1 over the seeds 1, 2, 3" in shown
    assert "over cm [95%]" in shown
    printed = CliRunner().invoke(app, ["report", str(folder), "--json"]).stdout
    *runs, policies = json.loads(printed)
    assert {run["kind"] for run in runs} == {"campaign"}
    assert (policies["kind"], policies["policies"]) == ("policies-over-seeds", ["cm", "wf"])
    assert policies["seeds"] == list(SEEDS)
    figures = {figure.name: figure for figure in figures_of_all([reported_run(run) for run in runs_in(folder)])}
    rows = figures["policies-over-seeds"].rows
    (found,) = compared(folder)
    assert [row["mean"] for row in rows] == [each.mean.value for each in found.quantities]
    assert policies["quantities"] == [dict(row) for row in rows]
    assert figures["policies-over-seeds"].draw().axes
    assert {row["run"] for row in figures["paired-differences"].rows} == {"wf-1"}


def test_simulations_under_other_assumptions_are_not_put_together(tmp_path):
    options = SimulationOptions(jobs=6, band="none")
    for number, (factor, clusters) in enumerate([(1.0, "5x40"), (1.5, "5x40"), (1.0, "80,4x40"), (1.0, "90,4x40")]):
        chosen = replace(options, runtime=factor, clusters=clusters)
        simulate_workload("W1", chosen, out=tmp_path / str(number))
    assert len({campaign_of(read_manifest(tmp_path / str(number))) for number in range(4)}) == 4
    other_policy = replace(options, runtime=1.0, clusters="5x40", policy="cm", seed=3)
    simulate_workload("W1", other_policy, out=tmp_path / "same")
    assert campaign_of(read_manifest(tmp_path / "same")) == campaign_of(read_manifest(tmp_path / "0"))


def test_simulations_under_other_tables_of_factors_are_not_put_together(tmp_path):
    header, options = "application,grid,processors,clusters,extension_factor\n", SimulationOptions(jobs=6, band="none")
    (tmp_path / "a.csv").write_text(f"{header}heat,100,36,2,1.5\nheat,400,36,2,1.4\n")
    (tmp_path / "b.csv").write_text(f"{header}heat,100,36,2,1.6\n")
    for run, table, grid in (("a-100", "a.csv", 100), ("a-400", "a.csv", 400), ("b", "b.csv", None)):
        for seed in (1, 2):
            chosen = replace(options, runtime=read_factors(tmp_path / table, grid), seed=seed)
            simulate_workload("W1", chosen, out=tmp_path / "runs" / f"{run}-{seed}")
    assert len({campaign_of(read_manifest(run)) for run in runs_in(tmp_path / "runs")}) == 3


def test_simulations_of_other_lists_and_with_another_warm_up_are_not_put_together(tmp_path):
    for number, service_s in enumerate((20, 30)):
        jobs = tmp_path / str(number) / "jobs.jsonl"
        jobs.parent.mkdir()
        lines = [{"id": n, "arrival_s": n, "service_s": service_s, "components": [8]} for n in range(2)]
        jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
        for warm_up_jobs in (0, 1):
            chosen = SimulationOptions(warm_up_jobs=warm_up_jobs)
            simulate_workload(str(jobs), chosen, out=tmp_path / "runs" / f"{number}-{warm_up_jobs}")
    assert len({campaign_of(read_manifest(run)) for run in runs_in(tmp_path / "runs")}) == 4


def test_two_versions_of_a_policy_of_ones_own_are_two_policies(tmp_path):
    file, options = tmp_path / "mine.py", SimulationOptions(jobs=3, band="none")
    for number, last_line in enumerate(("", "# changed\n")):
        file.write_text(OWN_POLICY + last_line)
        simulate_workload("W1", replace(options, policy=f"{file}:Mine"), out=tmp_path / str(number))
    first, second = (scheduling_of(read_manifest(tmp_path / str(number))) for number in range(2))
    # It is loaded from where it lies, so that a debugger finds it, and recorded as a live run records it.
    assert first[:2] == second[:2] == ("mine.py:Mine", "placement")
    assert first != second


def test_a_topology_of_the_same_name_with_other_costs_is_another_system(tmp_path):
    manifest = read_manifest(simulated_run(tmp_path / "run", jobs=2))

    def on(**changes: object) -> str:
        return campaign_of(manifest.model_copy(update={"topology": manifest.topology.model_copy(update=changes)}))

    assert manifest.topology.middleware is not None
    assert on(middleware=None) != campaign_of(manifest)
    assert on(description="Said otherwise.") == campaign_of(manifest)
    elsewhere = tuple(cluster.model_copy(update={"on": "other"}) for cluster in manifest.topology.clusters)
    assert on(clusters=elsewhere) == campaign_of(manifest)


def test_seeds_that_change_nothing_count_as_one_case_without_an_interval(tmp_path):
    jobs = [{"id": n, "arrival_s": n, "service_s": 20 + n, "components": [8, 8]} for n in range(9)]
    (tmp_path / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))
    for policy in ("cm", "wf"):
        for seed in SEEDS:
            chosen = SimulationOptions(policy=policy, seed=seed, runtime=1.25)
            simulate_workload(str(tmp_path / "jobs.jsonl"), chosen, out=tmp_path / "runs" / f"{policy}-{seed}")
    (found,) = compared(tmp_path / "runs")
    shown = response(found.quantities, "wf")
    assert shown.ratio is not None
    assert (shown.mean.n, shown.mean.low, shown.ratio.n, shown.ratio.low) == (1, None, 1, None)


def test_a_log_of_local_jobs_counts_by_its_digest_and_a_topology_by_what_it_states(tmp_path):
    manifest = read_manifest(simulated_run(tmp_path / "run", jobs=2))

    def under(log: str, digest: str | None, topology: str = "mine/six.yaml") -> str:
        load = {"band": [0.1, 0.2], "local_jobs": log, "log_digest": digest}
        return campaign_of(manifest.model_copy(update={"workload": {"topology": topology, "background": load}}))

    assert under("log.swf", "0a") != under("log.swf", "0b")
    assert under("log.swf", "0a") == under("mine/log.swf", "0a", topology="six.yaml")
    assert under("log.swf", None) != under("other.swf", None)


def test_records_of_an_older_version_are_of_the_same_campaign(tmp_path):
    job = {"arrival_s": 0.0, "service_s": 5.0, "components": [4], "application": "poisson", "estimate_s": None}
    manifests = [
        read_manifest(simulated_run(tmp_path / name, jobs=2, workload={"listed": [job | more], **workload}))
        for name, more, workload in (("old", {}, {}), ("new", {"queue": None, "arguments": None}, {"left_out": 0}))
    ]
    assert len({campaign_of(manifest) for manifest in manifests}) == 1
