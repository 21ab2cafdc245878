"""Measuring at dilations that pilots find: each problem has its own, and what is not valid is run again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from apps.registry import application_named
from emulator.fidelity.pilots import MOST_OWN_TIME, Needed, Pilot, next_pilot
from emulator.measurement.extension import measure, resume
from emulator.model.job import JobState
from emulator.model.records import PilotRow, RunProgress
from emulator.model.views import EventKind, JobView
from emulator.planning.planned_runs import planned_fixed
from emulator.planning.trying import Subject, Trial, Tried, choose_dilations
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Matrix, lay_out
from emulator.runs.progress import ProgressReport
from emulator.runs.run_directory import read_rows, read_run

MATRIX = Matrix(applications=("poisson",), grids=(100, 400), processors=(16,), clusters=(1, 2), repeat=2)
NEEDED = {100: 8.0, 400: 2.0}
"""The dilation from which on a pilot of a grid suffices."""


def silent(progress: ProgressReport) -> None:
    pass


@pytest.fixture
def host(broker, wide_area):
    """A host on which jobs are late by 1.5% of their runtime at the dilation that their grid needs, and less above."""

    def record(job) -> dict[str, Any]:
        dilation = wide_area.programmed[-1]
        needed = NEEDED[job.specification.arguments["grid"]]
        late = 0.015 * needed / dilation if len(job.specification.components) > 1 else 0.0
        return {"runtime_s": 10.0, "iteration_s": 0.02, "host_critical_lateness_s": late * 10.0 * dilation}

    broker.more_results = record


def test_each_problem_is_measured_at_its_own_dilation_the_smallest_first(testbed, wide_area, host, tmp_path):
    measured = measure(testbed, MATRIX, tmp_path / "run", silent)
    assert {(cell.row.grid, cell.row.dilation) for cell in measured.cells} == {(100, 8.0), (400, 2.0)}
    assert measured.verdict.judgement == "valid"
    records = read_run(tmp_path / "run")
    assert [row.n for row in records.extension_factors] == [2] * 4
    assert [job.name[:11] for job in records.jobs] == ["poisson-400"] * 4 + ["poisson-100"] * 4
    assert read_run(tmp_path / "run" / "part-1").manifest.dilation == 8.0
    assert wide_area.programmed[-3:] == [2.0, 8.0, 1.0]
    assert records.manifest.progress is RunProgress.COMPLETE


@pytest.mark.parametrize("application", ["poisson", "heat"])
def test_the_host_s_own_time_shows_beside_what_a_job_passes_on_once(testbed, broker, wide_area, tmp_path, application):
    """What heat passes on once weighs more in an iteration of the shorter pilots at larger dilations."""
    iteration_s = 0.02
    host_own_s = 0.9 * MOST_OWN_TIME * 16.0 * iteration_s

    def record(job: JobView) -> dict[str, Any]:
        iterations = job.specification.arguments[application_named(application).length]
        once_s = 0.9 * planned_fixed(job.specification, testbed.topology).once_s
        alone_s = iteration_s + host_own_s / wide_area.programmed[-1]
        runtime_s = iterations * alone_s + once_s
        times = {
            "runtime_s": runtime_s,
            "iteration_s": runtime_s / iterations,
            "iteration_spread_s": {"median": alone_s},
        }
        return {**times, "iterations": iterations}

    broker.more_results = record
    matrix = MATRIX.model_copy(update={"applications": (application,), "grids": (400,)})
    measured = measure(testbed, matrix, tmp_path / "run", silent)
    assert {cell.row.dilation for cell in measured.cells} == {16.0}


def test_pilots_last_from_one_meeting_to_another(testbed, broker, tmp_path):
    changes = {"applications": ("ensflow",), "grids": (64,), "processors": (12,), "iterations": 25}
    measure(testbed, MATRIX.model_copy(update=changes), tmp_path / "run", silent)
    days = {
        job.specification.arguments["days"]
        for job in broker.jobs.values() if broker.runs[job.run - 1].request.name == "pilots"
    }  # fmt: skip
    assert days
    assert days <= {10, 20}


@pytest.mark.parametrize(("iteration_s", "iterations"), [(0.02, 100), (1.0, 8), (4.0, 5), (60.0, 1)])
def test_jobs_that_are_tried_at_once_iterate_no_longer_than_others_need(
    testbed, broker, tmp_path, iteration_s, iterations
):
    job = lay_out(MATRIX, testbed.topology).cells[0].specification
    trial = Trial("2 jobs at once", (job, job), (iteration_s, 0.02))
    choose_dilations(testbed, [Subject("campaign", (trial,), 1.0)], tmp_path, silent)
    tried = [view.specification.arguments["iterations"] for view in broker.jobs.values()]
    assert tried[:2] == [iterations, 100]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Subject, Tried]]:
    """The problems for which pilots were made, each with what they showed; it is filled by a measurement."""
    found: list[tuple[Subject, Tried]] = []

    def noted(testbed: Testbed, subjects: Sequence[Subject], *more: Any, **stated: Any) -> dict[str, Tried]:
        chosen = choose_dilations(testbed, subjects, *more, **stated)
        found.extend((subject, chosen[subject.name]) for subject in subjects)
        return chosen

    monkeypatch.setattr("emulator.planning.choices.choose_dilations", noted)
    return found


def check_steps(subject: Subject, found: Tried, steps: Collection[tuple[str, float]]) -> None:
    """Check that the first of the steps, trials at dilations, is at the floor, and that those before ask for each."""
    trials, made = [trial.name for trial in subject.trials], dict[str, list[Pilot]]()
    assert next(iter(steps))[1] == subject.floor
    for trial, dilation in steps:
        assert next_pilot(trials, made, subject.floor) == Needed(trial, dilation)
        made.setdefault(trial, []).extend(pilot for pilot in found.pilots[trial] if pilot.dilation == dilation)
    assert next_pilot(trials, made, subject.floor) == found.chosen


def test_pilots_go_up_from_the_floor_and_are_recorded_apart(testbed, host, tried, tmp_path):
    measure(testbed, MATRIX, tmp_path / "run", silent)
    pilots = read_rows(tmp_path / "run" / "pilots", PilotRow)
    assert sorted(subject.name for subject, _ in tried) == sorted({pilot.problem for pilot in pilots})
    assert len(tried) == len(NEEDED)
    for subject, found in tried:
        # One that other work disturbed would be made again.
        steps = dict.fromkeys((pilot.trial, pilot.dilation) for pilot in pilots if pilot.problem == subject.name)
        check_steps(subject, found, steps)
    for pilot in pilots:
        needed = NEEDED[100 if "grid 100" in pilot.problem else 400]
        assert (pilot.strain <= 1.001) == (pilot.dilation >= needed or "1 cluster" in pilot.trial)
        assert (tmp_path / "run" / "pilots" / pilot.folder / "jobs.csv").is_file()


def test_what_is_suspect_for_a_moment_is_run_again_and_the_first_run_is_superseded(testbed, broker, host, tmp_path):
    known, seen = broker.more_results, []

    def once_late(job) -> dict[str, Any]:
        seen.append(job.id)
        return known(job) | ({"late_phases": 60} if len(seen) == 2 else {})

    broker.more_results = once_late
    remarks: list[str] = []
    matrix = MATRIX.model_copy(update={"grids": (400,), "dilation": 2.0})
    measured = measure(testbed, matrix, tmp_path / "run", lambda report: remarks.append(report.remark))
    records = read_run(tmp_path / "run")
    assert measured.verdict.judgement == "valid"
    assert (len(records.jobs), [row.name for row in records.superseded]) == (4, ["poisson-400-on-16-over-2"])
    assert records.superseded[0].because == "run again at the same dilation"
    assert any("60.0% of compute phases late (run again at dilation 2)" in remark for remark in remarks)


def late_below(broker, dilation: float, wide_area) -> None:
    """Have jobs over two clusters run for more than a few iterations late below that dilation."""

    def record(job) -> dict[str, Any]:
        is_late = len(job.specification.components) > 1 and wide_area.programmed[-1] < dilation
        is_pilot = "pilots" in broker.runs[-1].request.name
        return {"runtime_s": 10.0, "iteration_s": 0.02, "late_phases": 60 if is_late and not is_pilot else 0}

    broker.more_results = record


def test_a_problem_that_stays_late_is_measured_whole_at_a_larger_dilation(testbed, broker, wide_area, tmp_path):
    late_below(broker, 4.0, wide_area)
    matrix = MATRIX.model_copy(update={"grids": (400,)})
    measured = measure(testbed, matrix, tmp_path / "run", silent)
    assert {cell.row.dilation for cell in measured.cells} == {4.0}
    assert measured.verdict.judgement == "valid"
    records = read_run(tmp_path / "run")
    assert len(records.jobs) == 4
    assert {row.dilation for row in records.superseded} < {0.5, 1.0, 2.0}
    assert "raised to 4" in records.manifest.plan["problems"][0]["how"]


def test_a_cell_that_failed_before_its_problem_was_raised_is_no_failure_once_it_ran(
    testbed, broker, wide_area, tmp_path
):
    late_below(broker, 4.0, wide_area)
    finish = broker.finish

    def fail_over_four(job: JobView) -> None:
        is_pilot = "pilots" in broker.runs[-1].request.name
        if len(job.specification.components) == 4 and not is_pilot and wide_area.programmed[-1] < 4.0:
            failed = job.model_copy(update={"state": JobState.FAILED, "reason": "No memory."})
            broker.append(EventKind.FAILED, 1.0, failed)
        else:
            finish(job)

    broker.on_submit = fail_over_four
    matrix = MATRIX.model_copy(update={"grids": (400,), "clusters": (1, 4, 2)})
    measured = measure(testbed, matrix, tmp_path / "run", silent)
    assert {(cell.row.clusters, cell.row.n) for cell in measured.cells} == {(1, 2), (2, 2), (4, 2)}
    assert (measured.failures, measured.verdict.judgement) == ((), "valid")
    assert read_run(tmp_path / "run").manifest.progress is RunProgress.COMPLETE


def test_a_dilation_is_raised_twice_at_most_and_then_the_reasons_stand(testbed, broker, wide_area, tmp_path):
    late_below(broker, 1000.0, wide_area)
    measured = measure(testbed, MATRIX.model_copy(update={"grids": (400,)}), tmp_path / "run", silent)
    single, spread = measured.cells
    assert (single.row.verdict, spread.row.verdict) == ("valid", "suspect")
    assert spread.row.reasons == "60.0% of compute phases late"
    assert single.row.dilation == spread.row.dilation


def test_a_stated_dilation_is_never_raised(testbed, broker, wide_area, tmp_path):
    late_below(broker, 1000.0, wide_area)
    matrix = MATRIX.model_copy(update={"grids": (400,), "dilation": 3.0})
    measured = measure(testbed, matrix, tmp_path / "run", silent)
    assert {cell.row.dilation for cell in measured.cells} == {3.0}
    assert len(read_run(tmp_path / "run").superseded) == 2


def test_an_interrupted_measurement_goes_on_at_the_dilations_it_had(testbed, broker, wide_area, host, tmp_path):
    ended = []

    def stop(progress: ProgressReport) -> None:
        if progress.finished == 2:
            ended.append(progress)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(testbed, MATRIX, tmp_path / "run", stop)
    assert wide_area.programmed[-1] == 1.0
    pilots = read_rows(tmp_path / "run" / "pilots", PilotRow)
    measured = resume(testbed, tmp_path / "run", silent)
    assert [(cell.row.grid, cell.row.dilation, cell.row.n) for cell in measured.cells] == [
        (100, 8.0, 2), (100, 8.0, 2), (400, 2.0, 2), (400, 2.0, 2),
    ]  # fmt: skip
    again = read_rows(tmp_path / "run" / "pilots", PilotRow)
    assert again[: len(pilots)] == pilots
    assert all("grid 100" in pilot.problem for pilot in again[len(pilots) :])
