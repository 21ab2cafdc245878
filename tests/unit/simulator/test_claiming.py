"""Claims of jobs whose file is under way: the procedure of the Close-to-Files paper, as live runs follow it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import StatedClaiming
from emulator.model.topology import Middleware
from emulator.policies.state import SystemState
from emulator.simulator import simulate
from tests.unit.simulator.test_background import Local, load
from tests.unit.simulator.test_engine import job

PAPER = StatedClaiming()
FTT_S = 80.0


@dataclass(frozen=True)
class Bringing:
    """A policy that puts the whole job on the first cluster with room, to which its file takes `FTT_S`."""

    accepts = frozenset({RequestKind.UNORDERED})

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        size = sum(request.components)
        for cluster, idle in enumerate(state.idle):
            if idle >= size:
                return Placement((Component(cluster, size),), (cluster,), FTT_S)
        return None


def lives(jobs, *local, clusters=(32, 32, 32, 32), claiming=PAPER, **more):
    result = simulate(
        jobs, clusters=clusters, queue="gs", policy=Bringing(), claiming=claiming,
        background=load(*local) if local else None, keep_jobs=True, **more,
    )  # fmt: skip
    return {life.id: life for life in result.finished}, result


def full(arrival_s, length_s, cluster=0):
    """A local user's job on a whole cluster."""
    return Local(arrival_s, cluster, 32, length_s)


def elsewhere(until_s=10_000.0):
    """Local users' jobs that fill all clusters but the first."""
    return [full(0.0, until_s, cluster) for cluster in (1, 2, 3)]


def test_the_papers_example_a_job_placed_at_100_claims_at_175_and_starts_at_180():
    """JPT = 100, FTT = 80: JST is 180, tries are at 160 and 175; success at 175 means PGT 75 and PWT 5."""
    found, _ = lives([job(1, 100, 50, (32,))], *elsewhere(), full(150, 20))
    life = found[1]
    assert (life.placed_s, life.claimed_s, life.start_s, life.finish_s) == (100, 175, 180, 230)
    assert (life.claiming_tries, life.transfer_s, life.additional_s) == (2, 80, 0)


def test_if_the_first_try_succeeds_the_gained_time_is_three_times_the_wasted_time():
    (life,) = lives([job(1, 100, 50, (8,))])[0].values()
    assert (life.claimed_s - life.placed_s, life.start_s - life.claimed_s) == (60, 20)
    assert life.claiming_tries == 1


def test_other_users_may_run_meanwhile_on_what_is_promised_and_other_jobs_of_the_grid_may_not():
    jobs = [job(1, 0, 50, (32,)), job(2, 1, 50, (32,))]
    (first, second) = lives(jobs, *elsewhere(), full(2, 40))[0].values()
    assert (first.claimed_s, first.start_s, first.finish_s) == (60, 80, 130)
    assert second.placed_s == first.finish_s


def test_a_start_that_passes_unclaimed_is_postponed_by_four_minutes_again_and_again():
    found, _ = lives([job(1, 100, 50, (32,))], *elsewhere(), full(150, 400))
    life = found[1]
    assert life.additional_s == 480
    assert life.start_s == 180 + 480
    assert 550 <= life.claimed_s < life.start_s


def test_after_as_many_postponements_as_are_allowed_a_job_is_given_up_and_others_go_on():
    claiming = StatedClaiming(most_postponements=0)
    jobs = [job(1, 100, 50, (32,)), job(2, 120, 5, (32,))]
    found, result = lives(jobs, *elsewhere(), full(150, 400), claiming=claiming)
    assert list(found) == [2]
    assert [(given_up.id, given_up.given_up_s) for given_up in result.given_up] == [(1, 180)]
    assert (result.statistics.jobs_finished, result.statistics.jobs_given_up) == (1, 1)


def test_a_job_that_may_be_placed_again_goes_where_there_is_room_once_it_may_not_postpone_any_more():
    claiming = StatedClaiming(most_postponements=0, place_again=True)
    tried, result = lives([job(1, 100, 50, (32,))], *elsewhere(170), full(150, 400), claiming=StatedClaiming())
    assert tried[1].clusters == (0,)
    found, result = lives([job(1, 100, 50, (32,))], *elsewhere(170), full(150, 400), claiming=claiming)
    life = found[1]
    assert life.clusters == (1,)
    assert (life.placed_s, life.claimed_s, life.start_s, life.additional_s) == (180, 240, 260, 0)
    assert life.tries == 2
    assert life.claiming_tries > 2, "claims at the first placement count"
    assert (result.statistics.jobs_finished, result.statistics.jobs_given_up) == (1, 0)


@pytest.mark.parametrize(("overhead_s", "start_s"), [(10, 180), (20, 180), (35, 195)])
def test_the_middleware_works_while_the_file_is_under_way(overhead_s, start_s):
    (life,) = lives([job(1, 100, 50, (8,))], middleware=Middleware(base_s=overhead_s))[0].values()
    assert (life.claimed_s, life.start_s) == (160, start_s)


def test_a_gatekeeper_serves_a_job_when_it_claims():
    jobs = [job(1, 100, 50, (8,)), job(2, 101, 50, (8,))]
    first, second = lives(jobs, middleware=Middleware(base_s=0, gatekeeper_s=30))[0].values()
    assert (first.claimed_s, first.start_s) == (160, 190)
    assert (second.claimed_s, second.start_s) == (161, 220)


def test_without_a_claiming_procedure_a_job_holds_its_processors_from_its_placement_on():
    (life,) = lives([job(1, 100, 50, (8,))], claiming=None, middleware=Middleware(base_s=0))[0].values()
    assert (life.placed_s, life.claimed_s, life.start_s) == (100, 100, 180)


@given(
    st.lists(st.tuples(st.floats(0, 60), st.integers(1, 32), st.floats(1, 200)), min_size=1, max_size=12),
    st.lists(st.tuples(st.floats(0, 60), st.integers(0, 1), st.integers(1, 32), st.floats(1, 300)), max_size=8),
)
def test_no_processor_is_held_twice_whoever_else_comes_and_goes(arriving, others):
    arrivals = itertools.accumulate(gap_s for gap_s, _, _ in arriving)
    jobs = [
        job(number, arrival_s, service_s, (size,))
        for number, (arrival_s, (_, size, service_s)) in enumerate(zip(arrivals, arriving, strict=True))
    ]
    times = itertools.accumulate(gap_s for gap_s, *_ in others)
    local = [Local(time_s, *rest) for time_s, (_, *rest) in zip(times, others, strict=True)]
    found, result = lives(jobs, *local)
    assert result.statistics.jobs_finished == len(jobs)
    for life in found.values():
        assert life.arrival_s <= life.placed_s <= life.claimed_s <= life.start_s
        assert life.start_s == pytest.approx(life.placed_s + FTT_S + life.additional_s)
        assert (life.claiming_tries == 1) == (life.claimed_s == life.placed_s + 0.75 * FTT_S)
    for moment_s in (life.claimed_s for life in found.values()):
        held = [0] * 4
        for life in found.values():
            if life.claimed_s <= moment_s < life.finish_s:
                held[life.clusters[0]] += life.components[0]
        assert max(held) <= 32


def without_file(*jobs, failed_claims, clusters=(32,), **more):
    result = simulate(
        list(jobs), clusters=clusters, queue="gs", claiming=PAPER, failed_claims=failed_claims, keep_jobs=True, **more
    )
    return {life.id: life for life in result.finished}


def test_a_claim_without_a_file_that_failed_live_is_made_again_by_the_procedure_and_its_start_postponed():
    """JPT = JST = 100; after a failure JST is 340 and the next try at 100 + 0.75 x 240 = 280."""
    life = without_file(job(1, 100, 50, (32,)), failed_claims={1: 1})[1]
    assert (life.placed_s, life.claimed_s, life.start_s, life.finish_s) == (100, 280, 340, 390)
    assert (life.claiming_tries, life.additional_s) == (2, 240)


def test_what_a_failed_claim_left_promised_no_other_job_gets_meanwhile():
    found = without_file(job(1, 100, 50, (20,)), job(2, 101, 50, (20,)), job(3, 102, 50, (12,)), failed_claims={1: 2})
    assert (found[1].claiming_tries, found[1].start_s) == (3, 340)
    assert found[2].start_s == 390


def test_jobs_whose_claims_did_not_fail_hold_their_processors_from_their_placement_on():
    found = without_file(job(1, 100, 50, (16,)), job(2, 100, 50, (16,)), failed_claims={1: 1})
    assert (found[2].claimed_s, found[2].start_s, found[2].claiming_tries) == (100, 100, 1)
