"""What a calibration measures on a testbed: a double of the broker says how long its jobs took."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.calibration.measurements import (
    CalibrationTrial,
    computing_beside,
    measure_host_costs,
    measure_overhead,
)
from emulator.calibration.profile import KnownIteration, check_solvable, from_host, from_measured_overhead
from emulator.model.errors import InvalidInput, RunFailed, UnknownName
from emulator.model.processor import processor_named
from emulator.model.views import JobView
from emulator.runs.holding import Testbed
from emulator.runs.run_directory import read_run

TRIAL = CalibrationTrial(application="poisson", grid=400, processors=16, repeat=2, dilation=8)


def quiet(progress: object) -> None:
    """Nobody watches."""


@pytest.fixture
def records(broker):
    """What the double's jobs add to their records, by application."""
    added: dict[str, dict[str, Any]] = {}
    append = broker.append

    def append_with_more(kind, time_s, job: JobView | None = None, **detail):
        if job is not None and job.result is not None:
            more = added.get(job.specification.application, {})
            job = job.model_copy(update={"result": job.result | more})
        append(kind, time_s, job, **detail)

    broker.append = append_with_more
    return added


def test_the_overhead_is_what_the_processor_does_not_compute(testbed, broker, wide_area, records, tmp_path):
    records["poisson"] = {"iteration_s": 0.0013}
    measured = measure_overhead(testbed, TRIAL, tmp_path / "run", quiet)
    costs = testbed.topology.processor.costs
    assert measured.iteration_s == pytest.approx(0.0013)
    assert measured.overhead_s == pytest.approx(0.0013 - 10_000 * costs.in_cache_ns_per_point * 1e-9)
    assert measured.verdict.judgement.value == "valid"
    run = read_run(tmp_path / "run")
    assert [job.components for job in run.jobs] == [(16,), (16,)]
    assert wide_area.programmed == [1.0]
    assert not broker.held


@pytest.mark.parametrize(
    ("processors", "of_node", "computing"), [(1, 2, 1), (2, 2, 2), (16, 2, 2), (3, 4, 3), (5, 4, 4)]
)
def test_no_more_processors_compute_on_a_node_than_the_trial_has(testbed, processors, of_node, computing):
    first, *others = testbed.topology.clusters
    clusters = (first.model_copy(update={"processors_per_node": of_node}), *others)
    topology = testbed.topology.model_copy(update={"clusters": clusters})
    trial = TRIAL.model_copy(update={"processors": processors})
    assert computing_beside(topology, trial) == computing


def test_an_iteration_shorter_than_its_computation_has_no_overhead(testbed, records, tmp_path):
    records["poisson"] = {"iteration_s": 0.0001}
    assert measure_overhead(testbed, TRIAL, tmp_path / "run", quiet).overhead_s == 0.0


def test_a_void_measurement_calibrates_nothing(testbed, broker, records, tmp_path):
    records["poisson"] = {"host_critical_lateness_s": 60.0, "runtime_s": 10.0}
    with pytest.raises(RunFailed, match=r"is void \(late by 75.0% .*use a larger --dilation than 8"):
        measure_overhead(testbed, TRIAL, tmp_path / "run", quiet)
    assert not broker.held


def test_unpaced_processors_cannot_tell_computation_from_the_rest(testbed, broker, wide_area, tmp_path):
    native = testbed.topology.model_copy(update={"processor": processor_named("native")})
    unpaced = Testbed("double", testbed.client, native, wide_area, lambda: [])
    with pytest.raises(InvalidInput, match="has unpaced processors"):
        measure_overhead(unpaced, TRIAL, tmp_path / "run", quiet)
    assert broker.runs == []


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"processors": 17}, InvalidInput, "component of 17 processors"),
        ({"application": "laplace", "processors": 8}, InvalidInput, "square"),
        ({"application": "synthetic"}, UnknownName, "work by grid points"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_touched(testbed, broker, tmp_path, changes, error, said):
    with pytest.raises(error, match=said):
        measure_overhead(testbed, TRIAL.model_copy(update=changes), tmp_path / "run", quiet)
    assert broker.runs == []


def test_a_weight_compares_what_two_kernels_took_of_the_host(testbed, records, tmp_path):
    records["poisson"] = {"host_kernel_cpu_s": 100 * 400 * 400 * 2e-9, "iterations": 100}
    records["laplace"] = {"host_kernel_cpu_s": 50 * 400 * 400 * 3e-9, "iterations": 50}
    costs = measure_host_costs(testbed, TRIAL.model_copy(update={"application": "laplace"}), tmp_path / "run", quiet)
    assert costs.host_ns_per_point == pytest.approx(3.0)
    assert costs.host_reference_ns_per_point == pytest.approx(2.0)
    assert costs.weight == pytest.approx(1.5)
    applications = [job.application for job in read_run(tmp_path / "run").jobs]
    assert sorted(applications) == ["laplace", "laplace", "poisson", "poisson"]


def test_records_without_kernel_times_give_no_weight(testbed, records, tmp_path):
    with pytest.raises(RunFailed, match="do not say what its kernel took"):
        measure_host_costs(testbed, TRIAL.model_copy(update={"application": "laplace"}), tmp_path / "run", quiet)


def test_a_known_iteration_is_solved_for_without_the_measured_overhead(testbed, records, tmp_path):
    base = testbed.topology.processor
    records["poisson"] = {"iteration_s": 10_000 * base.costs.in_cache_ns_per_point * 1e-9 + 0.0002}
    known = KnownIteration(0.0012, "published")
    found = from_measured_overhead(testbed, base, TRIAL, known, tmp_path / "run", quiet)
    assert found.iteration.overhead_s == pytest.approx(0.0002)
    assert found.calibration.after == pytest.approx(100.0)
    assert (found.source, found.verdict) == ("published", "valid")
    assert "measured at dilation 8 on mini" in found.overhead_source


def test_this_host_gives_poissons_cost_and_another_applications_weight(testbed, records, tmp_path):
    base = testbed.topology.processor
    records["poisson"] = {"host_kernel_cpu_s": 100 * 400 * 400 * 2e-9, "iterations": 100}
    records["laplace"] = {"host_kernel_cpu_s": 50 * 400 * 400 * 3e-9, "iterations": 50}
    cost = from_host(testbed, base, TRIAL, tmp_path / "poisson", quiet)
    assert (cost.calibration.key, cost.calibration.after) == ("in_cache_ns_per_point", pytest.approx(2.0))
    laplace = TRIAL.model_copy(update={"application": "laplace"})
    weight = from_host(testbed, base, laplace, tmp_path / "laplace", quiet)
    assert (weight.calibration.key, weight.calibration.after) == ("weights.laplace", pytest.approx(1.5))
    assert "this host: 3 ns of CPU a point, poisson 2 ns" in weight.source


def test_what_no_overhead_makes_solvable_is_refused_before_anything_runs(testbed, broker):
    with pytest.raises(InvalidInput, match="positive number of seconds"):
        check_solvable(testbed.topology.processor, TRIAL, KnownIteration(0.0, "said"))
    with pytest.raises(InvalidInput, match="unpaced"):
        check_solvable(processor_named("native"), TRIAL, None)
    assert broker.runs == []
