"""The coallocation rules and limits of "Scheduling Policies for Processor Coallocation in Multicluster Systems"."""

from __future__ import annotations

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest, RequestKind
from emulator.model.rules import StatedRules

FOUR_BY_32 = topology_named("four-by-32")


def unordered(*components: int) -> JobRequest:
    return JobRequest(RequestKind.UNORDERED, components)


def flexible(total: int, **limits) -> JobRequest:
    return JobRequest(RequestKind.FLEXIBLE, (total,), **limits)


@pytest.mark.parametrize(
    ("rule", "admits", "forbids"),
    [
        ("no", [(32,), (1,)], [(16, 16)]),
        ("co", [(32,), (16, 16), (8,) * 4], []),
        ("rco", [(16,), (16, 16), (8,) * 4], [(17,), (17, 1)]),
        ("fco", [(16,), (16, 16)], [(17,), (8,) * 4]),
    ],
)
def test_each_rule_admits_what_the_paper_says(rule, admits, forbids):
    rules = StatedRules(coallocation=rule).on(FOUR_BY_32)
    assert [rules.request_violation(unordered(*components)) for components in admits] == [None] * len(admits)
    for components in forbids:
        with pytest.raises(InvalidInput, match=f"components: the system's rules forbid .*: the rule {rule} admits"):
            rules.check_request(unordered(*components))


def test_half_a_cluster_is_half_of_the_smallest_unless_another_size_is_stated():
    das2 = topology_named("das2")
    smallest = min(cluster.processors for cluster in das2.clusters)
    assert StatedRules(coallocation="rco").on(das2).admits((smallest // 2,))
    assert not StatedRules(coallocation="rco").on(das2).admits((smallest // 2 + 1,))
    assert StatedRules(coallocation="rco", cluster_processors=2 * smallest).on(das2).admits((smallest // 2 + 1,))


@pytest.mark.parametrize(
    ("rules", "request_", "said"),
    [
        ({"coallocation": "no"}, flexible(24), "at most 1 components"),
        ({"coallocation": "no"}, flexible(24, most_components=1), None),
        ({"coallocation": "co"}, flexible(64), None),
        ({"coallocation": "rco"}, flexible(24), "list the splits"),
        ({"coallocation": "rco"}, flexible(16, most_components=1), None),
        ({"coallocation": "fco"}, flexible(24, splits=((12, 12), (8, 8, 8))), "at most 2 components"),
        ({"coallocation": "fco"}, flexible(24, splits=((12, 12),)), None),
        ({"component_limit": 16}, flexible(24), "list the splits"),
        ({"most_components": 2}, flexible(24, most_components=3), "at most 2 components"),
        ({"most_components": 2}, flexible(24, most_components=2), None),
        ({"total_limit": 20}, flexible(24, most_components=2), "24 processors exceed the limit of 20"),
    ],
)
def test_a_flexible_request_is_judged_by_every_split_it_admits(rules, request_, said):
    found = StatedRules(**rules).on(FOUR_BY_32).request_violation(request_)
    assert found is None if said is None else said in (found or "")


@pytest.mark.parametrize("field", ["component_limit", "total_limit", "most_components", "cluster_processors"])
def test_a_limit_is_at_least_one(field):
    with pytest.raises(ValueError, match=field):
        StatedRules(**{field: 0})
