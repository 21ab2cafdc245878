"""FCFS, SJF, LJF, EASY and conservative backfilling: worked schedules, and a plain reading of the rules."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.simulator import simulate
from tests.unit.simulator.plain_backfilling import PlainBackfilling, PlainJob
from workloads.estimates import with_estimates

PLANNING = ["sjf", "ljf", "easy", "conservative"]


def job(number, arrival_s, service_s, *components, estimate_s=None):
    """A job that is estimated exactly unless `estimate_s` says otherwise."""
    estimate_s = service_s if estimate_s is None else estimate_s
    request = JobRequest(RequestKind.UNORDERED, components, estimate_s=estimate_s)
    return StreamJob(number, arrival_s, service_s, request, 0)


def lives(jobs, clusters, queue, **options):
    """Per job: start, and the clusters of its components."""
    finished = simulate(jobs, clusters=clusters, queue=queue, keep_jobs=True, **options).finished
    return {each.id: (each.start_s, each.clusters) for each in finished}


def starts(jobs, clusters, queue, **options):
    return {number: life[0] for number, life in sorted(lives(jobs, clusters, queue, **options).items())}


# One cluster of 10 processors. Job 1 holds 6 until 10; job 2 wants 8; jobs 3 to 6 are small.
SMALL_ONES = [
    job(1, 0, 10, 6),
    job(2, 1, 5, 8),
    job(3, 2, 8, 3),
    job(4, 3, 20, 1),
    job(5, 4, 20, 1),
    job(6, 5, 20, 1),
]


def test_first_come_first_served_lets_nothing_pass():
    assert starts(SMALL_ONES, [10], "fcfs") == {1: 0, 2: 10, 3: 15, 4: 10, 5: 10, 6: 15} | {3: 15, 4: 15, 5: 15}


def test_easy_lets_pass_what_ends_before_the_reservation_or_needs_no_processor_of_it():
    """At 10 the head has 8 of 10 processors, so 2 are spare. Job 3 ends at 10; jobs 4 and 5 do not, one processor each.

    At 3 jobs 1 and 3 hold 9, so job 4 takes the last one and the first spare one. At 4 nothing is idle. At 10 the head
    starts on 8 of 9, and job 5 on the last one.
    """
    assert starts(SMALL_ONES, [10], "easy") == {1: 0, 2: 10, 3: 2, 4: 3, 5: 10, 6: 15}


def test_easy_does_not_let_pass_what_would_delay_the_head():
    """Job 3 would hold 3 of the head's 8 processors until 12."""
    jobs = [job(1, 0, 10, 6), job(2, 1, 5, 8), job(3, 2, 10, 3)]
    assert starts(jobs, [10], "easy") == {1: 0, 2: 10, 3: 15}


def test_easy_delays_a_second_waiting_job_and_conservative_does_not():
    """Job 1 holds 6 until 10, job 2 (all 10) is planned for 10 to 15, job 3 (6) for 15.

    Job 4 (4 processors for 15) arrives at 3: it does not delay the head under EASY only if it ends by 10. It does not.
    Job 5 (4 for 7) does, and starts under both.
    """
    jobs = [job(1, 0, 10, 6), job(2, 1, 5, 10), job(3, 2, 5, 6), job(4, 3, 15, 4), job(5, 3, 7, 4)]
    expected = {1: 0, 2: 10, 3: 15, 4: 15, 5: 3}
    assert starts(jobs, [10], "easy") == expected
    assert starts(jobs, [10], "conservative") == expected
    # Job 1 holds 6 until 10, the head wants 8 then, the next one 4 for long at 15. Job 4 takes 2 spare processors
    # until 103: EASY lets it, and so does conservative. Job 5 takes none of the head's, but one of the second's.
    jobs = [job(1, 0, 10, 6), job(2, 1, 5, 8), job(3, 2, 5, 10), job(4, 3, 90, 2)]
    assert starts(jobs, [10], "easy") == {1: 0, 2: 10, 3: 93, 4: 3}
    assert starts(jobs, [10], "conservative") == {1: 0, 2: 10, 3: 15, 4: 20}


def test_an_early_end_moves_the_plan_ahead():
    jobs = [job(1, 0, 4, 10, estimate_s=10), job(2, 1, 5, 10), job(3, 2, 5, 5)]
    for queue in ("easy", "conservative"):
        assert starts(jobs, [10], queue) == {1: 0, 2: 4, 3: 9}


def test_a_job_past_its_estimate_is_expected_to_end_at_once():
    """Job 1 was to end at 2 and ends at 10. So job 3, which needs what the head waits for, never passes it."""
    jobs = [job(1, 0, 10, 6, estimate_s=2), job(2, 3, 5, 8), job(3, 4, 5, 4), job(4, 5, 50, 2)]
    for queue in ("easy", "conservative"):
        assert starts(jobs, [10], queue) == {1: 0, 2: 10, 3: 15, 4: 5}


def test_co_allocated_jobs_are_reserved_cluster_by_cluster():
    """Two clusters of 8: job 1 holds all of the first until 10, and the head wants 6 in each at 10.

    2 processors of each cluster are spare at 10. Job 3 (4 in the second cluster until 20) would delay the head, job 4
    (4 until 9) would not; job 5 takes 2 of the second cluster for long.
    """
    jobs = [job(1, 0, 10, 8), job(2, 1, 5, 6, 6), job(3, 2, 18, 4), job(4, 3, 6, 4), job(5, 4, 50, 2)]
    for queue in ("easy", "conservative"):
        assert lives(jobs, [8, 8], queue) == {
            1: (0, (0,)),
            2: (10, (0, 1)),
            3: (15, (0,)),
            4: (3, (1,)),
            5: (4, (1,)),
        }


def test_shortest_and_longest_first_go_by_the_estimate_not_by_the_execution_time():
    jobs = [job(1, 0, 10, 8), job(2, 1, 9, 8, estimate_s=3), job(3, 2, 1, 8, estimate_s=4), job(4, 3, 5, 8)]
    assert starts(jobs, [8], "sjf") == {1: 0, 2: 10, 3: 19, 4: 20}
    assert starts(jobs, [8], "ljf") == {1: 0, 4: 10, 3: 15, 2: 16}


def test_the_first_by_estimate_blocks_all_others():
    jobs = [job(1, 0, 10, 6), job(2, 1, 9, 4), job(3, 2, 5, 8)]
    assert starts([jobs[0], jobs[2], job(4, 3, 9, 4)], [10], "sjf") == {1: 0, 3: 10, 4: 15}


def random_jobs(seed, count=60, clusters=3, exact=False):
    numbers = random.Random(seed)
    found, now_s = [], 0.0
    for number in range(count):
        now_s += numbers.randint(0, 2)
        service_s = float(numbers.randint(0, 12))
        estimate_s = service_s if exact else float(numbers.randint(0, 16))
        sizes = [numbers.randint(1, 6) for _ in range(numbers.randint(1, clusters))]
        found.append(job(number, now_s, service_s, *sizes, estimate_s=estimate_s))
    return found


@pytest.mark.parametrize("queue", PLANNING)
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([[8], [6, 6], [8, 7, 6]]))
def test_job_by_job_as_the_rules_read_plainly(queue, seed, clusters):
    """Whole times make events coincide; half of the estimates are too short."""
    jobs = random_jobs(seed, count=30, clusters=len(clusters))
    plain = [
        PlainJob(each.id, each.arrival_s, each.service_s, each.request.estimate_s, list(each.request.components))
        for each in jobs
    ]
    PlainBackfilling(queue, clusters).run(plain)
    assert lives(jobs, clusters, queue) == {each.id: (each.start_s, tuple(each.clusters)) for each in plain}


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_with_exact_estimates_conservative_gives_each_job_the_first_hole(seed):
    """On one cluster no events are needed: in order of arrival, each job takes the earliest time at which it fits."""
    jobs = [each for each in random_jobs(seed, clusters=1, exact=True) if each.service_s > 0]
    used: dict[int, int] = {}
    expected = {}
    for each in jobs:
        size, length_s, start_s = each.request.processors, int(each.service_s), int(each.arrival_s)
        while any(used.get(start_s + step, 0) + size > 8 for step in range(length_s)):
            start_s += 1
        for step in range(length_s):
            used[start_s + step] = used.get(start_s + step, 0) + size
        expected[each.id] = start_s
    assert starts(jobs, [8], "conservative") == expected


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_first_come_first_served_is_gs(seed):
    jobs = random_jobs(seed)
    assert lives(jobs, [8, 7, 6], "fcfs") == lives(jobs, [8, 7, 6], "gs")


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_the_other_placement_policies_plan_as_well(seed):
    jobs = random_jobs(seed, clusters=2)
    for policy in ("wf", "cm", "fcm"):
        for queue in ("easy", "conservative"):
            assert len(lives(jobs, [8, 8, 8], queue, policy=policy, quota=0.9)) == len(jobs)


@pytest.mark.parametrize("queue", PLANNING)
def test_a_job_without_an_estimate_is_refused_with_the_remedy(queue):
    unestimated = StreamJob(7, 0, 1, JobRequest(RequestKind.UNORDERED, (1,)), 0)
    with pytest.raises(InvalidInput, match=r"Job 7: estimate_s: .*run_time_limit_s.*--estimate-factor"):
        simulate([unestimated], clusters=[8], queue=queue)


def test_drawn_estimates_lie_between_the_execution_time_and_its_multiple_and_repeat():
    jobs = random_jobs(3)
    drawn = [each.request.estimate_s for each in with_estimates(jobs, 3.0, seed=1)]
    assert drawn == [each.request.estimate_s for each in with_estimates(jobs, 3.0, seed=1)]
    assert drawn != [each.request.estimate_s for each in with_estimates(jobs, 3.0, seed=2)]
    for each, estimate_s in zip(jobs, drawn, strict=True):
        assert each.service_s <= estimate_s <= 3.0 * each.service_s
    exact = with_estimates(jobs, 1.0, seed=1)
    assert [each.request.estimate_s for each in exact] == [each.service_s for each in jobs]


@pytest.mark.parametrize("factor", [0.99, 0.0, -1.0, float("inf"), float("nan")])
def test_a_factor_that_would_give_estimates_below_the_execution_time_is_refused(factor):
    with pytest.raises(InvalidInput, match="--estimate-factor: must be a number, at least 1"):
        with_estimates([], factor, seed=0)
