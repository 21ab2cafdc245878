"""Queue disciplines: the worked examples by name, the pinned readings, and what a snapshot must hold."""

import json

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.scheduling import Scanning
from emulator.policies.protocols import Arrival, Departure, Scan, Withdrawal
from emulator.policies.queues.placement_queue import PlacementQueue
from emulator.policies.registry import QUEUE_DISCIPLINES, default_policy, placement_policy, queue_discipline
from tests.unit.policies.queues_setting import POLICY, Scene, job, placement_on, state_with

VISITING = [name for name in QUEUE_DISCIPLINES if not name.startswith("placement")]


# GS, SC.


def test_gs_starts_heads_until_one_does_not_fit():
    scene = Scene("gs").hold(job(1, 0, 8, 8), job(2, 1, 8), job(3, 2, 30), job(4, 3, 1))
    assert scene.depart(10, 10, 0, 0) == [1]
    assert scene.depart(10, 10, 0, 0) == [2]
    assert scene.depart(32, 0, 0, 0) == [3, 4]


def test_an_arrival_to_a_queue_that_is_not_empty_waits_even_if_it_would_fit():
    for name in ("gs", "sc", "ls-do"):
        scene = Scene(name).hold(job(1, 0, 32))
        assert scene.arrive(job(2, 0, 1), 10, 0, 0, 0) == []


def test_gs_lets_worst_fit_choose_the_cluster_of_a_single_component_job():
    scene = Scene("gs")
    (start,) = scene.discipline.decide(Arrival(job(1, 0, 4)), state_with(5, 9, 9, 0), POLICY, scene.rng)
    assert start.placement == placement_on((1, 4))


# LS.


def test_ls_runs_single_component_jobs_at_home_only():
    scene = Scene("ls-or")
    assert scene.arrive(job(1, 0, 8), 7, 32, 32, 32) == []
    (start,) = scene.discipline.decide(Arrival(job(2, 1, 8)), state_with(7, 9, 32, 32), POLICY, scene.rng)
    assert start.placement == placement_on((1, 8))


def test_ls_places_multicomponent_jobs_over_all_clusters():
    assert Scene("ls-or").arrive(job(1, 0, 8, 8), 0, 0, 9, 9) == [1]


def test_ls_or_visits_the_same_queue_first_and_starts_one_job_per_queue_and_round():
    scene = Scene("ls-or").hold(*(job(10 * queue + turn, queue, 2) for turn in (1, 2) for queue in range(4)))
    assert scene.depart(4, 4, 4, 4) == [1, 11, 21, 31, 2, 12, 22, 32]


def test_ls_ro_example_16_on_cluster_3_and_8_on_cluster_1():
    """Order q3, q1, q2, q4."""
    scene = Scene("ls-ro").hold(*(job(queue + 1, queue, 1) for queue in range(4)))
    assert scene.depart(1, 1, 1, 1, placement=placement_on((2, 16), (0, 8))) == [3, 1, 2, 4]


def test_ls_do_example_the_order_in_which_queues_were_last_disabled():
    """q2 does not fit, q4 starts, q1 starts its last job, q3 does not fit; round 2: q4 does not fit: q2, q1, q3, q4."""
    scene = Scene("ls-do").hold(
        job(21, 1, 9), job(41, 3, 2), job(11, 0, 2), job(31, 2, 9), job(42, 3, 9), job(22, 1, 2)
    )
    assert scene.discipline.snapshot()["order"] == [1, 3, 0, 2]
    assert scene.depart(4, 4, 4, 4) == [41, 11]
    assert scene.discipline.snapshot()["order"] == [1, 0, 2, 3]


def test_ls_do_begins_with_the_order_of_index_and_a_failed_arrival_counts():
    scene = Scene("ls-do")
    scene.hold(job(1, 0, 2))
    assert scene.discipline.snapshot()["order"] == [1, 2, 3, 0]
    scene.hold(job(2, 0, 2))
    assert scene.discipline.snapshot()["order"] == [1, 2, 3, 0]


def test_ls_rd_goes_round_from_a_start_drawn_among_all_queues():
    orders = set()
    for seed in range(40):
        scene = Scene("ls-rd", seed).hold(*(job(queue, queue, 1) for queue in (0, 1, 3)))
        orders.add(tuple(scene.depart(1, 1, 1, 1)))
    assert orders == {(0, 1, 3), (1, 3, 0), (3, 0, 1)}


# GP and LP.


def example(name, head=(8, 8)):
    """Global queue with `head`; local q1: [6], q2: [], q3: [10], q4: [10]."""
    return Scene(name).hold(job(100, 1, *head), job(1, 0, 6), job(3, 2, 10), job(4, 3, 10))


def test_lp_gf_example_the_global_job_takes_clusters_1_and_2():
    assert example("lp-gf").depart(10, 10, 10, 10) == [100, 3, 4]


def test_lp_lf_example_the_global_job_is_blocked():
    assert example("lp-lf").depart(10, 10, 10, 10) == [1, 3, 4]


def test_lp_gf_example_a_global_head_that_does_not_fit_lets_all_locals_start():
    assert example("lp-gf", (12, 12)).depart(10, 10, 10, 10) == [1, 3, 4]


def test_gp_example_a_global_head_that_does_not_fit_starts_nothing():
    assert example("gp", (12, 12)).depart(10, 10, 10, 10) == []


def test_gp_enables_local_queues_at_once_when_the_global_queue_empties():
    assert example("gp").depart(10, 10, 10, 10) == [100, 3, 4]


def test_gp_keeps_an_arrival_to_a_local_queue_disabled_while_the_global_queue_waits():
    scene = Scene("gp").hold(job(100, 0, 12, 12))
    assert scene.arrive(job(1, 0, 1), 10, 10, 10, 10) == []


def test_gp_an_arrival_enables_its_own_queue_only():
    scene = Scene("gp").hold(job(1, 0, 4))
    assert scene.arrive(job(100, 0, 2, 2), 10, 10, 10, 10) == [100]


def test_lp_rd_draws_one_coin_per_departure_and_only_if_both_kinds_are_enabled():
    started = set()
    for seed in range(20):
        scene = example("lp-rd")
        scene.rng = numpy.random.default_rng(seed)
        started.add(tuple(scene.depart(10, 10, 10, 10)))
    assert started == {(100, 3, 4), (1, 3, 4)}
    quiet = Scene("lp-rd").hold(job(1, 0, 6))
    before = quiet.rng.bit_generator.state
    quiet.depart(0, 0, 0, 0)
    assert quiet.rng.bit_generator.state == before


@pytest.mark.parametrize("name", ["lp-lf", "lp-gf", "lp-rd"])
def test_lp_the_global_queue_joins_at_the_end_of_the_round_in_which_a_local_queue_empties(name):
    scene = Scene(name).hold(
        job(1, 0, 2), job(2, 1, 2), job(3, 2, 2), job(4, 3, 2), job(21, 1, 2), job(100, 0, 1, 1), job(101, 0, 1, 1)
    )
    # q1 empties in round 1; q2 to q4 still have their turn before the global queue; round 2 keeps that order.
    assert scene.depart(4, 9, 9, 9) == [1, 2, 3, 4, 100, 21, 101]


@pytest.mark.parametrize("name", ["lp-lf", "lp-gf", "lp-rd"])
def test_lp_enables_only_local_queues_while_none_is_empty(name):
    scene = Scene(name).hold(*(job(queue, queue, 9) for queue in range(4)), job(100, 0, 1, 1))
    assert scene.depart(8, 8, 8, 8) == []
    scene = Scene(name).hold(*(job(queue, queue, 9) for queue in range(4)))
    assert scene.arrive(job(100, 0, 1, 1), 8, 8, 8, 8) == []


@pytest.mark.parametrize("name", ["lp-lf", "lp-gf", "lp-rd"])
def test_lp_tries_an_arrival_to_an_empty_global_queue_while_a_local_queue_is_empty(name):
    scene = Scene(name).hold(*(job(queue, queue, 9) for queue in range(3)))
    assert scene.arrive(job(100, 0, 1, 1), 8, 8, 8, 8) == [100]


# The placement queue.


def test_adaptive_scan_interval_example_tries_1_3_2_give_two_minutes():
    queue = PlacementQueue(scan_interval_s=60, adaptive=True)
    queue.restore(
        {
            "jobs": [
                {"id": number, "kind": "unordered", "components": [8], "tries": tries}
                for number, tries in ((1, 0), (2, 2), (3, 1))
            ],
            "next_scan_s": 30.0,
            "first_scan_s": 0.0,
            "scans": 0,
        }
    )
    state = state_with(0, 0, 0, 0)
    state.time_s = 30.0
    assert queue.decide(Scan(), state, POLICY, numpy.random.default_rng(0)) == []
    assert queue.next_scan_s() == 30.0 + 120.0


def test_scans_are_multiples_of_the_interval_and_do_not_drift():
    queue = PlacementQueue(scan_interval_s=0.1)
    rng = numpy.random.default_rng(0)
    queue.decide(Arrival(job(1, 0, 8)), state_with(0, 0, 0, 0), POLICY, rng)
    first = queue.next_scan_s()
    for scans in range(1, 1001):
        state = state_with(0, 0, 0, 0)
        state.time_s = queue.next_scan_s()
        queue.decide(Scan(), state, POLICY, rng)
        assert queue.next_scan_s() == first + scans * 0.1


# What all share.


@pytest.mark.parametrize("name", VISITING)
def test_tries_are_counted(name):
    scene = Scene(name).hold(job(1, 0, 8))
    scene.depart(7, 7, 7, 7)
    event = Departure(0, placement_on((0, 1)))
    (start,) = scene.discipline.decide(event, state_with(32, 32, 32, 32), POLICY, scene.rng)
    assert start.tries == 3


@pytest.mark.parametrize("name", VISITING)
def test_the_withdrawal_of_a_head_gives_its_successor_a_try(name):
    scene = Scene(name).hold(job(1, 0, 32), job(2, 0, 1))
    starts = scene.discipline.decide(Withdrawal(1), state_with(8, 8, 8, 8), POLICY, scene.rng)
    assert [start.job_id for start in starts] == [2]
    assert scene.discipline.waiting() == []


@pytest.mark.parametrize("name", sorted(QUEUE_DISCIPLINES))
@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 3), st.lists(st.integers(1, 9), min_size=1, max_size=3)), min_size=1, max_size=12
    ),
    idle=st.tuples(*[st.integers(0, 20)] * 4),
)
def test_a_restored_discipline_decides_as_the_one_it_was_taken_from(name, jobs, idle):
    scene = Scene(name)
    for number, (queue, components) in enumerate(jobs):
        scene.arrive(job(number, queue, *components), 0, 0, 0, 0)
    twin = Scene(name)
    twin.discipline.restore(json.loads(json.dumps(scene.discipline.snapshot())))
    assert twin.discipline.waiting() == scene.discipline.waiting()
    for _ in range(3):
        assert scene.depart(*idle) == twin.depart(*idle)
        assert scene.discipline.snapshot() == twin.discipline.snapshot()


@pytest.mark.parametrize("name", ["ls-do", "gp", "lp-gf"])
def test_a_job_without_a_queue_is_refused_where_queues_belong_to_clusters(name):
    scene = Scene(name)
    for queue, said in ((None, "names no queue"), (4, "was submitted to queue 4")):
        waiting = job(1, 0, 8)
        waiting.queue = queue
        with pytest.raises(InvalidInput, match=f"Job 1 {said}"):
            scene.discipline.decide(Arrival(waiting), state_with(0, 0, 0, 0), POLICY, scene.rng)


def test_the_policy_that_goes_with_a_discipline():
    assert default_policy("placement") == "wf"
    assert {default_policy(name) for name in VISITING} == {"wf-distinct"}


# One's own policy.

MINE = """
from emulator.model.placement import Component, Placement
from emulator.model.request import RequestKind


class Mine:
    accepts = frozenset({RequestKind.UNORDERED})

    def place(self, request, state):
        if len(request.components) > 1 or state.idle[-1] < request.components[0]:
            return None
        return Placement((Component(len(state.idle) - 1, request.components[0]),))


class Half:
    accepts = frozenset()
"""


def test_a_policy_from_a_file(tmp_path):
    (tmp_path / "mypolicy.py").write_text(MINE)
    policy = placement_policy(f"{tmp_path}/mypolicy.py:Mine")
    assert policy.place(job(1, 0, 4).request, state_with(9, 9, 9, 5)) == placement_on((3, 4))


def test_a_policy_file_that_cannot_be_used_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "mypolicy.py"
    file.write_text(MINE)
    with pytest.raises(InvalidInput, match="lacks place"):
        placement_policy(f"{file}:Half")
    with pytest.raises(InvalidInput, match="no class 'Nobody'"):
        placement_policy(f"{file}:Nobody")
    with pytest.raises(InvalidInput, match="no policy file"):
        placement_policy(f"{tmp_path}/other.py:Mine")
    file.write_text("this is no python")
    with pytest.raises(InvalidInput, match="cannot be loaded: SyntaxError"):
        queue_discipline(f"{file}:Mine", Scanning())
    with pytest.raises(UnknownName):
        queue_discipline("mine", Scanning())
