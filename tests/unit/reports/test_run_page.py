"""The report as one page: what was run and its verdict first, every figure with its data, and text that stays text."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.project import PROJECT_ROOT
from emulator.reports import run_page as page_module
from emulator.reports.figures.choice import figures_of_run
from emulator.reports.figures.figure import data_csv
from emulator.reports.figures.reported_run import reported_run
from emulator.reports.figures.study import study_figures
from emulator.reports.run_page import MOST_BYTES, all_figures, run_page, write_run_page
from emulator.reports.study_folders import is_study_folder, read_studies
from tests.unit.reports.simulated_runs import simulated_run
from tests.unit.reports.test_figures import assert_legible

HOSTILE = "<script>alert(1)</script>"
STUDIES = PROJECT_ROOT / "docs" / "results"


class Read(HTMLParser):
    """What a browser makes of a page: its elements with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_run(
        tmp_path_factory.mktemp("runs") / "w1-wf",
        manifest={"verdict": "suspect", "verdict_reasons": ("3% of the phases were late", HOSTILE)},
        job={"application": HOSTILE, "name": HOSTILE},
    )


@pytest.fixture(scope="module")
def page(path: Path) -> str:
    return run_page([reported_run(path)])


@pytest.fixture
def few_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw two figures of a run and one of several, for pages whose figures a test does not look at."""
    all_of_run, all_of_all = page_module.figures_of_run, page_module.figures_of_all
    monkeypatch.setattr(page_module, "figures_of_run", lambda run: all_of_run(run)[:2])
    monkeypatch.setattr(page_module, "figures_of_all", lambda runs: all_of_all(runs)[:1])


def test_text_from_records_stays_text(page):
    read = Read(page)
    assert "script" not in {tag for tag, _ in read.elements}
    assert read.text.count(HOSTILE) >= 2
    assert HOSTILE not in page


def test_the_verdict_and_its_reasons_come_before_everything_else(page):
    text = Read(page).text
    assert text.index("suspect") < text.index("3% of the phases were late") < text.index("policy / queue")


def test_claims_that_the_runs_decide_are_in_the_page(few_figures, tmp_path):
    runs = [reported_run(simulated_run(tmp_path / policy, policy=policy)) for policy in ("wf", "cm")]
    text = Read(run_page(runs)).text
    assert "W1, response: cm < wf" in text
    assert "W2, response: cm < wf" not in text


def test_repeats_of_one_seed_are_reported_without_claims(path, few_figures, tmp_path):
    runs = [reported_run(path), reported_run(simulated_run(tmp_path / "again"))]
    assert "Not decided: " in Read(run_page(runs)).text


def test_the_page_needs_no_other_file(page):
    references = [
        value
        for tag, attributes in Read(page).elements
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href") and tag != "meta"
    ]
    assert references
    assert all(value is not None and value.startswith(("data:", "#")) for value in references)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_every_figure_is_in_it_with_its_data(path, page):
    read = Read(page)
    figures = figures_of_run(reported_run(path))
    drawn = [attributes["aria-label"] for tag, attributes in read.elements if tag == "svg"]
    assert drawn == [figure.title for figure in figures]
    linked = [
        base64.b64decode((attributes["href"] or "").partition("base64,")[2]).decode()
        for tag, attributes in read.elements
        if tag == "a" and "download" in attributes
    ]
    assert linked == [data_csv(figure.rows) for figure in figures]


def test_identities_are_unique_in_the_page(path, tmp_path):
    other = simulated_run(tmp_path / "other", policy="cm")
    names = [
        attributes["id"]
        for _, attributes in Read(run_page([reported_run(path), reported_run(other)])).elements
        if "id" in attributes
    ]
    assert len(names) == len(set(names)) > 100


def test_data_that_are_too_large_for_the_page_are_left_to_a_folder(path, few_figures, monkeypatch):
    monkeypatch.setattr("emulator.reports.html_parts.MOST_EMBEDDED_BYTES", 100)
    text = Read(run_page([reported_run(path)])).text
    assert "rows of data are too many for this page: --figures FOLDER writes them." in text


def test_details_that_do_not_fit_are_left_out_and_counted(path, few_figures, tmp_path, monkeypatch):
    runs = [reported_run(path), reported_run(simulated_run(tmp_path / "other"))]
    whole = len(run_page(runs).encode())
    monkeypatch.setattr(page_module, "MOST_BYTES", whole - 50_000)
    smaller = run_page(runs)
    assert len(smaller.encode()) < whole - 50_000
    assert "The details of the last 1 do not fit into this page." in Read(smaller).text


def test_a_page_that_is_too_large_is_refused(path, few_figures, tmp_path, monkeypatch):
    monkeypatch.setattr(page_module, "MOST_BYTES", 1000)
    with pytest.raises(InvalidInput, match=r"a page on 1 run would have .* MB, .*: report on fewer runs at a time"):
        write_run_page([reported_run(path)], [], tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_figures_of_several_runs_have_names_of_their_own(path, tmp_path):
    other = simulated_run(tmp_path / "a b")
    names = [name for name, _ in all_figures([reported_run(path), reported_run(other)])]
    assert len(names) == len(set(names))
    assert {"times", "w1-wf-gantt", "a_b-gantt"} <= set(names)


def test_studies_are_reported_with_their_claims():
    assert is_study_folder(STUDIES)
    studies = read_studies(STUDIES)
    assert [study.label for study in studies][:3] == ["application-mixes", "component-limits", "compositions"]
    compositions = studies[2]
    (figure,) = study_figures(compositions)
    assert data_csv(figure.rows).count("\n") == (STUDIES / "compositions.csv").read_text().count("\n")
    for study in studies:
        for drawn in study_figures(study):
            assert_legible(drawn)
    page = run_page([], [compositions])
    assert "response: ls-do < gs (25-25-25-25)" in Read(page).text
    assert len(page.encode()) < MOST_BYTES


@pytest.mark.parametrize("table", ["workload,queue,at,response_s\na,gs\n", "workload,queue\na,gs\n"])
def test_a_table_of_a_study_that_was_cut_short_is_one_sentence(tmp_path, table):
    (tmp_path / "x-claims.csv").write_text("claim,at,part,value,low,high,verdict\n")
    (tmp_path / "x.csv").write_text(table)
    with pytest.raises(InvalidInput, match=r"x\.csv: is no table of a study"):
        read_studies(tmp_path)


def test_a_value_without_an_interval_is_drawn_without_one(tmp_path):
    (tmp_path / "x-claims.csv").write_text("claim,at,part,value,low,high,verdict\n")
    (tmp_path / "x.csv").write_text("workload,queue,at,response_s,response_s_low,response_s_high\na,gs,once,5.0,,\n")
    (study,) = read_studies(tmp_path)
    (figure,) = study_figures(study)
    (bars,) = figure.draw().axes[0].collections
    assert [tuple(point) for point in bars.get_segments()[0][:, :1].T.tolist()] == [(5.0, 5.0)]


def test_studies_of_one_name_are_told_apart_and_so_are_the_files_of_their_figures(tmp_path):
    for name in ("a", "a b", "a_b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x-claims.csv").write_text("claim,at,part,value,low,high,verdict\n")
        (tmp_path / name / "x.csv").write_text("workload,queue,at,response_s\na,gs,once,5.0\n")
    studies = read_studies(tmp_path / "a", tmp_path / "a b", tmp_path / "a_b")
    assert [study.label for study in studies] == ["a/x", "a b/x", "a_b/x"]
    assert [name for name, _ in all_figures([], studies)] == ["a_x-study", "a_b_x-study", "a_b_x-study-2"]


def test_a_folder_of_studies_without_its_table_is_one_sentence(tmp_path):
    (tmp_path / "x-claims.csv").write_text("claim,at,part,value,low,high,verdict\n")
    with pytest.raises(InvalidInput, match=r"x\.csv: is no table of a study"):
        read_studies(tmp_path)
