"""Solving a known iteration for the cost of a grid-point update or for an application's weight."""

from __future__ import annotations

import pytest

from apps.descriptor import Work
from apps.registry import largest_share
from emulator.fidelity.calibration import Iteration, calibrated, predicted_compute_s, weighed
from emulator.model.errors import InvalidInput
from emulator.model.processor import Processor, processor_named

PROCESSOR = Processor(
    name="p", in_cache_ns_per_point=100, out_of_cache_ns_per_point=200, cache_bytes=80_000, weights={"heat": 3.0}
)


def test_a_poisson_iteration_whose_points_are_in_cache_gives_the_cost_in_cache():
    found = calibrated(PROCESSOR, "poisson", Work(10_000), Iteration(1.298e-3, 0.148e-3))
    assert (found.key, found.before, found.after) == ("in_cache_ns_per_point", 100, 115)
    assert found.processor.in_cache_ns_per_point == 115
    assert found.processor.out_of_cache_ns_per_point == 200
    assert found.processor.weights == {"heat": 3.0}


def test_a_poisson_iteration_whose_points_are_not_gives_the_other():
    found = calibrated(PROCESSOR, "poisson", Work(10_001), Iteration(10_001 * 265e-9))
    assert (found.key, found.after) == ("out_of_cache_ns_per_point", 265)
    assert found.processor.in_cache_ns_per_point == 100


def test_another_applications_iteration_gives_its_weight():
    found = calibrated(PROCESSOR, "laplace", Work(10_000, sweeps=5), Iteration(8e-3, 0.5e-3))
    assert (found.key, found.before, found.after) == ("weights.laplace", 1.0, 1.5)
    assert found.processor.weights == {"heat": 3.0, "laplace": 1.5}


@pytest.mark.parametrize("application", ["poisson", "laplace", "heat"])
def test_what_is_calibrated_then_takes_what_was_known(application):
    work, iteration = Work(20_000, 7), Iteration(0.0432, 0.0011)
    found = calibrated(PROCESSOR, application, work, iteration)
    assert predicted_compute_s(found.processor, application, work) == pytest.approx(iteration.compute_s, rel=1e-3)


def test_the_published_iterations_give_the_shipped_profile():
    """Table 3 less Table 10 (PBS, 4 x 4 processes): two grids with the same reduction, and one out of cache."""
    shipped = processor_named("das2-pentium3")
    small, middle = (runtime_s / iterations for runtime_s, iterations in ((0.72 - 0.28, 2132), (4.95 - 0.88, 3814)))
    in_cache_s = (middle - small) / (10_000 - 625)
    reduction_s = small - 625 * in_cache_s
    assert in_cache_s * 1e9 == pytest.approx(shipped.in_cache_ns_per_point, rel=0.01)
    large = Iteration(706 / 2644, 5.26 / 2644 + reduction_s)
    found = calibrated(shipped, "poisson", Work(1_000_000), large)
    assert found.after == pytest.approx(shipped.out_of_cache_ns_per_point, rel=0.01)


def test_a_weight_may_be_said_outright_but_not_that_of_poisson():
    assert weighed(PROCESSOR, "heat", 0.71234567).processor.weights == {"heat": 0.7123}
    with pytest.raises(InvalidInput, match="Poisson weighs 1 by definition"):
        weighed(PROCESSOR, "poisson", 2.0)


@pytest.mark.parametrize(
    ("iteration_s", "overhead_s", "said"),
    [
        (0.001, 0.001, "leaves nothing for computation, since 0.001 s of it are not"),
        (0.001, 0.002, "leaves nothing for computation, since 0.002 s of it are not"),
        (0.0, 0.0, "positive number of seconds, not 0"),
        (float("nan"), 0.0, "positive number of seconds, not nan"),
        (0.001, -0.001, "zero or more seconds, not -0.001"),
        (float("inf"), 0.0, "positive number of seconds, not inf"),
    ],
)
def test_an_iteration_that_would_give_no_cost_is_refused(iteration_s, overhead_s, said):
    with pytest.raises(InvalidInput, match=said):
        Iteration(iteration_s, overhead_s)


def test_an_unpaced_processor_has_nothing_to_calibrate():
    native = processor_named("native")
    with pytest.raises(InvalidInput, match="'native' is unpaced and has no costs to calibrate"):
        calibrated(native, "poisson", Work(100), Iteration(1.0))


def test_an_iteration_without_work_is_refused():
    with pytest.raises(InvalidInput, match="0 points computes nothing"):
        Work(0)


def test_ensflow_takes_its_published_time_on_the_shipped_profile():
    """Table 5: 12 processors, 3485 s for 20 days, a day an iteration, on the application's default grid."""
    shipped, work = processor_named("das2-pentium3"), largest_share("ensflow", 128, 12)
    assert 20 * predicted_compute_s(shipped, "ensflow", work) == pytest.approx(3485, rel=0.01)
