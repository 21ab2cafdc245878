"""Attribution and check of a measurement: which runs are made, what comes of them, and resuming in between."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from emulator.containers.wan.controls import Control
from emulator.measurement.extension import measure, resume
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput, RunFailed
from emulator.model.job import JobState
from emulator.model.records import RunProgress
from emulator.model.views import EventKind, JobView
from emulator.planning.choices import asked_choices, estimates
from emulator.planning.plan import HOST_CHECK_S
from emulator.runs.matrix import Matrix, lay_out
from emulator.runs.progress import ProgressReport
from emulator.runs.resuming import read_attempts
from emulator.runs.run_directory import read_manifest, read_run

K = 8.0
MATRIX = Matrix(
    applications=("poisson",), grids=(400,), processors=(16,), clusters=(1, 2), repeat=2, iterations=100, dilation=K,
    attribute=True,
)  # fmt: skip
CONTROLS = [
    (Control.AS_ASKED, K),
    (Control.WITHOUT_WIDE_AREA, K),
    (Control.LATENCY_ALONE, K),
    (Control.RATE_ALONE, K),
    (Control.UNSHARED, K),
    (Control.WITHOUT_WIDE_AREA, 2 * K),
]
COMPUTE_S, INSIDE_S, LATENCY_S, RATE_S, CONTENTION_S = 3.0, 1.0, 4.0, 2.0, 0.5


def silent(progress: ProgressReport) -> None:
    pass


@pytest.fixture
def emulated(broker, wide_area):
    """Jobs whose runtime is made of known parts, whatever is left of the wide area at the moment."""

    def record(job: JobView) -> dict[str, Any]:
        control, factor = wide_area.controls[-1]
        # What the emulator costs does not dilate: the more, the smaller the dilation.
        runtime_s = COMPUTE_S + INSIDE_S + 0.8 / factor
        if len(job.specification.components) > 1:
            with_latency = control in (Control.AS_ASKED, Control.LATENCY_ALONE, Control.UNSHARED)
            with_rate = control in (Control.AS_ASKED, Control.RATE_ALONE, Control.UNSHARED)
            # Unlimited is five times the dilation as fast as asked.
            runtime_s += 1.6 / factor + LATENCY_S * with_latency + (RATE_S if with_rate else RATE_S / (5 * factor))
            runtime_s += CONTENTION_S * (control is Control.AS_ASKED)
        return {"runtime_s": runtime_s, "compute_s": {"max": COMPUTE_S, "mean": COMPUTE_S}}

    broker.more_results = record


def sessions(wide_area) -> list[tuple[Control, float]]:
    """What the links were programmed for, without giving back."""
    return [(control, factor) for control, factor in wide_area.controls if factor != 1.0]


def test_each_control_is_run_under_its_own_wide_area_and_the_testbed_is_given_back(
    testbed, broker, wide_area, emulated, tmp_path
):
    measure(testbed, MATRIX, tmp_path / "run", silent)
    assert sessions(wide_area) == CONTROLS
    assert wide_area.controls[-1] == (Control.AS_ASKED, 1.0)
    assert not broker.held
    jobs = [len(job.specification.components) for job in broker.jobs.values()]
    assert jobs == [1, 2] * 2 + [2] * 2 * 4 + [1, 2] * 2
    manifests = [read_manifest(folder) for folder in sorted((tmp_path / "run").glob("control-*"))]
    assert {manifest.control for manifest in manifests} == {
        "without-wide-area", "latency-alone", "rate-alone", "unshared",
    }  # fmt: skip
    assert all(manifest.progress is RunProgress.COMPLETE for manifest in manifests)


def test_a_control_that_cannot_be_made_is_refused_before_anything_runs(
    testbed, broker, wide_area, emulated, tmp_path, monkeypatch
):
    def refuse(control: Control) -> None:
        if not control.delayed:
            raise InvalidInput("The hosts are too far apart.")

    monkeypatch.setattr(wide_area, "under", refuse)
    with pytest.raises(InvalidInput, match="too far apart"):
        measure(testbed, MATRIX, tmp_path / "run", silent)
    assert (broker.runs, broker.jobs) == ([], {})
    assert not (tmp_path / "run").exists()


def test_the_records_of_a_control_hold_what_was_left_of_the_wide_area(testbed, emulated, tmp_path):
    measure(testbed, MATRIX, tmp_path / "run", silent)
    left = read_manifest(tmp_path / "run" / "control-without-wide-area").topology
    assert left == Control.WITHOUT_WIDE_AREA.of(testbed.topology, Dilation(K))
    assert read_manifest(tmp_path / "run").topology == testbed.topology


def test_the_parts_of_a_factor_are_found_written_and_add_up(testbed, emulated, tmp_path):
    measured = measure(testbed, MATRIX, tmp_path / "run", silent)
    rows = {row.part: row for row in read_run(tmp_path / "run").attribution}
    assert list(measured.attribution) == list(rows.values())
    single_s = COMPUTE_S + INSIDE_S + 0.1
    added_s = {part: row.added_s for part, row in rows.items()}
    assert added_s == pytest.approx(
        {
            "compute": 0.0, "interconnect": 0.0, "latency": LATENCY_S, "rate": RATE_S, "contention": CONTENTION_S,
            "emulator": 0.2, "whole": LATENCY_S + RATE_S + CONTENTION_S + 0.2,
        }, abs=1e-9,
    )  # fmt: skip
    factor = read_run(tmp_path / "run").extension_factors[1].extension_factor
    assert rows["whole"].added == pytest.approx(factor - 1)
    assert rows["latency"].added == pytest.approx(LATENCY_S / single_s)
    assert (rows["compute"].single_share, rows["whole"].single_share) == (pytest.approx(COMPUTE_S / single_s), 1.0)
    assert {row.verdict for row in rows.values()} == {"valid"}


def test_a_control_that_is_not_valid_makes_the_parts_so(testbed, broker, wide_area, emulated, tmp_path):
    known = broker.more_results

    def late_without_sharing(job: JobView) -> dict[str, Any]:
        late = 0.5 * K if wide_area.controls[-1][0] is Control.UNSHARED else 0.0
        return {**known(job), "host_critical_lateness_s": late}

    broker.more_results = late_without_sharing
    measured = measure(testbed, MATRIX, tmp_path / "run", silent)
    assert measured.verdict.judgement == "valid"
    assert {row.verdict for row in measured.attribution} == {"suspect"}


def test_what_was_interrupted_between_two_controls_is_resumed_there(testbed, broker, wide_area, emulated, tmp_path):
    finish, path = broker.finish, tmp_path / "run"

    def stop_in_the_third(job: JobView) -> None:
        if wide_area.controls[-1][0] is Control.LATENCY_ALONE:
            raise KeyboardInterrupt
        finish(job)

    broker.on_submit = lambda job: (
        fail(broker, job) if wide_area.controls[-1][0] is Control.LATENCY_ALONE else finish(job)
    )
    with pytest.raises(RunFailed, match="No memory"):
        measure(testbed, MATRIX, path, silent)
    assert read_manifest(path).progress is RunProgress.INCOMPLETE
    assert len(read_run(path).extension_factors) == 2
    broker.on_submit = finish
    wide_area.controls.clear()
    measured = resume(testbed, path, silent)
    assert sessions(wide_area) == CONTROLS[2:]
    assert len(measured.attribution) == 7
    assert read_manifest(path).progress is RunProgress.COMPLETE
    with pytest.raises(InvalidInput, match="is complete"):
        resume(testbed, path, silent)


def fail(broker, job: JobView) -> None:
    failed = job.model_copy(update={"state": JobState.FAILED, "reason": "No memory."})
    broker.append(EventKind.FAILED, 1.0, failed)


def test_jobs_of_a_control_count_at_the_dilation_they_had_and_at_no_other(testbed, emulated, tmp_path):
    measure(testbed, MATRIX, tmp_path / "run", silent)
    earlier, layout = read_attempts(tmp_path / "run" / "control-larger-dilation"), lay_out(MATRIX, testbed.topology)
    assert {len(jobs) for jobs in earlier.finished(layout, 2, Dilation(2 * K)).values()} == {2}
    assert not any(earlier.finished(layout, 2, Dilation(4 * K)).values())


def test_a_factor_of_which_a_control_failed_has_no_parts_and_the_others_have(
    testbed, broker, wide_area, emulated, tmp_path
):
    finish = broker.finish

    def fail_over_four_unshared(job: JobView) -> None:
        doomed = len(job.specification.components) == 4 and wide_area.controls[-1][0] is Control.UNSHARED
        fail(broker, job) if doomed else finish(job)

    broker.on_submit = fail_over_four_unshared
    measured = measure(testbed, MATRIX.model_copy(update={"clusters": (1, 2, 4)}), tmp_path / "run", silent)
    assert {row.clusters for row in measured.attribution} == {2}
    assert "No memory" in measured.failures[0]
    assert read_manifest(tmp_path / "run").progress is RunProgress.INCOMPLETE


def test_what_has_no_part_in_a_factor_is_not_run_again(testbed, emulated, tmp_path):
    changes = {"clusters": (1, 2), "repeat": 1, "as_coallocated": True, "check": True}
    measured = measure(testbed, MATRIX.model_copy(update=changes), tmp_path / "run", silent)
    names = {
        folder.name: [job.name.removeprefix("poisson-400-on-16-over-") for job in read_run(folder).jobs]
        for folder in (tmp_path / "run").iterdir() if folder.is_dir()
    }  # fmt: skip
    assert names["check"] == ["1", "1-as-coallocated", "2"]
    assert names["control-larger-dilation"] == ["1", "2"]
    assert names["control-unshared"] == ["2"]
    assert [(row.clusters, row.extension_factor is None) for row in measured.invariance] == [
        (1, True), (1, False), (2, False),
    ]  # fmt: skip


def test_a_factor_is_attributed_only_where_there_is_one():
    for clusters in ((1,), (2, 4)):
        with pytest.raises(ValidationError, match="there is a factor to attribute where"):
            Matrix(applications=("poisson",), grids=(400,), processors=(16,), clusters=clusters, attribute=True)


CHECKED = MATRIX.model_copy(update={"attribute": False, "check": True})
PLAIN = MATRIX.model_copy(update={"attribute": False})


@pytest.mark.parametrize("asked", ["attribute", "check"])
def test_a_dilation_of_which_twice_is_no_dilation_is_refused(asked):
    stated = {
        "applications": ("poisson",), "grids": (400,), "processors": (16,), "clusters": (1, 2), asked: True,
    }  # fmt: skip
    assert Matrix(dilation=5000, **stated).dilation == 5000
    with pytest.raises(ValidationError, match=rf"{asked}: has runs at 2 times the dilation.* 5000 or less, not 5001"):
        Matrix(dilation=5001, **stated)


def test_an_estimate_contains_the_control_runs_and_their_checks_of_the_links(testbed):
    topology = testbed.topology
    once, twice = (list(asked_choices(lay_out(MATRIX, topology), factor).values()) for factor in (K, 2 * K))
    cells, host_s = estimates(once, PLAIN, topology)
    _, of_check_s = estimates(twice, PLAIN, topology)
    assert estimates(once, CHECKED, topology) == (cells, pytest.approx(host_s + of_check_s))
    assert estimates(once, MATRIX, topology)[1] > host_s + 5 * HOST_CHECK_S


def test_the_check_repeats_every_cell_at_twice_the_dilation(testbed, wide_area, emulated, tmp_path):
    measured = measure(testbed, CHECKED, tmp_path / "run", silent)
    assert sessions(wide_area) == [(Control.AS_ASKED, K), (Control.AS_ASKED, 2 * K)]
    single, double = measured.invariance
    assert read_run(tmp_path / "run").invariance == [single, double]
    assert (single.dilation, single.check_dilation, single.n) == (K, 2 * K, 2)
    assert single.difference == pytest.approx(4.05 / 4.1 - 1)
    assert double.difference == pytest.approx(double.check_extension_factor / double.extension_factor - 1)
    assert (single.extension_factor, single.defect) == (None, False)
    assert measured.defects == ()
    assert read_manifest(tmp_path / "run").progress is RunProgress.COMPLETE


def test_a_valid_figure_that_does_not_hold_is_a_defect_and_a_suspect_one_is_none(
    testbed, broker, wide_area, emulated, tmp_path
):
    broker.more_results = lambda job: {
        "runtime_s": 10 + 4 * len(job.specification.components) / wide_area.controls[-1][1],
        "late_phases": 0,
    }
    measured = measure(testbed, CHECKED, tmp_path / "valid", silent)
    assert [row.defect for row in measured.invariance] == [False, False]
    broker.more_results = lambda job: {
        "runtime_s": 10 + 40 * (len(job.specification.components) - 1) / wide_area.controls[-1][1]
    }
    measured = measure(testbed, CHECKED, tmp_path / "defect", silent)
    assert [row.defect for row in measured.invariance] == [False, True]
    assert measured.defects == (
        "poisson grid 400 on 16 processors over 2 clusters: valid, but its extension factor at dilation 16 differs "
        "by -16.7% from that at 8",
    )
    assert read_manifest(tmp_path / "defect").defects == measured.defects
    known = broker.more_results
    broker.more_results = lambda job: {**known(job), "late_phases": 60}
    measured = measure(testbed, CHECKED, tmp_path / "suspect", silent)
    assert measured.defects == ()
