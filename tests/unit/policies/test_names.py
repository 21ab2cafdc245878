"""The names of policies and disciplines: the list that the command line shows is that of the registry."""

from __future__ import annotations

import pytest

from emulator.model.catalogue import equal_clusters, topology_named
from emulator.model.errors import InvalidInput
from emulator.model.scheduling import Scanning
from emulator.policies.factory import check_live, discipline_scanned
from emulator.policies.names import (
    NODE_POLICIES,
    NODE_QUEUES,
    POLICIES,
    QUEUES,
    SINGLE_CLUSTER,
    policy_name,
    queue_name,
)
from emulator.policies.registry import (
    JOB_SELECTIONS,
    NODE_SELECTIONS,
    PLACEMENT_POLICIES,
    QUEUE_DISCIPLINES,
    default_policy,
    placement_policy,
    queue_discipline,
)

MINI = topology_named("mini")


def test_every_policy_and_discipline_has_a_name_and_a_line():
    assert list(POLICIES) == list(PLACEMENT_POLICIES)
    assert list(QUEUES) == list(QUEUE_DISCIPLINES)
    assert SINGLE_CLUSTER in QUEUES
    assert list(NODE_POLICIES) == list(NODE_SELECTIONS)
    assert list(NODE_QUEUES) == list(JOB_SELECTIONS)


def test_capital_letters_do_not_count():
    assert type(placement_policy("WF-Distinct")) is type(placement_policy("wf-distinct"))
    assert type(queue_discipline("LS-DO", Scanning())) is type(queue_discipline("ls-do", Scanning()))
    assert default_policy("Placement") == "wf"
    check_live("GS", "Wf", {}, MINI)
    check_live("SC", "wf", {}, equal_clusters("1x32"))
    with pytest.raises(InvalidInput, match="'sc' is live only on a topology of one cluster, and here are 2"):
        check_live("SC", "wf", {}, equal_clusters("2x32"))
    with pytest.raises(InvalidInput, match="never scanned"):
        discipline_scanned("GS", Scanning(adaptive=True))


def test_a_class_of_a_user_keeps_its_name():
    assert policy_name("Mine.py:Mine") == "Mine.py:Mine"
    assert queue_name("Elsewhere") == "Elsewhere"


@pytest.mark.parametrize(
    ("queue", "policy", "topology", "said"),
    [
        ("just-first", "wf", "cisne-shared", "queue: 'just-first' goes with a policy that chooses nodes .normal"),
        (
            "fcfs",
            "Uniform-Hard",
            "cisne-shared",
            "chooses nodes, so its queue is one of just-first, best-fit, backfill",
        ),
        ("backfill", "normal", "das2", "topology 'das2' has none .state time_sharing there"),
    ],
)
def test_policies_that_choose_nodes_need_their_queues_and_nodes_shared_in_time(queue, policy, topology, said):
    with pytest.raises(InvalidInput, match=said):
        check_live(queue, policy, {}, topology_named(topology))
