"""A job that would run longer than the run-time limit ends at it, as live."""

import pytest

from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.simulator import simulate
from emulator.simulator.shared_links import SharedLinks


def job(number, arrival_s, service_s, *components):
    return StreamJob(number, arrival_s, service_s, JobRequest(RequestKind.UNORDERED, components), 0)


def test_a_job_ends_at_the_limit_and_gives_its_processors_to_the_next():
    jobs = [job(1, 0, 100, 8), job(2, 0, 30, 8), job(3, 0, 40, 8)]
    result = simulate(jobs, clusters=[8], queue="gs", run_time_limit_s=40, keep_jobs=True)
    ends = {ended.id: (ended.start_s, ended.finish_s, ended.reached_limit) for ended in result.finished}
    assert ends == {1: (0, 40, True), 2: (40, 70, False), 3: (70, 110, False)}
    assert list(result.jobs["reached_limit"]) == [True, False, False]


def test_its_times_are_not_counted_but_its_processors_are():
    jobs = [job(1, 0, 100, 8), job(2, 50, 20, 8)]
    found = simulate(jobs, clusters=[8], queue="gs", run_time_limit_s=40).statistics
    assert (found.jobs_arrived, found.jobs_finished, found.jobs_reached_limit) == (2, 1, 1)
    assert found.total.execution_s == 20
    assert found.makespan_s == 70
    assert found.gross_utilization == pytest.approx(40 / 50)


def test_the_makespan_ends_with_the_last_job_that_finished():
    """As in `compare` of records: the second job is ended at 90."""
    jobs = [job(1, 0, 20, 8), job(2, 50, 100, 8)]
    found = simulate(jobs, clusters=[8], queue="gs", run_time_limit_s=40).statistics
    assert (found.jobs_finished, found.jobs_reached_limit, found.makespan_s) == (1, 1, 20)


def test_its_net_utilization_is_that_of_the_work_it_has_done():
    """Over two clusters a job takes 125 s for 100 s of work: in 50 s it has done 40."""
    jobs = [job(1, 0, 100, 8, 8), job(2, 100, 10, 8)]
    found = simulate(jobs, clusters=[8, 8], queue="gs", runtime=1.25, run_time_limit_s=50).statistics
    assert found.gross_over_net == pytest.approx(1.25)


def test_without_a_limit_all_run_to_their_end():
    assert simulate([job(1, 0, 1e9, 8)], clusters=[8], queue="gs").statistics.jobs_reached_limit == 0


def test_contention_moves_an_end_to_the_limit_and_not_beyond():
    """Alone both take 125 s; in company they would take 150 s."""
    jobs = [job(1, 0, 100, 20, 20, 20), job(2, 0, 100, 10, 10)]
    limited = {"clusters": [32] * 4, "queue": "gs", "runtime": 1.25, "run_time_limit_s": 140}
    result = simulate(jobs, contention=SharedLinks(1), keep_jobs=True, **limited)
    assert {ended.id: (ended.finish_s, ended.reached_limit) for ended in result.finished} == {
        1: (140, True),
        2: (140, True),
    }
    alone = simulate(jobs[:1], contention=SharedLinks(1), **limited)
    assert alone.statistics.jobs_finished == 1
