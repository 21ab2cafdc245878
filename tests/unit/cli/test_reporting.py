"""The verbs ``report``, ``compare`` and ``claims``: where pages and figures go, what is printed, what is refused."""

from __future__ import annotations

import json
from shutil import copytree, rmtree

import pytest

from emulator.model.project import PROJECT_ROOT
from emulator.model.records import RunProgress
from emulator.runs.run_directory import read_manifest, replace_manifest
from tests.unit.reports.simulated_runs import simulated_run

CAMPAIGN_RECORDS = PROJECT_ROOT / "docs" / "results" / "campaigns"


@pytest.fixture
def runs(tmp_path):
    return [
        simulated_run(tmp_path / folder / "run", policy=policy, jobs=5) for folder, policy in (("a", "wf"), ("b", "cm"))
    ]


def test_a_page_of_one_run_goes_into_its_directory(call, runs):
    code, _, said = call("report", str(runs[0]), "--html")
    assert (code, said) == (0, f"Report: {runs[0] / 'report.html'}\n")
    assert (runs[0] / "report.html").read_text().startswith("<!doctype html>")


def test_a_page_goes_where_a_file_is_named(call, runs, tmp_path):
    code, _, _ = call("report", *map(str, runs), "--html", "page.html")
    assert code == 0
    assert "Report on a/run, b/run" in (tmp_path / "page.html").read_text()


def test_figures_go_into_a_folder_with_their_data(call, runs, tmp_path):
    code, shown, _ = call("report", str(runs[0]), "--figures", "figures")
    assert (code, shown) == (0, "")
    assert {"gantt.svg", "gantt.png", "gantt.csv"} <= {file.name for file in (tmp_path / "figures").iterdir()}


def test_figures_have_the_formats_that_are_asked_for(call, runs, tmp_path):
    assert call("report", str(runs[0]), "--figures", "figures", "--formats", "pdf,SVG")[0] == 0
    endings = {file.suffix for file in (tmp_path / "figures").iterdir()}
    assert endings == {".pdf", ".svg", ".csv"}
    code, _, said = call("report", str(runs[0]), "--figures", "more", "--formats", "eps")
    assert (code, said) == (1, "testbed: --formats: must be some of svg, png, pdf, not 'eps'.\n")
    sentence = "testbed: --formats: only figures in files have this; state --figures FOLDER, or leave it out.\n"
    assert call("report", str(runs[0]), "--formats", "pdf") == (1, "", sentence)
    assert call("compare", str(runs[0]), str(runs[1]), "--formats", "pdf") == (1, "", sentence)


def test_the_policy_that_others_are_compared_with_can_be_named(call, runs):
    printed = call("report", *map(str, runs), "--first", "cm", "--json")[1]
    assert [run["run"] for run in json.loads(printed)] == ["b/run", "a/run"]
    code, _, said = call("report", *map(str, runs), "--first", "fcm")
    assert (code, said) == (1, "testbed: --first: no run is under 'fcm' (policies of the runs: wf, cm).\n")
    code, _, said = call("compare", str(runs[0]), str(runs[0]), "--first", "wf")
    assert code == 1
    assert said.startswith("testbed: --first: only a folder of runs has several policies, and ")


def test_runs_in_folders_of_one_name_stand_in_columns_of_their_own(call, runs):
    _, shown, _ = call("report", *map(str, runs))
    assert "a/run" in shown
    assert "b/run" in shown
    _, printed, _ = call("report", *map(str, runs), "--json")
    assert [run["run"] for run in json.loads(printed)] == ["a/run", "b/run"]
    assert call("report", *map(str, runs), "--json", "--html", "page.html")[1] == printed


def test_a_folder_of_runs_stands_for_all_of_them(call, tmp_path):
    for policy in ("wf", "cm"):
        simulated_run(tmp_path / "sweep" / policy, policy=policy, jobs=5)
    assert call("report", "sweep")[1] == call("report", "sweep/cm", "sweep/wf")[1]
    assert call("claims", "sweep")[1] == call("claims", "sweep/cm", "sweep/wf")[1]
    assert call("report", "sweep", "--html")[2] == "Report: sweep/report.html\n"


def test_bad_pages_are_refused_in_a_sentence(call, runs):
    sentence = "testbed: --html: give the runs to report on, and at most one FILE.html to write.\n"
    assert call("report", "page.html", "--html") == (1, "", sentence)
    assert call("report", str(runs[0]), "a.html", "b.html", "--html") == (1, "", sentence)


def test_runs_are_compared_with_their_repeats(call, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    folders = [str(simulated_run(tmp_path / name, jobs=5)) for name in ("live", "again", "simulated")]
    live, again, simulated = folders
    code, shown, said = call("compare", live, simulated, "--live", again, "--jobs", "--figures", "figures")
    assert (code, said) == (0, "Figures: figures\n")
    assert "live and simulated" in shown
    assert "live: live" in shown
    assert "live: simulated" in shown
    assert "All 5 placements are the same." in shown
    assert (tmp_path / "figures" / "live-and-simulated.svg").is_file()
    (found,) = json.loads(call("compare", live, simulated, "--live", again, "--json")[1])
    assert (found["live_runs"], found["quantities"][0]["error"], found["quantities"][0]["within_spread"]) == (
        2,
        0,
        True,
    )


def test_runs_of_two_seeds_are_not_compared(call, tmp_path):
    one, two = (str(simulated_run(tmp_path / f"run-{seed}", jobs=5, seed=seed)) for seed in (1, 2))
    code, _, said = call("compare", one, two)
    assert (code, said) == (1, f"testbed: {two}: has seed 2, and {one} has 1: compare runs of one seed.\n")


def test_the_live_runs_in_a_folder_are_simulated_and_compared_over_seeds(call, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("w1-fcm-6-jobs", "w1-wf-20-jobs"):
        copytree(CAMPAIGN_RECORDS / name, tmp_path / "live" / name)
    code, shown, _ = call("simulate", "--like", "live", "--out", "again", "--require", "void")
    assert code == 0
    assert "Simulations of live runs" in shown
    assert sorted(folder.name for folder in (tmp_path / "again").iterdir()) == ["w1-fcm-6-jobs", "w1-wf-20-jobs"]
    code, shown, _ = call("compare", "live", "again")
    assert code == 0
    assert "Errors over seeds" in shown
    found = json.loads(call("compare", "live", "again", "--json")[1])
    assert [(campaign["campaign"], campaign["seeds"]) for campaign in found["campaigns"]] == [
        ("w1 fcm", 1),
        ("w1 wf", 1),
    ]
    single = json.loads(call("compare", "live/w1-fcm-6-jobs", "again/w1-fcm-6-jobs", "--json")[1])
    assert found["campaigns"][0]["runs"][0]["quantities"] == single[0]["quantities"]


def test_the_policies_in_a_folder_are_compared_on_both_sides_and_drawn(call, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    for policy in ("wf", "cm"):
        for seed in (1, 2):
            simulated_run(tmp_path / "live" / f"{policy}-{seed}", policy=policy, jobs=5, seed=seed)
    copytree(tmp_path / "live", tmp_path / "again")
    code, shown, said = call("compare", "live", "again", "--figures", "figures")
    assert (code, said) == (0, "Figures: figures\n")
    assert "Policies of w1, live and simulated, over the seeds 1, 2" in shown
    assert "A ratio is the mean of the ratios of the single seeds." in shown
    drawn = {"errors-over-seeds", "policies-live-and-simulated"}
    found = {file.name for file in (tmp_path / "figures").iterdir()}
    assert found == {f"{name}.{form}" for name in drawn for form in ("svg", "png", "csv")}
    (compared,) = json.loads(call("compare", "live", "again", "--json")[1])["policies"]
    assert (compared["policies"], compared["seeds"]) == (["cm", "wf"], [1, 2])
    (compared,) = json.loads(call("compare", "live", "again", "--first", "wf", "--json")[1])["policies"]
    assert compared["policies"] == ["wf", "cm"]


def test_a_folder_of_simulations_goes_on_with_the_live_runs_that_it_lacks(call, tmp_path):
    command = ("simulate", "--like", "live", "--out", "again", "--require", "void")
    copytree(CAMPAIGN_RECORDS / "w1-fcm-6-jobs", tmp_path / "live" / "w1-fcm-6-jobs")
    assert call(*command)[0] == 0
    first = tmp_path / "again" / "w1-fcm-6-jobs" / "manifest.json"
    before = first.read_bytes()
    copytree(CAMPAIGN_RECORDS / "w1-wf-20-jobs", tmp_path / "live" / "w1-wf-20-jobs")
    code, _, said = call(*command)
    assert (code, "Simulated before, and kept: w1-fcm-6-jobs." in said) == (0, True)
    assert sorted(folder.name for folder in (tmp_path / "again").iterdir()) == ["w1-fcm-6-jobs", "w1-wf-20-jobs"]
    assert first.read_bytes() == before
    code, shown, said = call(*command)
    assert (code, shown, "kept: w1-fcm-6-jobs, w1-wf-20-jobs." in said) == (0, "", True)
    assert call("compare", "live", "again")[0] == 0


def test_what_simulations_find_in_their_place_is_never_removed(call, tmp_path):
    command = ("simulate", "--like", "live", "--out", "again", "--require", "void")
    copytree(CAMPAIGN_RECORDS / "w1-fcm-6-jobs", tmp_path / "live" / "w1-fcm-6-jobs")
    assert call(*command)[0] == 0
    copytree(CAMPAIGN_RECORDS / "w1-wf-20-jobs", tmp_path / "live" / "w1-wf-20-jobs")
    notes = tmp_path / "again" / "w1-wf-20-jobs" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    code, _, said = call(*command)
    assert (code, "again/w1-wf-20-jobs: is not empty" in said) == (1, True)
    assert notes.read_text() == "mine"


def test_a_folder_of_simulations_under_other_options_or_of_other_runs_is_refused(call, tmp_path):
    live = tmp_path / "live" / "w1-fcm-6-jobs"
    copytree(CAMPAIGN_RECORDS / live.name, live)
    command = ("simulate", "--like", "live", "--out", "again", "--require", "void")
    assert call(*command)[0] == 0
    sentence = "again/w1-fcm-6-jobs: is no whole simulation of that run, as it is now, under these options"
    assert sentence in call(*command, "--extension-factors", "1.5")[2]
    manifest = read_manifest(live)
    workload = {**manifest.workload, "description": "Another run of the same name."}
    replace_manifest(live, manifest.model_copy(update={"workload": workload}))
    code, _, said = call(*command)
    assert (code, sentence in said) == (1, True)


def test_a_simulation_by_another_version_of_the_simulator_is_not_kept(call, tmp_path):
    copytree(CAMPAIGN_RECORDS / "w1-fcm-6-jobs", tmp_path / "live" / "w1-fcm-6-jobs")
    command = ("simulate", "--like", "live", "--out", "again", "--require", "void")
    assert call(*command)[0] == 0
    kept = tmp_path / "again" / "w1-fcm-6-jobs"
    manifest = read_manifest(kept)
    versions = {name: version for name, version in manifest.versions.items() if name != "outcomes"}
    assert len(versions) == len(manifest.versions) - 1
    replace_manifest(kept, manifest.model_copy(update={"versions": versions}))
    code, _, said = call(*command)
    assert (code, "or another version of the simulator made it (remove it, or choose" in said) == (1, True)


def test_a_bad_run_in_a_folder_is_named_before_any_is_simulated(call, tmp_path):
    for name in ("good", "later"):
        copytree(CAMPAIGN_RECORDS / "w1-fcm-6-jobs", tmp_path / "live" / name)
    (tmp_path / "live" / "later" / "schedule.jsonl").write_text("")
    code, _, said = call("simulate", "--like", "live", "--out", "again")
    assert (code, said.count("\n")) == (1, 1)
    assert "live/later/schedule.jsonl: holds 0 jobs, but the run had 6" in said
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("compare", "live", "a", "b"), "live is a folder of runs: name one folder with their simulations, not 2."),
        (("compare", "live", "a", "--jobs"), "--jobs: only single runs have this, and live is a folder of runs"),
        (("compare", "live", "a"), "a: has no simulation 'run' of that run in live"),
        (("simulate", "--like", "live"), "live is a folder of runs: name a folder for their simulations with --out"),
        (("simulate", "--like", "live", "--out", "live"), "live: is not empty, and no run is written over another"),
    ],
)
def test_folders_of_runs_that_cannot_be_compared_or_simulated_are_refused(call, tmp_path, arguments, sentence):
    simulated_run(tmp_path / "live" / "run", jobs=5)
    code, shown, said = call(*arguments)
    assert (code, shown) == (1, "")
    assert said.startswith(f"testbed: {sentence}")


def test_claims_are_decided_by_runs(call, runs):
    code, shown, _ = call("claims", *map(str, runs))
    assert code == 0
    assert "W1, response: cm < wf" in shown
    assert "with one run of a case, batches of its jobs are taken as independent" in " ".join(shown.split())
    printed = json.loads(call("claims", *map(str, runs), "--json")[1])
    assert [claim["claim"] for claim in printed][:2] == ["C29", "C30"]
    assert {part["verdict"] for claim in printed for part in claim["parts"]} <= {"shown", "not shown", "undecided"}


def test_published_campaigns_are_simulated_for_their_claims_and_go_on_where_they_were_cut_short(call, tmp_path, runs):
    folder = tmp_path / "simulated"
    options = ("--simulate", "1", "--jobs", "4", "--workers", "1", "--out", str(folder))
    code, printed, _ = call("claims", *options, "--json")
    assert code == 0
    assert {claim["at"] for claim in json.loads(printed)} == {"simulation"}
    assert len(list(folder.iterdir())) == 16
    rmtree(folder / "w1-wf-seed-1")
    (folder / "w1-wf-seed-1.part").mkdir()
    kept = (folder / "w50-cf-1-replicas-band-55-65-seed-1" / "manifest.json").stat().st_mtime_ns
    assert call("claims", *options)[0] == 0
    assert (folder / "w50-cf-1-replicas-band-55-65-seed-1" / "manifest.json").stat().st_mtime_ns == kept
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith("w1-wf")) == ["w1-wf-seed-1"]


def test_claims_need_runs_or_simulations_and_at_least_one_seed(call, tmp_path):
    for arguments in ((), ("--simulate", "0", "--out", str(tmp_path / "none"))):
        code, _, said = call("claims", *arguments)
        assert (code, said.count("\n")) == (1, 1)
        assert "--simulate" in said


def test_what_was_cut_short_in_a_folder_of_runs_decides_no_claim_and_is_named(call, tmp_path):
    simulated_run(tmp_path / "sweep" / "wf-1", jobs=5)
    expected = call("claims", "sweep")[1]
    cut_short = simulated_run(tmp_path / "sweep" / "wf-1-interrupted", jobs=5)
    replace_manifest(cut_short, read_manifest(cut_short).model_copy(update={"progress": RunProgress.INCOMPLETE}))
    assert call("claims", "sweep") == (0, expected, "left out: wf-1-interrupted (cut short)\n")


def test_what_was_void_and_has_run_once_more_decides_no_claim_and_is_named(call, tmp_path):
    simulated_run(tmp_path / "sweep" / "wf-1", jobs=5)
    expected = call("claims", "sweep")[1]
    moved_aside = ("wf-1-2-void", "wf-1-void", "wf-1-void-2")
    for name in moved_aside:
        simulated_run(tmp_path / "sweep" / name, jobs=5, manifest={"verdict": "void"})
    said = f"left out: {', '.join(f'{name} (void, and run once more)' for name in moved_aside)}\n"
    assert call("claims", "sweep") == (0, expected, said)


def test_a_topology_of_no_simulation_and_one_that_is_not_there_are_refused(call, runs, tmp_path):
    code, _, said = call("claims", str(runs[0]), "--topology", "das2", "--out", "out")
    assert (code, said) == (
        1,
        "testbed: --out, --topology: only simulations have this; state --simulate SEEDS, or leave them out.\n",
    )
    code, _, said = call("claims", "--simulate", "1", "--topology", "nowhere", "--out", str(tmp_path / "none"))
    assert (code, "nowhere" in said) == (1, True)
    assert not (tmp_path / "none").exists()
