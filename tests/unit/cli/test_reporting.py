"""The verb ``report``: where its page goes, what it prints, and what it refuses."""

from __future__ import annotations

import json

import pytest

from tests.unit.reports.simulated_runs import simulated_run


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


def test_runs_in_folders_of_one_name_stand_in_columns_of_their_own(call, runs):
    _, shown, _ = call("report", *map(str, runs))
    assert "a/run" in shown
    assert "b/run" in shown
    _, printed, _ = call("report", *map(str, runs), "--json")
    assert len(json.loads(printed)) == 2


def test_bad_pages_are_refused_in_a_sentence(call, runs):
    sentence = "testbed: --html: give the runs to report on, and at most one FILE.html to write.\n"
    assert call("report", "page.html", "--html") == (1, "", sentence)
    assert call("report", str(runs[0]), "a.html", "b.html", "--html") == (1, "", sentence)
