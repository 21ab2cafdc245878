"""Worst fit with repetition: the papers' worked example, and what must hold for every request and state."""

from hypothesis import given
from hypothesis import strategies as st

from emulator.model.job import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.fixed import AcceptingFixed, place_fixed
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.state import SystemState

sizes = st.lists(st.integers(1, 20), min_size=1, max_size=6).map(tuple)
idles = st.lists(st.integers(0, 40), min_size=1, max_size=6)


def state_with(*idle: int) -> SystemState:
    return SystemState((64,) * len(idle), tuple(idle))


def non_fixed(*components: int) -> JobRequest:
    return JobRequest(RequestKind.NON_FIXED, components)


def test_published_example_one_component_per_cluster():
    """Idle (18, 15, 12), request (8, 8, 8): one per cluster, left (10, 7, 4)."""
    state = state_with(18, 15, 12)
    placement = WorstFit().place(non_fixed(8, 8, 8), state)
    assert placement == Placement((Component(0, 8), Component(1, 8), Component(2, 8)))
    assert state.after(placement).idle == (10, 7, 4)


def test_close_to_files_example_largest_component_first_and_clusters_repeat():
    """Idle A6 B20 C12 D30, components (16, 10, 8): 16 to D, 10 to B, 8 to D."""
    placement = WorstFit().place(non_fixed(16, 10, 8), state_with(6, 20, 12, 30))
    assert [component.cluster for component in placement.components] == [3, 1, 3]


def test_components_keep_the_order_of_the_request():
    placement = WorstFit().place(non_fixed(4, 16), state_with(20, 10))
    assert placement == Placement((Component(1, 4), Component(0, 16)))


def test_ties_go_to_the_lowest_index():
    assert WorstFit().place(non_fixed(4), state_with(8, 8, 8)).components[0].cluster == 0


def test_a_component_of_24_fits_nowhere_though_45_are_idle():
    assert WorstFit().place(non_fixed(24), state_with(18, 15, 12)) is None


@given(sizes, idles)
def test_never_over_allocates_and_is_all_or_nothing(components, idle):
    state = state_with(*idle)
    placement = WorstFit().place(non_fixed(*components), state)
    if placement is not None:
        assert tuple(component.processors for component in placement.components) == components
        assert min(state.after(placement).idle) >= 0
    else:
        # Greedy by size is complete when each component fits the roomiest cluster by a margin.
        assert max(idle) < sum(components)


@given(sizes, idles)
def test_is_deterministic(components, idle):
    assert WorstFit().place(non_fixed(*components), state_with(*idle)) == WorstFit().place(
        non_fixed(*components), state_with(*idle)
    )


def test_a_fixed_request_goes_where_it_says_or_nowhere():
    request = JobRequest(RequestKind.FIXED, (8, 8), (2, 0))
    assert place_fixed(request, state_with(8, 0, 8)) == Placement((Component(2, 8), Component(0, 8)))
    assert place_fixed(request, state_with(8, 40, 7)) is None
    twice = JobRequest(RequestKind.FIXED, (8, 8), (1, 1))
    assert place_fixed(twice, state_with(0, 15)) is None


def test_any_policy_can_be_made_to_accept_fixed_requests():
    policy = AcceptingFixed(WorstFit())
    assert policy.accepts == WorstFit.accepts | {RequestKind.FIXED}
    placed = policy.place(JobRequest(RequestKind.FIXED, (4,), (1,)), state_with(30, 5))
    assert placed == Placement((Component(1, 4),))
    assert policy.place(non_fixed(4), state_with(30, 5)) == Placement((Component(0, 4),))
