"""A measurement's configurations, and the factors that come of their runtimes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.campaigns.extension import Measurement, default_iterations, measure
from emulator.campaigns.run_directory import read_run
from emulator.fidelity.measures import LinkCheck
from emulator.model.catalogue import topology_named
from emulator.model.errors import ImpossibleRequest, InvalidInput, RunFailed, TestbedError, UnknownName
from emulator.model.job import JobState
from emulator.model.views import EventKind

MINI = topology_named("mini")
MEASUREMENT = Measurement(
    application="poisson", grid=400, processors=16, clusters=(1, 2, 4), repeat=3, iterations=100, dilation=8
)


def test_components_are_equal_and_on_the_first_clusters():
    jobs = MEASUREMENT.specifications(MINI)
    assert [job.components for job in jobs] == [(16,), (8, 8), (4, 4, 4, 4)]
    assert [job.clusters for job in jobs] == [
        ("amsterdam",), ("amsterdam", "delft"), ("amsterdam", "delft", "leiden", "utrecht"),
    ]  # fmt: skip
    assert all(job.request.value == "fixed" for job in jobs)


def test_the_clusters_to_use_can_be_named():
    jobs = replace(MEASUREMENT, clusters=(1, 2), on=("utrecht", "delft")).specifications(MINI)
    assert [job.clusters for job in jobs] == [("utrecht",), ("utrecht", "delft")]


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"clusters": (5,), "processors": 20}, ImpossibleRequest, "cannot spread over 5 clusters: 4 are of topology"),
        ({"clusters": (3,)}, ImpossibleRequest, "16 processors do not divide equally among 3 clusters"),
        ({"processors": 20}, ImpossibleRequest, "component of 20 processors, but the largest"),
        ({"processors": 128}, ImpossibleRequest, "asks for 128 processors, but 'mini' has 64"),
        ({"clusters": (1, 2), "on": ("delft",)}, ImpossibleRequest, "1 are named by --on"),
        ({"clusters": (1,), "on": ("paris",)}, UnknownName, "no cluster 'paris'"),
        ({"clusters": (1, 1)}, InvalidInput, "named twice"),
        ({"clusters": (0,)}, InvalidInput, "clusters: must be at least 1, not 0"),
        ({"grid": 0}, InvalidInput, "grid: must be at least 1"),
        ({"application": "No Such"}, InvalidInput, "measure: name: string"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_sentence(changes, error, sentence):
    with pytest.raises(error, match=sentence):
        replace(MEASUREMENT, **changes).specifications(MINI)


def test_an_impossible_dilation_is_refused_before_anything_is_touched(testbed, broker, tmp_path):
    with pytest.raises(InvalidInput, match="measure: dilation"):
        measure(testbed, replace(MEASUREMENT, dilation=0), tmp_path / "run", lambda progress: None)
    assert broker.runs == []


def test_configurations_take_turns_and_factors_are_relative_to_one_cluster(testbed, broker, wide_area, tmp_path):
    measured = measure(testbed, MEASUREMENT, tmp_path / "run", lambda progress: None)
    records = read_run(tmp_path / "run")
    assert [len(job.components) for job in records.jobs] == [1, 2, 4] * 3
    rows = {row.clusters: row for row in records.extension_factors}
    assert rows[1].extension_factor == 1.0
    assert rows[2].extension_factor == pytest.approx(11 / 9, rel=0.01)
    assert rows[4].extension_factor == pytest.approx(13 / 9, rel=0.01)
    assert rows[2].ci_low < rows[2].extension_factor < rows[2].ci_high
    assert [row.n for row in records.extension_factors] == [3, 3, 3]
    assert {row.verdict for row in records.extension_factors} == {"valid"}
    assert [configuration.row for configuration in measured.configurations] == records.extension_factors
    assert wide_area.programmed == [8.0, 1.0]
    assert not broker.held


def test_a_failed_link_check_reaches_every_factor(testbed, wide_area, tmp_path):
    wide_area.check_made = LinkCheck("before", 0.3, "rate from delft to leiden")
    measured = measure(testbed, MEASUREMENT, tmp_path / "run", lambda progress: None)
    assert {configuration.row.verdict for configuration in measured.configurations} == {"void"}
    assert "rate from delft to leiden" in measured.verdict.reasons[0]


def test_a_failed_job_ends_the_measurement_with_its_reason(testbed, broker, wide_area, tmp_path):
    def fail(job):
        broker.append(EventKind.FAILED, 1.0, job.model_copy(update={"state": JobState.FAILED, "reason": "No memory."}))

    broker.on_submit = fail
    with pytest.raises(RunFailed, match=r"Job 1 \(poisson-over-1\) failed: No memory; 0 finished records"):
        measure(testbed, MEASUREMENT, tmp_path / "run", lambda progress: None)
    assert not broker.held
    assert wide_area.programmed[-1] == 1.0


def test_the_default_number_of_iterations_suits_the_grid():
    assert default_iterations(400, 16, MINI.processor) == 120
    assert default_iterations(4000, 16, MINI.processor) == 20
    assert default_iterations(10**6, 1, MINI.processor) == 20
    assert issubclass(InvalidInput, TestbedError)
