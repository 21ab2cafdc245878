"""Transfers of input files over access links that all of them share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.placement import Component, Placement
from emulator.model.real_head import RealHead
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import StatedClaiming
from emulator.model.stream import StreamJob
from emulator.model.topology import Middleware
from emulator.policies.bandwidth import ASSUMED_BYTES_PER_S
from emulator.policies.state import FileState, Surroundings, SystemState
from emulator.simulator import simulate
from emulator.simulator.transfers import Transfers

RATE = 10.0
SIZE_BYTES = 100.0
CLUSTERS = 4
STATED = {(source, target): RATE for source in range(CLUSTERS) for target in range(CLUSTERS)}


def transfers(up=(RATE,) * CLUSTERS, down=(RATE,) * CLUSTERS, **around_s) -> Transfers:
    return Transfers(up, down, STATED, **around_s)


def brought(source: int, *targets: int) -> Placement:
    return Placement(tuple(Component(target, 1) for target in targets), (source,) * len(targets), 1.0)


def begin(under_way: Transfers, job: int, source: int, *targets: int, time_s=0.0, size_bytes=SIZE_BYTES) -> None:
    under_way.begin(job, FileState((source,), size_bytes), brought(source, *targets), time_s)


def ends(under_way: Transfers) -> dict[int, float]:
    """Return when the file of each job is everywhere."""
    found = {}
    while (time_s := under_way.next_s()) < math.inf:
        found |= dict.fromkeys(under_way.advance(time_s), time_s)
    return found


def test_a_transfer_that_is_alone_takes_as_long_as_the_slower_of_its_two_links_needs():
    under_way = transfers(up=(RATE, RATE, RATE, 5.0))
    begin(under_way, 1, 0, 1)
    begin(under_way, 2, 3, 2)
    assert ends(under_way) == {1: 10.0, 2: 20.0}


def test_transfers_into_one_cluster_share_its_link_and_what_the_first_leaves_is_the_second_s():
    under_way = transfers()
    begin(under_way, 1, 0, 2)
    begin(under_way, 2, 1, 2, time_s=4.0)
    # Alone until 4 s, 60 bytes are left; at half the rate they take 12 s. The second then has 40 bytes left.
    assert ends(under_way) == {1: 16.0, 2: 20.0}


def test_a_job_waits_for_the_last_of_its_clusters_and_those_with_a_replica_need_no_transfer():
    under_way = transfers()
    under_way.begin(1, FileState((0, 3), SIZE_BYTES), Placement((Component(1, 1), Component(3, 1)), (0, 3), 1.0), 0.0)
    begin(under_way, 2, 0, 0)
    begin(under_way, 3, 3, 1, 2)
    assert not under_way.awaits(2)
    assert ends(under_way) == {1: 20.0, 3: 20.0}


def test_a_login_comes_before_the_first_byte_and_a_check_after_the_last_and_neither_uses_the_links():
    under_way = transfers(logins_s=(4.0,), checks_s=(3.0,))
    begin(under_way, 1, 0, 2)
    begin(under_way, 2, 1, 2, time_s=10.0)
    # The first has the link from 4 s to 14 s, and the second logs in meanwhile.
    assert ends(under_way) == {1: 17.0, 2: 27.0}
    assert [(transfer.began_s, transfer.ends_s) for transfer in under_way.ended] == [(4.0, 14.0), (14.0, 24.0)]
    assert under_way.bytes_per_s()[0, 2] == RATE


def test_transfers_have_the_given_logins_and_checks_in_turn():
    under_way = transfers(logins_s=(1.0, 2.0), checks_s=(0.0, 5.0))
    for job, target in enumerate((1, 2, 3), start=1):
        begin(under_way, job, job - 1, target, time_s=100.0 * job)
    assert ends(under_way) == {1: 111.0, 2: 217.0, 3: 311.0}


@pytest.mark.parametrize("stage_s", [2.0, 8.0, 15.0])
def test_a_job_that_ends_during_its_login_its_transfer_or_its_check_awaits_nothing(stage_s):
    under_way = transfers(logins_s=(4.0,), checks_s=(3.0,))
    begin(under_way, 1, 0, 2)
    while under_way.next_s() <= stage_s:
        under_way.advance(under_way.next_s())
    assert under_way.awaits(1)
    under_way.end(1, stage_s)
    assert not under_way.awaits(1)
    assert under_way.next_s() == math.inf


def test_rates_are_max_min_fair():
    """Into cluster 2 come three files, so each gets a third; what that leaves on the first uplink is the fourth's."""
    under_way = transfers()
    for job, (source, target) in enumerate([(0, 2), (1, 2), (3, 2), (0, 1)]):
        begin(under_way, job, source, target, size_bytes=1_000.0 if target == 2 else 20 * RATE / 3)
    assert under_way.next_s() == pytest.approx(10.0)
    assert under_way.advance(under_way.next_s()) == [3]
    assert under_way.next_s() == pytest.approx(300.0)


Path = tuple[int, int]
PATHS = st.lists(
    st.tuples(st.integers(0, CLUSTERS - 1), st.integers(0, CLUSTERS - 1)).filter(lambda path: path[0] != path[1]),
    min_size=1, max_size=12,
)  # fmt: skip
RATES = st.lists(st.floats(1.0, 100.0), min_size=CLUSTERS, max_size=CLUSTERS)


@given(PATHS, RATES, RATES)
def test_no_link_carries_more_than_its_rate_and_each_transfer_crosses_a_full_link(paths, up, down):
    under_way = transfers(tuple(up), tuple(down))
    for job, (source, target) in enumerate(paths):
        begin(under_way, job, source, target)
    carried_up, carried_down = [0.0] * CLUSTERS, [0.0] * CLUSTERS
    for transfer in under_way._under_way:
        carried_up[transfer.source] += transfer.rate_bytes_per_s
        carried_down[transfer.target] += transfer.rate_bytes_per_s
    for carried, rates in ((carried_up, up), (carried_down, down)):
        assert all(load <= rate * (1 + 1e-9) for load, rate in zip(carried, rates, strict=True))
    for source, target in paths:
        full_up = carried_up[source] == pytest.approx(up[source])
        assert full_up or carried_down[target] == pytest.approx(down[target])


@given(PATHS)
def test_all_that_was_begun_arrives(paths):
    under_way = transfers()
    for job, (source, target) in enumerate(paths):
        begin(under_way, job, source, target, time_s=float(job) / 2)
    found = ends(under_way)
    assert sorted(found) == list(range(len(paths)))
    assert all(end_s >= job / 2 + SIZE_BYTES / RATE - 1e-9 for job, end_s in found.items())


def test_later_forecasts_follow_from_the_transfers_that_ended():
    under_way = transfers()
    begin(under_way, 1, 0, 2)
    begin(under_way, 2, 1, 2)
    ends(under_way)
    assert under_way.bytes_per_s()[(0, 2)] == 5.0
    assert under_way.bytes_per_s()[(0, 1)] == RATE


def test_what_a_job_does_not_need_any_more_leaves_the_links_to_others():
    under_way = transfers()
    begin(under_way, 1, 0, 2)
    begin(under_way, 2, 1, 2)
    under_way.end(1, 10.0)
    assert ends(under_way) == {2: 15.0}


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_a_rate_that_cannot_be_is_refused(rate):
    with pytest.raises(InvalidInput, match="a positive rate up and down"):
        Transfers((RATE, rate), (RATE, RATE), {})


def test_the_links_of_a_real_cluster_are_assumed_and_emulated_ones_leave_a_file_less_than_their_rate():
    stated = topology_named("mini").clusters[0]
    real = stated.model_copy(update={"name": "real", "stated_access_link": None, "ssh": RealHead.model_construct()})
    topology = topology_named("mini")
    under_way = Transfers.over(topology.model_copy(update={"clusters": (*topology.clusters[:3], real)}))
    under_way.begin(1, FileState((0,), ASSUMED_BYTES_PER_S), brought(0, 1), 0.0)
    megabits = min(topology.clusters[0].access_link.up_mbit, topology.clusters[1].access_link.down_mbit)
    assert under_way.next_s() == pytest.approx(100 / megabits * 1514 / 1448)
    assert under_way.bytes_per_s()[(0, 3)] == ASSUMED_BYTES_PER_S


@dataclass(frozen=True)
class Apart:
    """A policy that puts the next job on the next cluster; the file of each comes from cluster 0."""

    accepts = frozenset({RequestKind.UNORDERED})

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        cluster = next((index for index, idle in enumerate(state.idle) if index > 0 and idle >= 8), None)
        if cluster is None:
            return None
        estimate_s = SIZE_BYTES / state.surroundings.bandwidth_bytes_per_s[(0, cluster)]
        return Placement((Component(cluster, 8),), (0,), estimate_s)


def lives(jobs, claiming=None, **more):
    named = {f"file-{number}": FileState((0,), SIZE_BYTES) for number in range(1, 5)}
    result = simulate(
        jobs, clusters=(8,) * CLUSTERS, queue="gs", policy=Apart(), claiming=claiming, transfers=transfers(),
        surroundings=Surroundings(named, STATED), middleware=Middleware(base_s=0.0), keep_jobs=True, **more,
    )  # fmt: skip
    return {life.id: life for life in result.finished}


def reading(number: int, arrival_s: float) -> StreamJob:
    request = JobRequest(RequestKind.UNORDERED, (8,), file=f"file-{number}")
    return StreamJob(number, arrival_s, 50.0, request, 0)


@pytest.mark.parametrize("claiming", [None, StatedClaiming()])
def test_a_job_begins_at_its_planned_start_if_its_file_is_there_by_then(claiming):
    (life,) = lives([reading(1, 0.0)], claiming).values()
    assert (life.placed_s, life.transfer_s, life.start_s, life.finish_s) == (0.0, 10.0, 10.0, 60.0)


@pytest.mark.parametrize("claiming", [None, StatedClaiming()])
def test_a_job_whose_file_shares_a_link_holds_its_processors_until_the_file_is_there(claiming):
    found = lives([reading(1, 0.0), reading(2, 0.0)], claiming)
    assert [(life.transfer_s, life.start_s, life.finish_s) for life in found.values()] == [(10.0, 20.0, 70.0)] * 2
    assert {life.claimed_s for life in found.values()} == {0.0 if claiming is None else 7.5}


def test_without_middleware_and_shared_links_a_transfer_takes_as_long_as_it_was_estimated():
    surroundings = Surroundings({"file-1": FileState((0,), SIZE_BYTES)}, STATED)
    result = simulate(
        [reading(1, 0.0)], clusters=(8,) * CLUSTERS, queue="gs", policy=Apart(), surroundings=surroundings,
        keep_jobs=True,
    )  # fmt: skip
    (life,) = result.finished
    assert (life.placed_s, life.transfer_s, life.start_s, life.finish_s) == (0.0, 10.0, 10.0, 60.0)


def test_later_jobs_are_placed_by_what_earlier_transfers_measured():
    found = lives([reading(1, 0.0), reading(2, 0.0), reading(3, 100.0)])
    assert found[3].transfer_s == 20.0
    assert found[3].start_s == 120.0, "it begins as planned, though its file is there earlier"
