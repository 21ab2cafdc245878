"""The figures of a report: their data are the records, and what is drawn can be read."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.model.cell_rows import AttributionRow, ExtensionFactorRow
from emulator.model.project import TOPOLOGIES
from emulator.model.records import ComponentRow, JobRow, LinkRow, RunProgress, UtilizationRow
from emulator.reports.compared_runs import UTILIZATION, quantities_of
from emulator.reports.figures.background import share_in_band
from emulator.reports.figures.choice import figures_of_all, figures_of_run
from emulator.reports.figures.drawing import MOST_RUNS, drawn, svg_of, thinned, write_figures
from emulator.reports.figures.figure import ReportFigure, data_csv, label
from emulator.reports.figures.gantt import MOST_BARS, gantt
from emulator.reports.figures.queue_length import queue_lengths
from emulator.reports.figures.reported_run import ReportedRun, labels_of, reported_run
from emulator.reports.figures.run_differences import run_differences
from emulator.reports.figures.time_groups import quantile
from emulator.reports.figures.times import times
from emulator.reports.summary import gross_utilization
from emulator.runs.run_directory import replace_rows
from emulator.runs.steps import Steps, averaged, highest, mean_between, steps
from emulator.runs.timelines import mean_shares, utilization_split
from tests.unit.reports.simulated_runs import simulated_run

BACKGROUND = "time_s,cluster,processors,dummy_processors,local_processors,grid_processors\n"
PARTS = ("compute", "interconnect", "latency", "rate", "contention", "emulator", "whole")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with everything that a run can record."""
    folder = simulated_run(
        tmp_path_factory.mktemp("runs") / "w1-wf", factor=1.2, workload={"background": {"band": [0.15, 0.2]}}
    )
    lines = ["0,amsterdam,64,20,0,0", "10,amsterdam,64,20,30,8", "500,amsterdam,64,10,30,16", "600,delft,64,20,0,0"]
    (folder / "background.csv").write_text(BACKGROUND + "\n".join(lines) + "\n700,del")
    factor = {"application": "heat", "processors": 36, "components": (18, 18), "clusters": 2, "dilation": 4}
    replace_rows(
        folder, ExtensionFactorRow,
        [ExtensionFactorRow.model_validate({**factor, "grid": 3600, "runtime_s": 9, "extension_factor": 1.3,
                                            "ci_low": 1.25, "ci_high": 1.36, "n": 5, "verdict": "suspect"})],
    )  # fmt: skip
    replace_rows(
        folder, AttributionRow,
        [AttributionRow.model_validate({**factor, "part": part, "single_share": float(part in ("compute", "whole")),
                                        "added": 0.3 * (part in ("latency", "whole")), "added_s": 1.0, "n": 3,
                                        "verdict": "valid"})
         for part in PARTS],
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def run(path: Path) -> ReportedRun:
    return reported_run(path)


@pytest.fixture(scope="module")
def figures(run: ReportedRun) -> dict[str, ReportFigure]:
    return {figure.name: figure for figure in figures_of_run(run)}


def recorded(path: Path, name: str) -> list[dict[str, str]]:
    """The lines of a file of the run, as they stand there."""
    return list(csv.DictReader(io.StringIO((path / name).read_text())))


def written(figure: ReportFigure) -> list[dict[str, str]]:
    """The data of a figure, as its CSV says them."""
    return list(csv.DictReader(io.StringIO(data_csv(figure.rows))))


def test_a_run_has_a_figure_for_everything_that_it_recorded(figures):
    assert list(figures) == [
        "gantt", "utilization", "background", "queue-length", "times", "times-by-components", "claiming",
        "extension-factors", "attribution", "links",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("figure", "file", "columns"),
    [
        ("times", "jobs.csv", ["job", "name", "wait_time_s", "execution_time_s", "response_time_s"]),
        (
            "claiming", "jobs.csv",
            ["job", "estimated_transfer_s", "processor_gained_time_s", "processor_wasted_time_s",
             "additional_claiming_s", "wait_time_s", "placement_tries", "claiming_tries"],
        ),
        ("background", "background.csv", ["time_s", "cluster", "dummy_processors", "local_processors"]),
        ("attribution", "attribution.csv", ["part", "single_share", "added", "added_s", "n", "verdict"]),
        ("links", "links.csv", [column for column in LinkRow.columns() if column != "within"]),
    ],
)  # fmt: skip
def test_its_data_are_the_lines_of_the_record(path, figures, figure, file, columns):
    def cells(lines: list[dict[str, str]]) -> list[list[object]]:
        return [[_number(line[column]) for column in columns] for line in lines if None not in line.values()]

    assert cells(written(figures[figure])) == cells(recorded(path, file))


def _number(cell: str) -> object:
    try:
        return float(cell)
    except ValueError:
        return cell


def test_the_gantt_chart_holds_each_component_with_the_times_of_its_job(path, figures):
    jobs = {line["job"]: line for line in recorded(path, "jobs.csv")}
    expected = sorted(
        [line["job"], line["component"], line["cluster"], line["processors"], line["claimed_s"],
         jobs[line["job"]]["started_s"], jobs[line["job"]]["finished_s"], line["released_s"]]
        for line in recorded(path, "components.csv")
    )  # fmt: skip
    columns = ("job", "component", "cluster", "processors", "claimed_s", "started_s", "finished_s", "held_until_s")
    assert sorted([line[column] for column in columns] for line in written(figures["gantt"])) == expected


def test_utilization_is_the_sum_over_components_at_every_change(path, figures):
    jobs = {line["job"]: line for line in recorded(path, "jobs.csv")}
    components = recorded(path, "components.csv")

    def held(since, until, time_s: float) -> int:
        return sum(int(part["processors"]) for part in components if float(since(part)) <= time_s < float(until(part)))

    rows = written(figures["utilization"])
    assert len(rows) > 50
    for row in rows:
        time_s = float(row["time_s"])
        started, finished = (
            (lambda part: jobs[part["job"]]["started_s"]),
            (lambda part: jobs[part["job"]]["finished_s"]),
        )
        assert int(row["coallocation_processors"]) == held(started, finished, time_s)
        assert int(row["pwt_processors"]) == held(lambda part: part["claimed_s"], started, time_s)
        assert int(row["pgt_processors"]) == held(lambda part: part["placed_s"], lambda part: part["claimed_s"], time_s)
        assert int(row["background_processors"]) == (
            20 if time_s < 10 else 50 if time_s < 500 else 40 if time_s < 600 else 60
        )


def test_the_share_of_co_allocation_is_the_gross_utilization_of_the_record(run):
    last_s = max(job.finished_s or 0.0 for job in run.jobs)
    first_s = min(job.submitted_s for job in run.jobs)
    expected = gross_utilization(run.jobs, run.components, sum(run.sizes.values()), first_s, last_s)
    assert run.summary.utilization == expected
    assert mean_shares(run, utilization_split(run))["coallocation"] == pytest.approx(expected)


def test_where_nodes_are_exclusive_a_job_uses_what_it_holds(tmp_path):
    """One job of 5 processes holds 6 of 64 processors for as long as the run lasts."""
    topology, jobs = tmp_path / "whole.yaml", tmp_path / "jobs.jsonl"
    topology.write_text((TOPOLOGIES / "mini.yaml").read_text(encoding="utf-8") + "nodes: exclusive\n")
    jobs.write_text('{"id": 1, "arrival_s": 0, "service_s": 10, "components": [5], "queue": 0}\n')
    simulate_workload(str(jobs), SimulationOptions(topology=str(topology), queue="gs"), out=tmp_path / "run")
    run = reported_run(tmp_path / "run")
    assert run.jobs[0].processors == 5
    assert run.summary.utilization == pytest.approx(6 / 64)
    assert quantities_of(run.records, {run.jobs[0].name})[UTILIZATION, ""] == pytest.approx(6 / 64)
    assert mean_shares(run, utilization_split(run))["coallocation"] == pytest.approx(6 / 64)


def test_the_queue_holds_the_jobs_between_submission_and_placement(path, figures):
    jobs = recorded(path, "jobs.csv")
    for row in written(figures["queue-length"]):
        time_s = float(row["time_s"])
        waiting = sum(float(job["submitted_s"]) <= time_s < float(job["placed_s"]) for job in jobs)
        assert int(row["waiting_jobs"]) == waiting


def test_the_queue_says_how_many_of_its_jobs_were_never_placed(run):
    assert "never placed" not in queue_lengths([run]).shows
    left = run.jobs[0].model_copy(update={"placed_s": None})
    assert "never placed (1) count until the end" in queue_lengths([replace(run, jobs=[left, *run.jobs[1:]])]).shows


def test_groups_summarize_the_jobs_with_so_many_components_or_clusters(path, figures):
    jobs = recorded(path, "jobs.csv")
    rows = written(figures["times-by-components"])
    assert {row["group"] for row in rows} == {"components", "clusters"}
    for row in rows:

        def count(job: dict[str, str], group: str = row["group"]) -> int:
            return len(job["execution_clusters"].split("+")) if group == "components" else int(job["clusters"])

        values = sorted(float(job[row["quantity"]]) for job in jobs if count(job) == int(row["number"]))
        assert int(row["n"]) == len(values)
        assert float(row["mean_s"]) == pytest.approx(sum(values) / len(values))
        assert values[0] <= float(row["q05_s"]) <= float(row["median_s"]) <= float(row["q95_s"]) <= values[-1]


def test_factors_are_the_measured_ones_and_those_among_the_jobs(run, figures):
    rows = written(figures["extension-factors"])
    assert (rows[0]["extension_factor"], rows[0]["ci_low"], rows[0]["verdict"]) == ("1.3", "1.25", "suspect")
    assert [float(row["extension_factor"]) for row in rows[1:]] == [
        factor.factor.value for factor in run.summary.factors
    ]


@pytest.mark.parametrize("band", [["a", "b"], [0.1], None, [0.1, None]])
def test_a_band_that_holds_no_numbers_is_none(run, band):
    manifest = run.records.manifest.model_copy(update={"workload": {"background": {"band": band}}})
    assert replace(run, records=replace(run.records, manifest=manifest)).band is None


def test_figures_of_a_log_that_begins_late_begin_with_its_first_job(run):
    assert run.shown_from_s == 0.0
    ends_s = {1.5e6: 1e6, 3e6: 0.0}
    for end_s, expected_s in ends_s.items():
        jobs = [job.model_copy(update={"submitted_s": 1e6, "finished_s": end_s}) for job in run.jobs]
        assert replace(run, jobs=jobs).shown_from_s == expected_s


def test_the_share_in_the_band_leaves_out_the_first_minute(run):
    inside_s = (500 - 60) + (run.end_s - 600)
    assert run.band == (0.15, 0.2)
    assert share_in_band(run) == pytest.approx(inside_s / (run.end_s - 60))


def texts_and_their_boxes(figure: ReportFigure):
    made = drawn(figure)
    made.canvas.draw()
    renderer = made.canvas.get_renderer()
    for axis in made.axes:
        ticks = [
            text for line in (axis.xaxis, axis.yaxis) for text in line.get_ticklabels() if _inside(axis, line, text)
        ]
        for text in [*axis.texts, axis.xaxis.label, axis.yaxis.label, axis.title, *ticks]:
            if text.get_visible() and text.get_text().strip():
                yield text.get_text(), text.get_window_extent(renderer)
    for legend in made.legends:
        for text in legend.get_texts():
            yield text.get_text(), text.get_window_extent(renderer)


def _inside(axis, line, text) -> bool:
    """Whether a tick lies within the axis: matplotlib keeps some beyond its ends that it does not draw."""
    low, high = sorted(line.get_view_interval())
    place = text.get_position()[0] if line is axis.xaxis else text.get_position()[1]
    margin = 1e-9 * (high - low)
    return low - margin <= place <= high + margin


def assert_legible(figure: ReportFigure) -> None:
    found = list(texts_and_their_boxes(figure))
    assert found
    for number, (text, box) in enumerate(found):
        for other, beside in found[number + 1 :]:
            overlap = box.padded(-0.5).overlaps(beside.padded(-0.5))
            assert not overlap, f"{figure.name}: {text!r} lies on {other!r}"


@pytest.mark.parametrize("name", ["gantt", "utilization", "background", "queue-length", "times", "times-by-components",
                                  "claiming", "extension-factors", "links"])  # fmt: skip
def test_no_label_lies_on_another(figures, name):
    assert_legible(figures[name])


@pytest.mark.parametrize("name", ["gantt", "utilization", "times", "claiming", "links"])
def test_a_figure_has_at_most_one_legend(figures, name):
    made = drawn(figures[name])
    assert len(made.legends) + sum(axis.get_legend() is not None for axis in made.axes) <= 1


def test_a_figure_in_a_page_takes_the_pages_colour_and_has_identities_of_its_own(figures):
    svg = svg_of(figures["links"], "run3")
    assert "#000000" not in svg
    assert "currentColor" in svg
    assert 'id="run3-links-' in svg
    assert svg_of(figures["links"], "run3") == svg


def test_figures_are_files_too(figures, tmp_path):
    found = write_figures([("a-times", figures["times"])], tmp_path / "new")
    assert [file.name for file in found] == ["a-times.svg", "a-times.png", "a-times.csv"]
    assert found[1].read_bytes().startswith(b"\x89PNG")
    assert found[2].read_text() == data_csv(figures["times"].rows)
    again = write_figures([("a-times", figures["times"])], tmp_path / "again", ("pdf",))
    assert [file.name for file in again] == ["a-times.pdf", "a-times.csv"]
    assert again[0].read_bytes().startswith(b"%PDF")
    assert b"CreationDate" not in again[0].read_bytes()


def test_runs_side_by_side_are_compared_by_the_same_jobs(path, run, tmp_path):
    other = reported_run(simulated_run(tmp_path / "w1-cm", policy="cm", factor=1.2))
    found = {figure.name: figure for figure in figures_of_all([run, other])}
    assert list(found) == ["times", "paired-differences", "queue-length", "extension-factors"]
    mine, theirs = (
        {line["name"]: line for line in recorded(folder, "jobs.csv")} for folder in (path, tmp_path / "w1-cm")
    )
    for row in written(found["paired-differences"]):
        column = row["quantity"]
        differences = [float(theirs[name][column]) - float(mine[name][column]) for name in mine]
        assert int(row["n"]) == len(differences) == 30
        assert float(row["difference_s"]) == pytest.approx(sum(differences) / len(differences))
    for figure in found.values():
        assert_legible(figure)


def test_of_many_runs_the_first_are_drawn_and_legible_whatever_their_labels(run):
    runs = [replace(run, label=f"{number:02} {'x' * 57}") for number in range(60)]
    for figure in (times(runs), queue_lengths(runs)):
        assert figure is not None
        assert f"The first {MOST_RUNS} of 60 runs are drawn." in figure.shows
        assert len({row["run"] for row in figure.rows}) == 60
        assert_legible(figure)
        made = drawn(figure)
        made.canvas.draw()
        (legend,) = made.legends
        assert len(legend.get_texts()) == MOST_RUNS
        assert made.bbox.x0 <= legend.get_window_extent().x0 < legend.get_window_extent().x1 <= made.bbox.x1
        assert made.axes[0].get_window_extent().height > made.dpi  # an inch


def test_seconds_of_another_time_scale_are_not_subtracted(run):
    def scaled(time_scale: float) -> ReportedRun:
        manifest = run.records.manifest.model_copy(update={"time_scale": time_scale})
        return replace(run, records=replace(run.records, manifest=manifest))

    assert run_differences([scaled(1.0), scaled(2.0)]) is None
    assert run_differences([scaled(2.0), scaled(2.0)]) is not None


def test_a_large_gantt_chart_shows_the_longest_queue_and_says_what_it_leaves_out(tmp_path):
    path = simulated_run(tmp_path / "run", jobs=3)
    jobs, components = [], []
    for number in range(2000):
        begin_s = 10.0 * number
        wait_s = 400.0 if 1200 <= number < 1240 else 1.0
        jobs.append(
            JobRow(job=number, name=f"job-{number}", application="heat", request="non-fixed", components=(4,),
                   processors=4, state="finished", execution_clusters=("amsterdam",), clusters=1, submitted_s=begin_s,
                   placed_s=begin_s + wait_s, claimed_s=begin_s + wait_s, started_s=begin_s + wait_s,
                   finished_s=begin_s + wait_s + 9, verdict="valid")
        )  # fmt: skip
        components.append(
            ComponentRow(job=number, component=0, cluster="amsterdam", processors=4, placed_s=begin_s + wait_s,
                         claimed_s=begin_s + wait_s, released_s=begin_s + wait_s + 9)
        )  # fmt: skip
    replace_rows(path, JobRow, jobs)
    replace_rows(path, ComponentRow, components)
    figure = gantt(reported_run(path))
    assert figure is not None
    assert len(figure.rows) == 2000
    assert f"Only {MOST_BARS} of 2000 jobs are drawn" in figure.shows
    low_s, high_s = drawn(figure).axes[0].get_xlim()
    assert low_s < 12_400 < high_s


def test_a_run_without_jobs_has_no_figure_of_them(tmp_path):
    path = simulated_run(tmp_path / "run", jobs=3, manifest={"progress": RunProgress.INCOMPLETE})
    for row_type in (JobRow, ComponentRow, UtilizationRow, LinkRow):
        replace_rows(path, row_type, [])
    assert figures_of_run(reported_run(path)) == []


def test_runs_in_folders_of_one_name_get_the_folders_above_as_well():
    assert labels_of([Path("/a/x/run"), Path("/a/y/run")]) == ["x/run", "y/run"]
    assert labels_of([Path("/a/one"), Path("/a/two")]) == ["one", "two"]


def test_a_folder_that_is_given_several_times_gets_numbers():
    assert labels_of([Path("/a/run"), Path("/a/b/../run")]) == ["run (1)", "run (2)"]
    given = [Path("/a/x/run"), Path("/a/y/run"), Path("/a/x/run")]
    assert labels_of(given) == ["x/run (1)", "y/run", "x/run (2)"]
    assert labels_of([]) == []


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(-3, 5)), min_size=1, max_size=40))
def test_steps_hold_the_sum_of_all_changes_until_then(changes):
    found = steps({"count": changes})
    assert found.times_s == sorted({time_s for time_s, _ in changes})
    for time_s, value in zip(found.times_s, found.values["count"], strict=True):
        assert value == sum(by for at_s, by in changes if at_s <= time_s)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(-3, 5)), max_size=12), st.integers(-2, 22), st.integers(1, 10)
)
def test_a_mean_between_timestamps_is_that_of_every_instant_between_them(changes, begin_s, width_s):
    found = steps({"count": changes})
    held = [sum(by for at_s, by in changes if at_s <= instant) for instant in range(begin_s, begin_s + width_s)]
    mean = mean_between(found.times_s, found.values["count"], begin_s, begin_s + width_s)
    assert mean == pytest.approx(sum(held) / width_s)


@given(st.lists(st.floats(0, 10), min_size=30, max_size=60, unique=True))
def test_thinned_steps_keep_the_mean_and_the_largest_value(times_s):
    found = Steps(sorted(times_s), {"count": [float(place % 7) for place in range(len(times_s))]})
    begin_s, end_s = found.times_s[0], 11.0
    mean = mean_between(found.times_s, found.values["count"], begin_s, end_s)
    fewer = averaged(found, end_s, 10)
    assert len(fewer.times_s) == 10
    assert mean_between(fewer.times_s, fewer.values["count"], begin_s, end_s) == pytest.approx(mean)
    assert max(highest(found, end_s, 10).values["count"]) == max(found.values["count"])


@given(st.integers(2, 50), st.integers(2, 20))
def test_thinned_points_keep_both_ends(count, most):
    kept = thinned(range(count), most)
    assert (kept[0], kept[-1], len(kept)) == (0, count - 1, min(count, most))
    assert max(Counter(kept).values()) == 1


def test_a_quantile_lies_between_two_values_by_its_share():
    assert quantile([1.0, 2.0, 4.0], 0.5) == 2.0
    assert quantile([1.0, 2.0, 4.0], 0.75) == 3.0
    assert quantile([5.0], 0.9) == 5.0


def test_a_label_is_printable_and_short():
    assert label("a\x00b\nc") == "a b c"
    assert len(label("x" * 100)) == 24
