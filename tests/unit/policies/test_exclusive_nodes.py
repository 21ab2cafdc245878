"""Exclusive nodes: what a job holds and how many processes run there, by hand and for all requests and states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.held_nodes import ranked, ranks, whole
from emulator.model.job import JobSpecification
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.rules import StatedRules
from emulator.model.topology import Topology
from emulator.policies.admission import Admitting
from emulator.policies.answer_checks import check_answers
from emulator.policies.factory import accepting_fixed
from emulator.policies.placement.by_kind import ByKind
from emulator.policies.protocols import Start
from emulator.policies.registry import PLACEMENT_POLICIES
from emulator.policies.state import SystemState
from tests.unit.simulator.exclusive_nodes import exclusive

NON_FIXED, UNORDERED, FLEXIBLE, FIXED = (
    RequestKind.NON_FIXED, RequestKind.UNORDERED, RequestKind.FLEXIBLE, RequestKind.FIXED,
)  # fmt: skip


def placed(request: JobRequest, *idle: int, of_node: int = 2, policy: str = "", quota: float | None = None):
    """Where a job of `request` is placed, and its ranks: a list of (cluster, held, ranks), or None."""
    made = accepting_fixed(PLACEMENT_POLICIES[policy]() if policy else ByKind(), quota, of_node)
    placement = made.place(request, SystemState((16,) * len(idle), idle))
    if placement is None:
        return None
    sizes = ranks(request, placement, of_node)
    return [(part.cluster, part.processors, size) for part, size in zip(placement.components, sizes, strict=True)]


def test_a_component_of_5_holds_three_dual_nodes():
    assert placed(JobRequest(NON_FIXED, (5,)), 4, 6) == [(1, 6, 5)]
    assert placed(JobRequest(NON_FIXED, (5,)), 4, 5) is None


def test_two_components_of_5_and_3_do_not_fit_a_cluster_of_8():
    """They hold 6 and 4: each takes nodes of its own."""
    request = JobRequest(NON_FIXED, (5, 3))
    assert placed(request, 8) is None
    assert placed(request, 10) == [(0, 6, 5), (0, 4, 3)]
    assert placed(request, 8, 8, policy="cm") == [(0, 6, 5), (1, 4, 3)]


def test_a_node_of_which_one_processor_is_taken_is_not_idle():
    assert placed(JobRequest(NON_FIXED, (1,)), 1, 1) is None
    assert placed(JobRequest(NON_FIXED, (1, 1)), 3, 2) == [(0, 2, 1), (1, 2, 1)]


def test_a_flexible_job_of_7_holds_8_however_it_is_split():
    """Its first components are full, and the last node of its last component has an idle processor."""
    seven = JobRequest(FLEXIBLE, (7,))
    assert placed(seven, 8, 4, policy="fcm") == [(0, 8, 7)]
    assert placed(seven, 5, 4, policy="fcm") == [(0, 4, 4), (1, 4, 3)]
    assert placed(seven, 5, 3, policy="fcm") is None


def test_the_least_component_and_the_most_components_count_processes():
    """Two components of at least 4 are 8 processes, which a job of 7 has not, though it holds 8 processors."""
    assert placed(JobRequest(FLEXIBLE, (7,), least_component=4), 4, 4, policy="fcm") is None
    assert placed(JobRequest(FLEXIBLE, (7,), least_component=2), 6, 2, policy="fcm") == [(0, 6, 5), (1, 2, 2)]
    assert placed(JobRequest(FLEXIBLE, (7,), most_components=1), 4, 4, policy="fcm") is None


def test_splits_are_tried_in_their_order_and_may_hold_different_totals():
    request = JobRequest(FLEXIBLE, (8,), splits=((5, 3), (4, 4)))
    assert placed(request, 6, 4, policy="fcm") == [(0, 6, 5), (1, 4, 3)]
    assert placed(request, 5, 4, policy="fcm") == [(0, 4, 4), (1, 4, 4)]


def test_a_fixed_request_takes_whole_nodes_where_it_says():
    request = JobRequest(FIXED, (5, 1), (1, 0))
    assert placed(request, 2, 6) == [(1, 6, 5), (0, 2, 1)]
    assert placed(request, 1, 6) is None


def test_a_quota_counts_what_is_held():
    """Half of 16 are 8: a job of 7 holds them all. A quota of 9 processors has room for four nodes only."""
    assert placed(JobRequest(NON_FIXED, (7,)), 16, quota=0.5) == [(0, 8, 7)]
    assert placed(JobRequest(NON_FIXED, (9,)), 16, quota=0.6) is None


def test_where_nodes_are_shared_a_job_runs_on_all_that_it_holds():
    placement = Placement((Component(0, 5), Component(1, 2)))
    assert ranked(JobRequest(NON_FIXED, (5, 2)), placement, 1) is placement


def test_ranks_keep_the_files_of_a_placement():
    placement = Placement((Component(1, 6),), (0,), 3.5, frozenset({(1, 0)}))
    found = ranked(JobRequest(NON_FIXED, (5,)), placement, 2)
    assert found == Placement((Component(1, 5),), (0,), 3.5, frozenset({(1, 0)}))


@pytest.mark.parametrize("parts", [(5,), (4,), (8,), (4, 2)])
def test_an_answer_that_does_not_hold_the_job_in_whole_nodes_is_refused(parts):
    placement = Placement(tuple(Component(0, size) for size in parts))
    requests = {1: JobRequest(NON_FIXED, (5,))}
    with pytest.raises(InvalidInput, match="in whole nodes of 2"):
        check_answers([Start(1, placement)], (16,), requests.get, 2)
    check_answers([Start(1, Placement((Component(0, 6),)))], (16,), requests.get, 2)


def test_a_policy_of_one_s_own_that_splits_a_node_is_refused():
    class Odd:
        accepts = frozenset({FLEXIBLE})

        def place(self, request, state):
            return Placement((Component(0, 3), Component(1, 5)))

    with pytest.raises(InvalidInput, match=r"\[3, 5\] processors for a job that asked for \[7\]"):
        accepting_fixed(Odd(), None, 2).place(JobRequest(FLEXIBLE, (7,)), SystemState((16, 16), (16, 16)))


def test_a_job_that_no_idle_system_could_hold_is_refused_with_the_reason():
    admitting = Admitting(exclusive(nodes=4, clusters=1), "placement", "wf", StatedRules())
    with pytest.raises(ImpossibleRequest, match=r"\[5, 3\] can never be placed on clusters of \[8\] .* nodes of 2\."):
        admitting.admit(1, JobSpecification(application="poisson", components=(5, 3)))
    assert admitting.admit(2, JobSpecification(application="poisson", components=(5, 2))).id == 2


REFUSED = [
    ({"processors_per_node": 4}, {}, "nodes: where nodes are exclusive, processors_per_node is the same in all"),
    ({}, {"whole_nodes": {"single_cluster": 16}}, "whole_nodes: where nodes are exclusive, a job holds no more"),
    ({"access_link": None, "ssh": {"address": "me@das5", "key": "/key"}}, {}, "nodes: cluster 'c1' is real"),
]


@pytest.mark.parametrize(("of_cluster", "of_topology", "said"), REFUSED)
def test_a_topology_whose_nodes_cannot_be_exclusive_is_refused(of_cluster, of_topology, said):
    stated = exclusive(nodes=4, clusters=2).model_dump(mode="json", by_alias=True) | of_topology
    stated["clusters"][1] |= of_cluster
    with pytest.raises(ValueError, match=said):
        Topology.model_validate(stated)
    assert Topology.model_validate(stated | {"nodes": "shared"}).processors_taken_together == 1


components = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)
requests = st.one_of(
    st.builds(JobRequest, st.sampled_from([NON_FIXED, UNORDERED]), components),
    st.builds(lambda total: JobRequest(FLEXIBLE, (total,)), st.integers(1, 30)),
    st.integers(1, 20).flatmap(
        lambda total: st.builds(
            lambda least, most: JobRequest(FLEXIBLE, (total,), least_component=least, most_components=most),
            st.integers(1, total), st.none() | st.integers(1, 4),
        )
    ),
)  # fmt: skip


@given(requests, st.lists(st.integers(0, 16), min_size=1, max_size=5), st.integers(1, 4))
def test_only_idle_nodes_are_held_all_of_them_whole_and_the_ranks_are_those_asked_for(request, idle, of_node):
    policy = accepting_fixed(ByKind(), None, of_node)
    placement = policy.place(request, SystemState((16,) * len(idle), tuple(idle)))
    if placement is None:
        return
    for cluster, held in placement.by_cluster().items():
        assert held // of_node <= idle[cluster] // of_node
    assert all(part.processors % of_node == 0 for part in placement.components)
    sizes = ranks(request, placement, of_node)
    assert sum(sizes) == request.processors
    assert all(0 < size <= part.processors for size, part in zip(sizes, placement.components, strict=True))
    if request.kind is FLEXIBLE:
        assert min(sizes) >= request.least_component
        assert len(sizes) <= (request.most_components or len(idle))
        assert placement.processors == whole(request.processors, of_node)
    else:
        assert sizes == request.components
        assert placement.processors == sum(whole(size, of_node) for size in request.components)


@given(st.integers(1, 30), st.lists(st.integers(0, 12), min_size=1, max_size=5), st.integers(1, 4))
def test_a_flexible_job_is_placed_whenever_enough_nodes_are_idle(total, idle, of_node):
    placement = accepting_fixed(ByKind(), None, of_node).place(
        JobRequest(FLEXIBLE, (total,)), SystemState((12,) * len(idle), tuple(idle))
    )
    assert (placement is not None) == (sum(free // of_node for free in idle) * of_node >= total)
