"""Contention: co-allocated jobs share access links."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.model.topology import Middleware
from emulator.simulator import simulate
from emulator.simulator.shared_links import SharedLinks

FACTOR = 1.25


def job(number, arrival_s, service_s, *components):
    return StreamJob(number, arrival_s, service_s, JobRequest(RequestKind.UNORDERED, components), 0)


def finished(jobs, jobs_per_link=1, **options):
    return simulate(
        jobs, clusters=[32] * 4, queue="gs", runtime=FACTOR, contention=SharedLinks(jobs_per_link), keep_jobs=True,
        **options,
    ).finished  # fmt: skip


def finishes(jobs, jobs_per_link=1, **options):
    return {job.id: job.finish_s for job in finished(jobs, jobs_per_link, **options)}


def test_a_coallocated_job_alone_on_its_links_is_extended_by_its_factor():
    assert finishes([job(1, 0, 100, 8, 8)]) == {1: 125}


def test_coallocated_jobs_on_the_same_links_slow_each_other_while_both_run():
    """Communication takes a fifth of the time alone, and twice that in company: 150 instead of 125 in all."""
    together = finishes([job(1, 0, 100, 20, 20, 20), job(2, 0, 100, 10, 10)])
    assert together == pytest.approx({1: 150, 2: 150})
    # At 60 the first has done 48 of 100 and takes 78 for the rest; then the second has 48 left, alone.
    staggered = finishes([job(1, 0, 100, 20, 20, 20), job(2, 60, 100, 10, 10)])
    assert staggered == pytest.approx({1: 60 + 52 * 1.5, 2: 60 + 52 * 1.5 + 48 * 1.25})


def test_jobs_on_other_links_and_in_single_clusters_are_not_slowed():
    jobs = [job(1, 0, 100, 20, 20), job(2, 0, 100, 20, 20), job(3, 0, 100, 5)]
    assert finishes(jobs) == {1: 125, 2: 125, 3: 100}


def test_links_that_carry_several_jobs_slow_only_those_beyond():
    jobs = [job(1, 0, 100, 20, 20, 20), job(2, 0, 100, 10, 10)]
    assert finishes(jobs, jobs_per_link=2) == {1: 125, 2: 125}


def test_a_placed_job_disturbs_nobody_before_it_starts():
    """Placed at 60, the second job starts at 90: the first has done 72 of 100 and takes 42 for the rest."""
    jobs = [job(1, 0, 100, 20, 20, 20), job(2, 60, 100, 10, 10)]
    found = {end.id: (end.start_s, end.finish_s) for end in finished(jobs, middleware=Middleware(base_s=30.0))}
    # The first starts at 30, so that it has done 48 of 100 at 90.
    assert found == {1: (30.0, pytest.approx(168.0)), 2: (90.0, pytest.approx(168.0 + 48 * 1.25))}


def test_a_job_that_only_holds_its_processors_disturbs_nobody():
    """The first job ends at 125 and is released at 225."""
    jobs = [job(1, 0, 100, 20, 20, 20), job(2, 130, 100, 10, 10)]
    assert finishes(jobs, release_s=100.0) == {1: 125, 2: 255}


def test_a_job_whose_end_moves_and_moves_back_counts_once_in_the_utilization():
    """When the second job ends the third starts, so that the first goes on as before.

    With twice the communication the second takes 150 s, and the first 300 s. At the last arrival, at 200, the first has
    held 60 processors for 200 s; the second has held 36 for 150 s, and the third as many for 50 s.
    """
    jobs = [job(1, 0, 200, 20, 20, 20), job(2, 0, 100, 12, 12, 12), job(3, 10, 100, 12, 12, 12), job(4, 200, 1, 1)]
    result = simulate(jobs, clusters=[32] * 3, queue="gs", runtime=FACTOR, contention=SharedLinks())
    assert result.statistics.gross_utilization == pytest.approx((60 * 200 + 36 * 150 + 36 * 50) / (96 * 200))


@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 400), st.integers(1, 300), st.lists(st.integers(1, 12), min_size=1, max_size=4)),
        min_size=1, max_size=12,
    ),
    jobs_per_link=st.integers(1, 3),
    base_s=st.sampled_from([0.0, 7.0, 90.0]),
    release_s=st.sampled_from([0.0, 5.0, 60.0]),
)  # fmt: skip
def test_every_job_does_its_work_at_the_rates_that_its_company_leaves(jobs, jobs_per_link, base_s, release_s):
    """The company of each job is counted anew from all recorded starts and ends."""
    arriving = sorted(jobs, key=lambda one: one[0])
    stream = [job(number, arrival, service, *sizes) for number, (arrival, service, sizes) in enumerate(arriving, 1)]
    found = finished(stream, jobs_per_link, middleware=Middleware(base_s=base_s), release_s=release_s)
    service_s = {one.id: one.service_s for one in stream}
    crossing = [end for end in found if len(set(end.clusters)) > 1]
    for end in found:
        if end not in crossing:
            assert end.finish_s == pytest.approx(end.start_s + service_s[end.id])
            continue
        times = sorted({time for one in crossing for time in (one.start_s, one.finish_s)} | {end.start_s, end.finish_s})
        done = 0.0
        for began, until in pairwise(times):
            if end.start_s <= began and until <= end.finish_s:
                running = [one for one in crossing if one.start_s <= began and one.finish_s >= until]
                busiest = max(sum(cluster in one.clusters for one in running) for cluster in end.clusters)
                company = max(1.0, busiest / jobs_per_link)
                done += (until - began) / (service_s[end.id] * (1 + (FACTOR - 1) * company))
        assert done == pytest.approx(1.0, abs=1e-9)


def test_a_link_carries_at_least_one_job():
    with pytest.raises(InvalidInput, match="jobs_per_link: a link carries at least one job, not 0"):
        SharedLinks(0)


def test_jobs_of_a_campaign_slow_each_other_where_links_carry_few():
    """W1 spreads over clusters under Worst Fit: the fewer jobs a link carries, the longer they take."""
    times_s = []
    for jobs_per_link in (None, 2, 1):
        options = SimulationOptions(policy="wf", jobs=60, seed=3, band="none", jobs_per_link=jobs_per_link)
        _, result = simulate_workload("W1", options)
        times_s.append(result.statistics.total.execution_s)
    assert times_s[0] < times_s[1] < times_s[2]
