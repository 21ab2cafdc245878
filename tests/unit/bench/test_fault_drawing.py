"""Faults are drawn from the seed alone, every kind early, and each where its kind belongs."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from tests.bench.faults.drawing import Kind, Part, Places, turns
from tests.bench.faults.faults import FAULTS

NODES = {"delft": 8, "leiden": 3}
PLACES = Places(NODES, ["right", "top"])
KINDS = (
    Kind("kill", Part.BROKER, needs_up=True),
    Kind("hang", Part.CLUSTER, (3.0, 7.0)),
    Kind("slurmd", Part.NODE, weight=2.0),
    Kind("router", Part.ROUTER),
    Kind("cut off", Part.HOST),
    Kind("central", Part.CENTRAL_HOST),
)


@given(seed=st.integers(0, 2**32))
def test_a_seed_draws_the_same_turns_again(seed):
    assert list(islice(turns(seed, KINDS, PLACES, 5.0), 50)) == list(islice(turns(seed, KINDS, PLACES, 5.0), 50))


@given(seed=st.integers(0, 2**32))
def test_the_first_turns_draw_every_kind_and_each_fault_where_it_belongs(seed):
    drawn = list(islice(turns(seed, KINDS, PLACES, 5.0), 50))
    assert {turn.faults[0].kind for turn in drawn[: len(KINDS)]} == set(KINDS)
    for turn in drawn:
        assert turn.host_pause_s >= 0
        assert len({fault.kind.part for fault in turn.faults}) == len(turn.faults) <= 2
        assert turn.needs_up == any(fault.kind.name == "kill" for fault in turn.faults)
        for fault in turn.faults:
            least_s, most_s = fault.kind.host_lasts_s
            assert least_s <= fault.host_lasts_s <= most_s
            assert fault.host_lasts_s <= turn.host_lasts_s
            assert (fault.cluster != "") == (fault.kind.part in (Part.CLUSTER, Part.NODE))
            assert (fault.node > 0) == (fault.kind.part is Part.NODE)
            assert (fault.host in PLACES.hosts) == (fault.kind.part is Part.HOST)
            assert fault.node <= NODES.get(fault.cluster, 0)


def test_two_faults_come_at_once_in_about_a_fifth_of_the_turns():
    drawn = list(islice(turns(1, KINDS, PLACES, 5.0), 2_000))
    assert 0.15 < sum(len(turn.faults) == 2 for turn in drawn) / len(drawn) < 0.25


def test_every_kind_of_the_bench_has_a_name_of_its_own():
    assert len({kind.name for kind in FAULTS}) == len(FAULTS)
