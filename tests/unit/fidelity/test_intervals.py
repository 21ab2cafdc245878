"""Intervals cover what they should as often as they say, and say nothing where there is too little to tell."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from emulator.fidelity.intervals import (
    Estimate,
    mean,
    mean_of_paired_ratios,
    mean_of_positive,
    pooled_freedom,
    quotient,
    ratio_of_means,
    ratio_of_products,
    student_quantile,
)


@given(st.one_of(st.integers(1, 40), st.floats(1, 1e6)))
def test_the_quantile_is_scipys(freedom: float) -> None:
    assert student_quantile(freedom) == pytest.approx(stdtrit(freedom, 0.975), rel=1e-8)


def test_the_quantile_of_one_degree_of_freedom_is_known_exactly() -> None:
    assert student_quantile(1) == pytest.approx(numpy.tan(numpy.pi * 0.475), rel=1e-12)


def test_a_mean_has_students_interval() -> None:
    estimate = mean([1.0, 2.0, 3.0, 4.0])
    assert estimate.value == 2.5
    assert estimate.low == pytest.approx(2.5 - 3.1824 * 1.29099 / 2, abs=1e-3)
    assert estimate.high == pytest.approx(2.5 + 3.1824 * 1.29099 / 2, abs=1e-3)


def test_one_value_has_no_interval_and_nothing_positive_has_no_estimate() -> None:
    single = mean([3.0])
    assert (single.value, single.low, single.high) == (3.0, None, None)
    assert mean_of_positive([]) is None
    assert ratio_of_means([], [1.0]) is None
    assert ratio_of_means([0.0], [1.0]) is None


def test_a_mean_of_positive_values_has_a_positive_interval_that_covers_the_truth() -> None:
    spread = mean_of_positive([1.0, 9.0])
    assert spread is not None
    assert spread.low is not None
    assert spread.high is not None
    assert 0 < spread.low < spread.value == 5.0 < spread.high
    assert mean_of_positive([0.0, 1.0]) is None
    generator = numpy.random.default_rng(2)
    estimates = [mean_of_positive(list(generator.normal(10, 1, 3))) for _ in range(1_000)]
    covered = sum(
        estimate is not None
        and estimate.low is not None
        and estimate.high is not None
        and estimate.low <= 10 <= estimate.high
        for estimate in estimates
    )
    assert 0.93 <= covered / 1_000 <= 0.97


def test_a_ratio_of_exact_repetitions_is_exact() -> None:
    estimate = ratio_of_means([2.0, 2.0], [1.0, 1.0])
    assert estimate is not None
    assert (estimate.value, estimate.low, estimate.high) == (2.0, 2.0, 2.0)


def test_the_interval_of_a_ratio_covers_the_truth_about_95_times_in_100() -> None:
    generator = numpy.random.default_rng(1)
    covered = 0
    for _ in range(1_000):
        estimate = ratio_of_means(list(generator.normal(12, 0.6, 4)), list(generator.normal(10, 0.3, 4)))
        assert estimate is not None
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= 1.2 <= estimate.high
    assert 0.93 <= covered / 1_000 <= 0.98


def test_a_ratio_of_ratios_covers_the_truth_as_often_as_it_says() -> None:
    rng = numpy.random.default_rng(5)
    covered = 0
    for _ in range(1000):
        samples = [true * (1 + 0.03 * rng.standard_normal(4)) for true in (12.0, 3.0, 11.0, 3.0)]
        again, single_again, first, single = map(list, samples)
        estimate = ratio_of_products([again, single], [single_again, first])
        assert estimate is not None
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= 12 / 11 <= estimate.high
    assert 0.93 <= covered / 1000 <= 0.98


def test_degrees_of_freedom_do_not_depend_on_the_unit_not_even_where_squares_would_be_zero() -> None:
    assert pooled_freedom([1e-200, 3e-200], [2, 3]) == pytest.approx(pooled_freedom([1.0, 3.0], [2, 3]))


def test_the_mean_of_paired_ratios_has_students_interval_over_the_ratios() -> None:
    estimate = mean_of_paired_ratios([2.0, 6.0, 16.0], [1.0, 2.0, 4.0])
    assert estimate == mean([2.0, 3.0, 4.0])
    assert mean_of_paired_ratios([2.0], [4.0]) == mean([0.5])
    for numerators, denominators in (([], []), ([1.0], [0.0]), ([1.0, 2.0], [1.0])):
        assert mean_of_paired_ratios(numerators, denominators) is None


def test_a_quotient_of_estimates_has_the_interval_of_both_logarithms() -> None:
    above, below = Estimate(20.0, 10.0, 40.0, 3), Estimate(5.0, 5.0, 5.0, 4)
    found = quotient(above, below)
    assert (found.value, found.low, found.high, found.n) == (4.0, pytest.approx(2.0), pytest.approx(8.0), 3)
    both = quotient(above, Estimate(5.0, 2.5, 10.0, 4))
    assert both.high == pytest.approx(4.0 * 2 ** numpy.sqrt(2))


def test_a_quotient_of_an_estimate_without_a_positive_interval_has_none() -> None:
    known = Estimate(5.0, 4.0, 6.0, 3)
    for other in (Estimate(2.0, None, None, 1), Estimate(2.0, -1.0, 5.0, 3)):
        assert quotient(known, other) == Estimate(2.5, None, None, other.n)
        assert quotient(other, known).low is None
