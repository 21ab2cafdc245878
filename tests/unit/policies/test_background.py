"""The controller of the background load, by its answers in given states."""

from __future__ import annotations

from collections import Counter

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.background import Background
from emulator.model.catalogue import equal_clusters, topology_named
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology
from emulator.policies.background import (
    Action,
    BackgroundController,
    BackgroundState,
    ClusterUse,
    DummyJob,
    Injection,
    Kill,
    Prolongation,
)

SIZES = (144, 64, 64, 64, 64)
"""The clusters of DAS-2: 400 processors."""


def background(**changes: object) -> Background:
    return validate({"band": [0.15, 0.2], **changes}, Background, source="background")


def decide(loaded: Background, state: BackgroundState, seed: int = 0) -> list[Action]:
    return BackgroundController(loaded).decide(state, numpy.random.default_rng(seed))


def state(
    local: tuple[int, ...] = (0,) * 5, dummies: tuple[DummyJob, ...] = (), grid: tuple[int, ...] = (0,) * 5
) -> BackgroundState:
    held = list(local)
    for dummy in dummies:
        held[dummy.cluster] += dummy.processors
    uses = [ClusterUse(size, local[at], max(0, size - held[at] - grid[at])) for at, size in enumerate(SIZES)]
    return BackgroundState(tuple(uses), dummies)


def dummies(*sizes: int, cluster: int = 0) -> tuple[DummyJob, ...]:
    return tuple(DummyJob(number, cluster, size) for number, size in enumerate(sizes))


def test_an_idle_system_is_filled_to_the_middle_of_the_band():
    actions = decide(background(), state())
    injected = sum(action.processors for action in actions)
    assert 70 <= injected <= 80


def test_a_load_in_the_band_is_left_alone():
    for load in (60, 70, 80):
        assert decide(background(), state(local=(load, 0, 0, 0, 0))) == []


def test_dummy_jobs_are_spread_evenly_over_the_clusters():
    by_cluster: Counter[int] = Counter()
    for action in decide(background(dummy={"sizes": [1]}), state()):
        by_cluster[action.cluster] += action.processors
    shares = [by_cluster[at] / size for at, size in enumerate(SIZES)]
    assert max(shares) - min(shares) <= 1 / 64


def test_dummy_jobs_go_where_processors_are_idle():
    actions = decide(background(), state(grid=(144, 64, 64, 64, 0)))
    assert {action.cluster for action in actions} == {4}
    assert sum(action.processors for action in actions) <= 64


def test_where_nothing_is_idle_nothing_is_injected():
    assert decide(background(), state(grid=SIZES)) == []


def test_dummy_jobs_that_are_ending_hold_the_upper_end_of_the_band_and_not_the_lower_one():
    ending = (DummyJob(0, 0, 10, is_ending=True), DummyJob(1, 1, 58))
    assert decide(background(), state(dummies=(DummyJob(0, 0, 10), DummyJob(1, 1, 58)))) == []
    injected = sum(action.processors for action in decide(background(), state(dummies=ending)))
    assert 58 + injected >= 60
    assert 68 + injected <= 80


def test_where_none_can_be_injected_dummy_jobs_that_are_ending_go_on_until_the_lower_end_holds():
    """A grid that takes all that is idle leaves no processor for another dummy job."""
    held = (*dummies(30, 26), *(DummyJob(number, 1, 4, is_ending=True) for number in (7, 8, 9)))
    taken = tuple(size - (56, 12, 0, 0, 0)[at] for at, size in enumerate(SIZES))
    (only,) = decide(background(), state(dummies=held, grid=taken))
    assert isinstance(only, Prolongation)
    assert only.dummy == 7
    assert 120 <= only.length_s <= 600
    full = (DummyJob(0, 0, 30, is_ending=True), DummyJob(1, 1, 50))
    assert [action[0] for action in decide(background(), state(dummies=full))] == [0]


def test_above_the_band_dummy_jobs_are_killed_down_to_its_middle():
    held = dummies(*([4] * 10))
    actions = decide(background(), state(local=(50, 0, 0, 0, 0), dummies=held))
    assert actions == [Kill(9), Kill(8), Kill(7), Kill(6), Kill(5)]


def test_local_jobs_are_never_killed():
    assert decide(background(), state(local=(144, 0, 0, 0, 0))) == []


def test_the_dummy_jobs_of_the_cluster_with_the_highest_load_are_killed_first():
    held = (*dummies(4, 4), DummyJob(7, 1, 4), DummyJob(8, 2, 4))
    actions = decide(background(), state(local=(0, 30, 40, 0, 0), dummies=held))
    assert actions[0] == Kill(8)


def test_a_dummy_job_larger_than_the_band_is_killed_only_if_no_smaller_one_will_do():
    (only,) = decide(background(), state(local=(50, 0, 0, 0, 0), dummies=dummies(40)))
    assert only == Kill(0)
    assert decide(background(), state(local=(50, 0, 0, 0, 0), dummies=dummies(40, 12)))[0] == Kill(1)


def test_by_cluster_the_lower_end_holds_in_each_cluster():
    loaded = background(band=[0.3, 0.4], scope="cluster")
    actions = decide(loaded, state(local=(144, 0, 0, 0, 0)))
    by_cluster = {action.cluster for action in actions}
    assert by_cluster <= {1, 2, 3, 4}
    assert 144 + sum(action.processors for action in actions) <= 160
    filled: Counter[int] = Counter()
    for action in decide(loaded, state()):
        filled[action.cluster] += action.processors
    for at, size in enumerate(SIZES):
        assert 0.3 * size <= filled[at] <= 0.4 * size


def test_over_the_system_one_cluster_may_carry_the_whole_load():
    assert decide(background(band=[0.3, 0.4]), state(local=(144, 0, 0, 0, 0))) == []


def test_dummy_jobs_have_the_lengths_that_were_stated():
    loaded = background(dummy={"sizes": [1], "lengths": {"low_s": 10, "high_s": 20}})
    lengths_s = [action.length_s for action in decide(loaded, state())]
    assert min(lengths_s) >= 10
    assert max(lengths_s) <= 20
    assert len(set(lengths_s)) == len(lengths_s)


@st.composite
def states(draw: st.DrawFn) -> BackgroundState:
    held: list[DummyJob] = []
    uses: list[ClusterUse] = []
    for at, size in enumerate(SIZES):
        local = draw(st.integers(0, size))
        left = size - local
        while left > 0 and draw(st.booleans()):
            number = draw(st.integers(1, min(16, left)))
            held.append(DummyJob(len(held), at, number, draw(st.booleans())))
            left -= number
        uses.append(ClusterUse(size, local, draw(st.integers(0, left))))
    return BackgroundState(tuple(uses), tuple(held))


@given(states(), st.integers(0, 2**32 - 1), st.sampled_from(["system", "cluster"]))
def test_what_is_done_fits_never_leaves_the_band_upwards_and_is_the_same_each_time(found, seed, scope):
    loaded = background(band=[0.3, 0.4], scope=scope)
    actions = decide(loaded, found, seed)
    assert decide(loaded, found, seed) == actions
    load = sum(use.local for use in found.clusters) + sum(dummy.processors for dummy in found.dummies)
    band = loaded.of(sum(SIZES))
    injected: Counter[int] = Counter()
    for action in actions:
        if isinstance(action, Injection):
            injected[action.cluster] += action.processors
    killed = [action.dummy for action in actions if isinstance(action, Kill)]
    assert len(set(killed)) == len(killed)
    assert not (killed and injected)
    ending = [dummy.number for dummy in found.dummies if dummy.is_ending]
    prolonged = [action.dummy for action in actions if isinstance(action, Prolongation)]
    assert prolonged == [number for number in ending if number in prolonged]
    assert not (killed and prolonged)
    for cluster, processors in injected.items():
        assert processors <= found.clusters[cluster].idle
    if injected:
        assert load + injected.total() <= band.most
    if killed:
        assert load > band.most
        # Once what was asked for is done, nothing more is to be killed unless nothing is left.
        left = tuple(dummy for dummy in found.dummies if dummy.number not in killed)
        after = sum(use.local for use in found.clusters) + sum(dummy.processors for dummy in left)
        assert after <= band.most or not left


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"band": [0.2, 0.15]}, "band: its upper end must be above its lower end 0.2, not 0.15"),
        ({"band": [0.2, 0.2]}, "band: its upper end must be above"),
        ({"band": [0.9, 1.2]}, r"band\.1: .*less than or equal to 1, not 1\.2"),
        ({"band": [-0.1, 0.2]}, r"band\.0: .*greater than or equal to 0, not -0\.1"),
        ({"local_jobs": "some"}, "must be none, a stream .* or a log FILE.swf, not 'some'"),
        ({"void_after_s": 0}, "void_after_s: .*greater than 0"),
        ({"dummy": {"sizes": []}}, r"dummy\.sizes"),
        ({"dummy": {"lengths": {"low_s": 20, "high_s": 10}}}, "high_s: must be at least low_s, which is 20"),
        ({"scope": "node"}, "scope: "),
    ],
)
def test_a_load_that_makes_no_sense_is_refused_in_a_sentence(changes, said):
    with pytest.raises(InvalidInput, match=said) as raised:
        background(**changes)
    assert str(raised.value).count("\n") == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"local_jobs": {"interarrival": {"mean_s": 9}, "sizes": [8, 145], "lengths": {"low_s": 1, "high_s": 2}}},
            "a local job of 145 processors is larger than every cluster of das2, the largest of which has 144",
        ),
        ({"dummy": {"sizes": [48, 96]}}, "dummy jobs of 48 processors or more cannot hold a band of 60 to 80"),
        ({"band": [0.1501, 0.1502]}, "cannot hold a band of 61 to 60 processors of das2"),
    ],
)
def test_a_load_that_a_topology_cannot_carry_is_refused_in_a_sentence(changes, said):
    with pytest.raises(InvalidInput, match=said):
        background(**changes).check_on(topology_named("das2"))


def test_a_time_scale_divides_all_times_of_a_load():
    local = {"interarrival": {"mean_s": 40}, "sizes": [8], "lengths": {"low_s": 100, "high_s": 200}}
    scaled = background(local_jobs=local, dummy={"lengths": {"low_s": 60, "high_s": 120}}).divided(10)
    assert scaled.void_after_s == 6
    assert (scaled.dummy.lengths.low_s, scaled.dummy.lengths.high_s) == (6, 12)
    assert scaled.local_jobs.interarrival.mean_s == 4
    assert scaled.local_jobs.lengths.of(0.5) == 15


def test_a_band_that_small_clusters_cannot_hold_each_is_refused():
    small = equal_clusters("17x2")
    background(band=(0.3, 0.4), dummy={"sizes": [1]}).check_on(small)
    with pytest.raises(InvalidInput, match="30% to 40% cannot be held in the 2 processors of cluster"):
        background(band=(0.3, 0.4), dummy={"sizes": [1]}, scope="cluster").check_on(small)


def test_a_band_between_two_numbers_of_dummy_jobs_in_a_cluster_is_refused():
    """In 16 processors the band of 30% to 40% is 5 or 6: a job of 4 makes 4 or 8, one of 2 makes 6."""
    topology = equal_clusters("4x16")
    background(band=(0.3, 0.4), dummy={"sizes": [2]}, scope="cluster").check_on(topology)
    background(band=(0.3, 0.4), dummy={"sizes": [4]}).check_on(topology)
    with pytest.raises(InvalidInput, match="30% to 40% cannot be held in the 16 processors of cluster"):
        background(band=(0.3, 0.4), dummy={"sizes": [4]}, scope="cluster").check_on(topology)


def test_a_band_that_whole_nodes_or_equal_dummy_jobs_hit_exactly_is_taken():
    """In 32 processors the band of 45% to 55% is 15 to 17: four nodes of four are 16, and so are two jobs of 8."""
    nodes = validate(
        {
            "name": "whole", "nodes": "exclusive", "default_link": {"delay_s": 0.001}, "processor": "native",
            "clusters": [
                {"name": "a", "nodes": 8, "processors_per_node": 4, "access_link": {"up_mbit": 10, "down_mbit": 10}},
            ],
        },
        Topology, source="topology",
    )  # fmt: skip
    background(band=(0.45, 0.55), dummy={"sizes": [1]}, scope="cluster").check_on(nodes)
    background(band=(0.45, 0.55), dummy={"sizes": [8]}, scope="cluster").check_on(equal_clusters("2x32"))
    local = {"interarrival": {"mean_s": 40}, "sizes": [1], "lengths": {"low_s": 100, "high_s": 200}}
    load = background(band=(0.45, 0.55), dummy={"sizes": [8]}, scope="cluster", local_jobs=local)
    with pytest.raises(InvalidInput, match="45% to 55% cannot be held in the 32 processors of cluster"):
        load.check_on(equal_clusters("2x32"))
