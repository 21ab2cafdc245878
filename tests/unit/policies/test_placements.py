"""Placement policies: every worked example of the papers by name, and what must hold for all requests and states."""

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.by_kind import ByKind
from emulator.policies.placement.close_to_files import CloseToFiles, every_pair
from emulator.policies.placement.cluster_minimization import ClusterMinimization
from emulator.policies.placement.fixed import AcceptingFixed
from emulator.policies.placement.flexible_cluster_minimization import FlexibleClusterMinimization
from emulator.policies.placement.quota import Quota
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.placement.worst_fit_distinct import WorstFitDistinct
from emulator.policies.request_kinds import as_taken, as_total
from emulator.policies.state import FileState, Surroundings, SystemState

A, B, C, D = range(4)
MEGABYTE = 1e6
sizes = st.lists(st.integers(1, 12), min_size=1, max_size=4).map(tuple)
idles = st.lists(st.integers(0, 16), min_size=1, max_size=4)


def state_with(*idle, surroundings=None):
    return SystemState((40,) * len(idle), tuple(idle), 0.0, surroundings or Surroundings())


def unordered(*components):
    return JobRequest(RequestKind.UNORDERED, components)


def non_fixed(*components, file=None):
    return JobRequest(RequestKind.NON_FIXED, components, file=file)


def flexible(total, **limits):
    return JobRequest(RequestKind.FLEXIBLE, (total,), **limits)


def clusters_of(placement):
    return None if placement is None else [component.cluster for component in placement.components]


def parts(placement):
    if placement is None:
        return None
    return [(component.cluster, component.processors) for component in placement.components]


# Worst fit without repetition.


def test_wf_distinct_example_16_16_4():
    """Idle (20, 10, 32, 5), request (16, 16, 4): 16 to cluster 3, 16 to cluster 1, 4 to cluster 2."""
    assert clusters_of(WorstFitDistinct().place(unordered(16, 16, 4), state_with(20, 10, 32, 5))) == [2, 0, 1]


@pytest.mark.parametrize(
    ("components", "second_fits", "left"),
    [((22, 21, 21), False, [10, 11, 11, 32]), ((16, 16, 16, 16), True, [16] * 4), ((32, 32), True, [0, 0, 32, 32])],
)
def test_wf_distinct_published_example_job_of_64_on_four_by_32(components, second_fits, left):
    """Under size limit 24 a second job of 64 does not fit beside the first; under 16 and 32 it does."""
    empty = SystemState((32,) * 4, (32,) * 4)
    first = WorstFitDistinct().place(unordered(*components), empty)
    after = empty.after(first)
    assert sorted(after.idle) == left
    assert (WorstFitDistinct().place(unordered(*components), after) is not None) == second_fits


@given(sizes, idles)
def test_wf_distinct_is_complete_and_never_repeats_a_cluster(components, idle):
    placement = WorstFitDistinct().place(unordered(*components), state_with(*idle))
    some_exists = any(
        all(size <= idle[cluster] for size, cluster in zip(components, chosen, strict=True))
        for chosen in permutations(range(len(idle)), len(components))
    )
    assert (placement is not None) == some_exists
    if placement is not None:
        assert len(set(clusters_of(placement))) == len(components)
        assert tuple(component.processors for component in placement.components) == components
        assert min(state_with(*idle).after(placement).idle) >= 0


# Cluster minimization.


def test_cm_published_example_two_clusters_instead_of_three():
    """Idle (18, 15, 12), request (8, 8, 8): two on C1, one on C2, left (2, 7, 12)."""
    state = state_with(18, 15, 12)
    placement = ClusterMinimization().place(non_fixed(8, 8, 8), state)
    assert clusters_of(placement) == [0, 0, 1]
    assert state.after(placement).idle == (2, 7, 12)


def test_cm_takes_nothing_when_a_later_component_does_not_fit():
    assert ClusterMinimization().place(non_fixed(8, 8, 8), state_with(9, 9)) is None


@pytest.mark.parametrize("policy", [WorstFit(), ClusterMinimization()])
@given(components=sizes, idle=idles)
def test_wf_and_cm_keep_the_request_and_never_over_allocate(policy, components, idle):
    placement = policy.place(non_fixed(*components), state_with(*idle))
    if placement is not None:
        assert tuple(component.processors for component in placement.components) == components
        assert min(state_with(*idle).after(placement).idle) >= 0
    if len(components) == 1:
        assert (placement is None) == (max(idle) < components[0])


@given(sizes, idles)
def test_cm_fills_the_roomiest_cluster_first(components, idle):
    placement = ClusterMinimization().place(non_fixed(*components), state_with(*idle))
    if placement is not None and max(idle) >= sum(components):
        assert set(clusters_of(placement)) == {idle.index(max(idle))}


# Flexible cluster minimization.


def test_fcm_published_example_18_and_6():
    """Idle (18, 15, 12), total 24: 18 on C1, 6 on C2; as one component it cannot be placed by WF or CM."""
    state = state_with(18, 15, 12)
    assert parts(FlexibleClusterMinimization().place(flexible(24), state)) == [(0, 18), (1, 6)]
    assert WorstFit().place(non_fixed(24), state) is None
    assert ClusterMinimization().place(non_fixed(24), state) is None


def test_fcm_skips_clusters_without_idle_processors():
    assert parts(FlexibleClusterMinimization().place(flexible(6), state_with(0, 4, 2, 0))) == [(1, 4), (2, 2)]


def test_fcm_leaves_the_least_component_to_the_last_cluster():
    """A rest of 2 would be less than the least component of 4, so the first cluster gives up 2."""
    state = state_with(10, 8, 3)
    assert parts(FlexibleClusterMinimization().place(flexible(12, least_component=4), state)) == [(0, 8), (1, 4)]
    assert FlexibleClusterMinimization().place(flexible(20, least_component=4), state) is None


def test_fcm_splits_into_at_most_so_many_components():
    assert FlexibleClusterMinimization().place(flexible(12, most_components=2), state_with(5, 5, 5)) is None
    assert FlexibleClusterMinimization().place(flexible(10, most_components=2), state_with(5, 5, 5)) is not None


def test_fcm_takes_the_first_admissible_split_that_fits():
    request = flexible(24, splits=((24,), (12, 12), (8, 8, 8)))
    assert parts(FlexibleClusterMinimization().place(request, state_with(18, 15, 12))) == [(0, 12), (1, 12)]
    assert parts(FlexibleClusterMinimization().place(request, state_with(8, 11, 9))) == [(1, 8), (2, 8), (0, 8)]
    assert FlexibleClusterMinimization().place(request, state_with(23, 1, 1)) is None


def _some_split_exists(total, idle, least, most):
    return any(
        sum(split) == total and all(part == 0 or part >= least for part in split) and sum(map(bool, split)) <= most
        for split in product(*(range(free + 1) for free in idle))
    )


@given(st.integers(1, 14), st.lists(st.integers(0, 6), min_size=1, max_size=3), st.integers(1, 4), st.integers(1, 3))
def test_fcm_is_complete_within_its_limits_and_uses_the_fewest_clusters(total, idle, least, most):
    least = min(least, total)
    request = flexible(total, least_component=least, most_components=most)
    placement = FlexibleClusterMinimization().place(request, state_with(*idle))
    assert (placement is not None) == _some_split_exists(total, idle, least, most)
    if placement is not None:
        assert sum(size for _, size in parts(placement)) == total
        assert all(least <= size <= idle[cluster] for cluster, size in parts(placement))
        assert not _some_split_exists(total, idle, least, len(placement.components) - 1)


# Quota.


def test_quota_caps_what_a_policy_sees_of_a_cluster():
    """A quota of 0.5 of 40: with 20 idle the other 20 are occupied, so nothing is left; with 30 idle, 10."""
    policy = Quota(WorstFit(), 0.5)
    assert policy.place(non_fixed(1), state_with(20, 20)) is None
    assert clusters_of(policy.place(non_fixed(10), state_with(20, 30))) == [1]
    assert policy.place(non_fixed(11), state_with(20, 30)) is None


def test_quota_counts_at_home_too():
    policy = Quota(AcceptingFixed(WorstFit()), 0.5)
    assert policy.place(JobRequest(RequestKind.FIXED, (5,), (0,)), state_with(24, 40)) is None


@pytest.mark.parametrize("share", [0, -0.1, 1.5, float("nan")])
def test_quota_refuses_a_share_that_is_none(share):
    with pytest.raises(InvalidInput, match="quota"):
        Quota(WorstFit(), share)


def test_a_quota_of_29_percent_of_100_processors_is_29():
    state = SystemState((100,), (100,))
    assert Quota(WorstFit(), 0.29).place(non_fixed(29), state) is not None
    assert Quota(WorstFit(), 0.29).place(non_fixed(30), state) is None


# Close-to-Files.


def close_to_files_state(idle=(6, 20, 12, 30), history=None):
    surroundings = Surroundings(
        files={"input": FileState((B, C), 4096 * MEGABYTE)},
        bandwidth_bytes_per_s={(B, D): 10 * MEGABYTE, (C, D): 20 * MEGABYTE, (B, A): 10 * MEGABYTE},
        history=every_pair(4) if history is None else history,
    )
    return state_with(*idle, surroundings=surroundings)


def test_cf_example_close_to_the_files_then_the_nearest_pair():
    """16 to B, 10 to C, 8 to neither: to D, from C in 204.8 s rather than from B in 409.6."""
    placement = CloseToFiles().place(non_fixed(16, 10, 8, file="input"), close_to_files_state())
    assert clusters_of(placement) == [B, C, D]
    assert placement.file_sites == (B, C, C)
    assert placement.transfer_s == pytest.approx(204.8)


def test_cf_example_what_worst_fit_would_do():
    """16 to D, 10 to B, 8 to D, each reading the nearest replica."""
    placement = WorstFit().place(non_fixed(16, 10, 8, file="input"), close_to_files_state())
    assert clusters_of(placement) == [D, B, D]
    assert placement.file_sites == (C, B, C)
    assert placement.transfer_s == pytest.approx(204.8)


def test_cf_takes_the_alphabetically_first_file_site_with_room():
    assert clusters_of(CloseToFiles().place(non_fixed(8, file="input"), close_to_files_state())) == [B]
    assert clusters_of(CloseToFiles().place(non_fixed(8, file="input"), close_to_files_state((6, 7, 12, 30)))) == [C]


def test_cf_learns_the_other_replicas_of_a_pair_it_used():
    state = close_to_files_state(idle=(0, 0, 0, 30), history=frozenset({(D, B)}))
    placement = CloseToFiles().place(non_fixed(8, file="input"), state)
    assert placement.file_sites == (B,)
    assert placement.learned == {(D, C)}
    assert state.after(placement).surroundings.history == {(D, B), (D, C)}


def test_cf_with_an_empty_history_goes_to_file_sites_only():
    state = close_to_files_state(history=frozenset())
    assert clusters_of(CloseToFiles().place(non_fixed(16, file="input"), state)) == [B]
    assert CloseToFiles().place(non_fixed(24, file="input"), state) is None


def test_cf_places_a_job_without_file_by_worst_fit_and_knows_only_known_files():
    assert clusters_of(CloseToFiles().place(non_fixed(16), close_to_files_state())) == [D]
    with pytest.raises(UnknownName, match="no file 'other'"):
        CloseToFiles().place(non_fixed(16, file="other"), close_to_files_state())


def test_what_a_policy_that_is_blind_to_files_learned_is_kept_with_the_replicas_that_it_reads():
    placing = AcceptingFixed(Learning()).place(non_fixed(8, file="input"), close_to_files_state())
    assert (placing.file_sites, placing.learned) == ((C,), {(7, 7)})


class Learning:
    """A policy that places everything on D and learns a pair of its own."""

    accepts = frozenset({RequestKind.NON_FIXED})

    def place(self, request, state):
        return Placement((Component(D, request.processors),), learned=frozenset({(7, 7)}))


# One job list for every policy.


def test_a_request_is_handed_to_a_policy_in_the_kind_it_takes():
    request = unordered(18, 18)
    assert as_taken(request, WorstFitDistinct()) is request
    assert as_taken(request, WorstFit()) == non_fixed(18, 18)
    assert as_taken(request, FlexibleClusterMinimization()) == flexible(36)
    assert as_total(request) == JobRequest(RequestKind.TOTAL, (36,))
    with pytest.raises(InvalidInput, match="flexible cannot be placed"):
        as_taken(flexible(36), WorstFit())


def test_values_read_well():
    assert repr(Placement((Component(1, 4),))).startswith("Placement(components=(Component(cluster=1, processors=4")


@pytest.mark.parametrize(
    ("request_", "like"),
    [
        (unordered(10, 10), WorstFitDistinct()),
        (non_fixed(10, 10), WorstFit()),
        (JobRequest(RequestKind.TOTAL, (12,)), WorstFit()),
        (flexible(30), FlexibleClusterMinimization()),
        (JobRequest(RequestKind.FIXED, (4, 4), (1, 1)), AcceptingFixed(WorstFit())),
    ],
)
def test_by_kind_places_every_request_as_the_policy_of_its_kind_does(request_, like):
    state = SystemState((32,) * 3, (20, 12, 9))
    placement = ByKind().place(request_, state)
    assert placement is not None
    assert placement == like.place(request_, state)
