"""The cost of a point as a curve: smooth from cache to memory, dearer in company and on long rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.point_costs import MemoryCosts, PointCosts, WorkingSet, miss_share
from emulator.model.processor import processor_named

STEP = PointCosts(100.0, 250.0, 8000)
CURVE = PointCosts(70.0, 210.0, 262_144, MemoryCosts(8, 16_384, 0.2, 30.0))

points = st.integers(1, 4_000_000)


def test_without_a_memory_the_cost_is_a_step_at_8_bytes_a_point():
    assert STEP.ns_per_point(WorkingSet(1000, 16), computing=2) == 100.0
    assert STEP.ns_per_point(WorkingSet(1001, 16), computing=2) == 250.0


@pytest.mark.parametrize(("of_the_cache", "misses"), [(0.25, 0.0), (0.625, 0.11), (1.0, 0.54), (2.0, 0.99)])
def test_pages_of_random_colour_miss_smoothly(of_the_cache: float, misses: float):
    assert miss_share(int(of_the_cache * 262_144), 262_144, 8) == pytest.approx(misses, abs=0.03)


def test_a_fully_associative_cache_has_one_colour_and_a_step():
    assert miss_share(64 * 4096, 64 * 4096, 64) == 0.0
    assert miss_share(66 * 4096, 64 * 4096, 64) == 1.0


def test_only_what_is_fetched_depends_on_the_neighbours():
    in_cache = WorkingSet(100, 16)
    assert CURVE.ns_per_point(in_cache, computing=2) == CURVE.ns_per_point(in_cache, computing=1) == 70.0
    alone, beside = (CURVE.ns_per_point(WorkingSet(1_000_000, 16), computing=count) for count in (1, 2))
    assert (alone, beside) == (pytest.approx(210.0), pytest.approx(210.0 + 0.2 * 140.0))


def test_rows_longer_than_the_first_level_cache_cost_more_out_of_cache():
    short, long = (CURVE.ns_per_point(WorkingSet(1_000_000, 16, row)) for row in (250, 1000))
    assert short == pytest.approx(210.0 + 0.09 * 30.0, abs=1.0)
    assert long == pytest.approx(240.0)


@given(points, points, st.integers(1, 4), st.integers(0, 4000))
def test_a_larger_working_set_never_costs_less(first: int, second: int, computing: int, row: int):
    smaller, larger = sorted((first, second))
    cost_ns = [CURVE.ns_per_point(WorkingSet(count, 16, row), computing) for count in (smaller, larger)]
    assert 70.0 <= cost_ns[0] <= cost_ns[1] + 1e-9


@given(points, st.integers(1, 8))
def test_another_processor_of_the_node_never_makes_a_point_cheaper(count: int, computing: int):
    working_set = WorkingSet(count, 16, 100)
    assert CURVE.ns_per_point(working_set, computing) <= CURVE.ns_per_point(working_set, computing + 1)


@given(points, st.integers(8, 64), st.integers(8, 64))
def test_an_application_that_touches_more_bytes_never_pays_less(count: int, first: int, second: int):
    fewer, more = sorted((first, second))
    assert CURVE.ns_per_point(WorkingSet(count, fewer)) <= CURVE.ns_per_point(WorkingSet(count, more)) + 1e-9


def test_the_shipped_curve_gives_what_was_published_of_das2():
    costs = processor_named("das2-memory").costs
    # Grid 400 on 16 processors is in cache; grid 1000 on 64 half; grid 4000 on 8, alone on their nodes, and on 16.
    found = [
        costs.ns_per_point(WorkingSet(grid**2 // processors, 16, row), computing)
        for grid, processors, row, computing in (
            (400, 16, 100, 2),
            (1000, 64, 125, 2),
            (4000, 8, 1000, 1),
            (4000, 16, 1000, 2),
        )
    ]
    assert found == pytest.approx([90, 155, 242, 271], rel=0.05)
