"""Traits: what policies and disciplines state as attributes, and what their wrappers carry."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from numpy.random import default_rng

from emulator.model.errors import PolicyFailed
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import Scanning
from emulator.policies.factory import accepting_fixed
from emulator.policies.placement.fixed import AcceptingFixed
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.protocols import Arrival, WaitingJob
from emulator.policies.registry import placement_policy, queue_discipline
from emulator.policies.state import Surroundings, SystemState
from emulator.policies.traits import (
    PlacementTraits,
    QueueTraits,
    need_running_jobs,
    traits_of_placement,
    traits_of_queue,
)
from tests.unit.broker.own_policies import BEST_FIT, SHORTEST_AHEAD, SMALLEST_FIRST

NAME = "mine.py:Mine"


class Stating:
    """What states traits in its class or in its object, and not always as a bool."""

    accepts = frozenset({RequestKind.NON_FIXED})
    ignores_time = True
    needs_running_jobs = ""
    has_local_queues_only = 1

    def __init__(self):
        self.ignores_estimates = [0]
        self.places_singles_at_home = True


class Forwarding:
    """A policy that holds a wrapper, and states one trait of its own."""

    ignores_time = False

    def __init__(self):
        self._held = AcceptingFixed(WorstFit())

    def __getattr__(self, name):
        return getattr(self._held, name)


READS_THE_FIRST_NODE = """
from emulator.model.placement import Component, Placement
from emulator.model.request import RequestKind


class Mine:
    accepts = frozenset({RequestKind.NON_FIXED})

    def place(self, request, state):
        return Placement((Component(0, 1, (len(state.surroundings.nodes[0][0].tasks),)),))
"""


def stating(source: str, *statements: str) -> dict[str, str]:
    """Return the sources with the class `Mine` of `source`, which states traits first."""
    lines = "".join(f"    {statement}\n" for statement in statements)
    return {"mine.py": source.replace("class Mine:\n", f"class Mine:\n{lines}")}


def test_what_is_stated_anywhere_and_as_anything_is_read_as_a_bool():
    of_placement, of_queue = traits_of_placement(Stating()), traits_of_queue(Stating())
    assert of_placement == PlacementTraits(ignores_time=True, ignores_estimates=True)
    assert of_queue == QueueTraits(has_local_queues_only=True, places_singles_at_home=True)
    assert {type(value) for traits in (of_placement, of_queue) for value in asdict(traits).values()} == {bool}


def test_what_is_not_stated_is_false():
    assert not any(asdict(traits_of_placement(object())).values())
    assert not any(asdict(traits_of_queue(object())).values())


@pytest.mark.parametrize(
    ("name", "traits"),
    [
        ("placement", QueueTraits()),
        ("gs", QueueTraits(has_could_start=True)),
        ("gp", QueueTraits(has_local_queues=True, places_singles_at_home=True, has_could_start=True)),
        (
            "ls-do",
            QueueTraits(
                has_local_queues=True, has_local_queues_only=True, places_singles_at_home=True, has_could_start=True
            ),
        ),
        ("easy", QueueTraits(needs_running_jobs=True, has_could_start=True)),
        ("backfill", QueueTraits(needs_running_jobs=True, has_could_start=True)),
    ],
)
def test_disciplines_of_the_testbed_state_their_traits(name, traits):
    assert traits_of_queue(queue_discipline(name, Scanning())) == traits


@pytest.mark.parametrize(("quota", "together"), [(None, 1), (0.5, 1), (None, 4), (0.5, 4)])
def test_a_wrapper_carries_the_traits_of_its_policy(quota, together):
    wrapper = accepting_fixed(Stating(), quota, together)
    assert traits_of_placement(wrapper) == traits_of_placement(Stating())


def test_the_wrapper_of_ones_own_class_carries_what_the_class_states():
    policy = placement_policy(NAME, stating(BEST_FIT, "ignores_time = 1", "traits = 'mine'"))
    assert traits_of_placement(policy) == PlacementTraits(ignores_time=True)
    sources = stating(SMALLEST_FIRST, "has_local_queues = 1", "needs_running_jobs = True")
    discipline = queue_discipline(NAME, Scanning(), sources)
    carried = QueueTraits(has_local_queues=True, needs_running_jobs=True)
    assert discipline.traits == carried
    # The wrapper answers in place of a class that has no such method.
    assert traits_of_queue(discipline) == QueueTraits(**asdict(carried) | {"has_could_start": True})


def test_a_policy_that_chooses_nodes_says_so_and_is_not_wrapped():
    own = placement_policy(NAME, stating(BEST_FIT, "chooses_nodes = True"))
    for policy in (placement_policy("normal"), own):
        assert traits_of_placement(policy).chooses_nodes
        assert accepting_fixed(policy, None) is policy


def test_a_policy_that_chooses_nodes_is_not_asked_while_no_node_is_known():
    """While no cluster answers, the broker knows of no node of any."""
    own = placement_policy(NAME, stating(READS_THE_FIRST_NODE, "chooses_nodes = True"))
    request = JobRequest(RequestKind.NON_FIXED, (2,))
    assert own.place(request, SystemState((8, 8), (0, 0), 0.0, Surroundings(nodes=((), ())))) is None


def test_a_discipline_that_names_nodes_is_named_in_a_sentence():
    source = SMALLEST_FIRST.replace("placement))", "Placement((Component(0, 2, (0, 1)),))))")
    discipline = queue_discipline(NAME, Scanning(), {"mine.py": source})
    job = WaitingJob(1, JobRequest(RequestKind.NON_FIXED, (2,)))
    with pytest.raises(
        PolicyFailed, match=r"^mine.py:Mine: names nodes of cluster 0; only a policy with chooses_nodes"
    ):
        discipline.decide(Arrival(job), SystemState((8, 8), (8, 8), 0.0), WorstFit(), default_rng(0))


def test_what_an_object_states_itself_counts_before_what_it_carries():
    assert traits_of_placement(Forwarding()) == PlacementTraits(ignores_time=False, ignores_estimates=True)


@pytest.mark.parametrize(
    ("traits", "expected"),
    [
        (QueueTraits(), False),
        (QueueTraits(has_local_queues=True), True),
        (QueueTraits(has_local_queues_only=True), True),
    ],
)
def test_either_kind_of_local_queues_is_a_queue_per_cluster(traits, expected):
    assert traits.has_queue_per_cluster is expected


def test_running_jobs_are_needed_if_the_discipline_or_the_policy_reads_them():
    reading = placement_policy(NAME, {"mine.py": SHORTEST_AHEAD})
    gs, easy = (queue_discipline(name, Scanning()) for name in ("gs", "easy"))
    assert need_running_jobs(gs, reading)
    assert need_running_jobs(easy, WorstFit())
    assert not need_running_jobs(gs, WorstFit())
